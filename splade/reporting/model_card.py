"""The model card: what a stranger who finds the saved model needs to load it, read it and know its limits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader

from splade.models.packaged import ALIASES
from splade.reporting.about import about
from splade.reporting.removals import removals
from splade.reporting.sections import headline, sections
from splade.task_description import describe

TAGS = ["interpretability", "sparse", "lexical-sae"]


def write_model_card(
    path: str | Path, results: Mapping[str, Any], config_yaml: str, surgery: Sequence[str] = ()
) -> None:
    """Write the README.md that goes with a saved model.

    Args:
        path: the Markdown file; its folder is made when missing.
        results: what results.json holds; every key is optional. The names in `removed_tokens` and `silenced_words` are
            listed when there.
        config_yaml: the resolved configuration, shown in full.
        surgery: the records of what was removed from the model, a line each (`LexicalSAE.surgery`).
    """
    environment = Environment(
        loader=PackageLoader("splade.reporting"),
        autoescape=False,  # Markdown, not HTML; what comes from the data goes through `plain`
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"plain": plain}
    card = environment.get_template("model_card.md.j2").render(
        front_matter=front_matter(results),
        results=results,
        task=describe(results.get("task")),
        headline=headline(results),
        sections=sections(results),
        about=about(results),
        removed=results.get("removed_tokens") or [],
        silenced=results.get("silenced_words") or [],
        removals=removals(surgery),
        config=config_yaml.strip(),
    )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(card, encoding="utf-8")


def front_matter(results: Mapping[str, Any]) -> str:
    """The card's metadata as the Hub reads it.

    No licence is named: the code's licence is not the model's, which follows from the backbone's and the data's.
    """
    metadata: dict[str, object] = {
        "library_name": "lexical-sae",
        "pipeline_tag": describe(results.get("task")).hub_pipeline,
        "tags": [describe(results.get("task")).hub_pipeline, *TAGS],
    }
    backbone = results.get("backbone")
    packaged = ALIASES.get(str(backbone))
    base = packaged.hub_name if packaged else backbone
    if is_hub_name(base):
        metadata["base_model"] = base
    if is_hub_name(results.get("dataset")):
        metadata["datasets"] = [results["dataset"]]
    return yaml.safe_dump(metadata, sort_keys=False, allow_unicode=True).strip()


def is_hub_name(name: object) -> bool:
    """Whether a name is of the form owner/model and not a folder here: a path means nothing to anybody else."""
    return (
        isinstance(name, str)
        and re.fullmatch(r"[A-Za-z0-9][\w.-]*/[\w.-]+", name) is not None
        and not Path(name).exists()
    )


def plain(value: object) -> str:
    """A value that cannot break a Markdown table or smuggle in markup."""
    text = " ".join(str(value).split())
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)
