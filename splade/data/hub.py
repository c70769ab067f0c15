"""Sets of the Hugging Face Hub: the seeds' named ones and any other by its name and columns."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies

from splade.config.schema import DataConfig, Task
from splade.data.packaged import PACKAGED_NAMES
from splade.data.root import ENVIRONMENT_VARIABLE, data_root, set_names
from splade.data.splits import SPLIT_ROLES
from splade.data.types import Columns, Source, Table
from splade.errors import DataError, nearest

if TYPE_CHECKING:
    import datasets

TOXIC_FROM = 0.5  # Civil Comments' own line: half of the raters or more called the comment toxic


@dataclass(frozen=True)
class HubSet:
    """How one named set is spelled on the Hub."""

    path: str
    columns: Mapping[str, str] = field(default_factory=dict)
    """What it calls its columns, by the settings that would name them."""
    roles: Mapping[str, str] = field(default_factory=dict)
    labels: list[str] | None = None
    """Class names where the Hub's column does not carry them."""
    prepare: Callable[[Columns], Columns] = lambda columns: columns
    """Turns the Hub's columns into text and label columns where they are not that already."""


def _civil_comments(columns: Columns) -> Columns:
    toxic = [int(float(str(share)) >= TOXIC_FROM) for share in columns["toxicity"]]
    return {**columns, "label": list[object](toxic)}


def _beavertails(columns: Columns) -> Columns:
    # The label judges the answer to the prompt, so both are the text.
    pairs = zip(columns["prompt"], columns["response"], strict=True)
    return {
        **columns,
        "text": [f"{prompt}\n{response}" for prompt, response in pairs],
        "label": [int(not safe) for safe in columns["is_safe"]],
    }


NAMED_SETS: dict[str, HubSet] = {
    "sst2": HubSet("stanfordnlp/sst2", columns={"text_column": "sentence"}, roles=SPLIT_ROLES["sst2"]),
    "ag_news": HubSet("fancyzhx/ag_news"),
    "imdb": HubSet("stanfordnlp/imdb"),
    "yelp": HubSet("fancyzhx/yelp_polarity"),
    # PolyAI's own copy is a loading script, which `datasets` stopped running in version 4.
    "banking77": HubSet("mteb/banking77", columns={"label_column": "label_text"}),
    "civilcomments": HubSet("google/civil_comments", labels=["non-toxic", "toxic"], prepare=_civil_comments),
    "beavertails": HubSet(
        "PKU-Alignment/BeaverTails",
        labels=["safe", "harmful"],
        roles={"train": "30k_train", "test": "30k_test"},
        prepare=_beavertails,
    ),
}


def hub_source(config: DataConfig, task: Task) -> Source:
    """The set ``dataset_name`` of the Hub (or of the cache ``datasets`` keeps of it)."""
    name = str(config.dataset_name)
    known = NAMED_SETS.get(name, HubSet(name))
    splits = _download(name, known.path, config, task)

    def read(split: str) -> Table:
        return Table(known.prepare(dict(splits[split].to_dict())), f"The set {name}, split {split},")

    return Source(
        name=name,
        description=f"Hugging Face Hub: {known.path}{f' ({config.dataset_config})' if config.dataset_config else ''}.",
        splits={str(split): partial(read, str(split)) for split in splits},
        label_names=known.labels,
        column_labels=_class_names(splits),
        column_names=known.columns,
        roles=known.roles,
    )


def _class_names(splits: datasets.DatasetDict) -> dict[str, list[str]]:
    """The names in the columns that carry them: a ClassLabel has names, other features have not."""
    features = next(iter(splits.values())).features
    # A list's names are those of what it lists.
    named = {name: getattr(getattr(kind, "feature", kind), "names", None) for name, kind in features.items()}
    return {name: list(names) for name, names in named.items() if names}


def _download(name: str, path: str, config: DataConfig, task: Task) -> datasets.DatasetDict:
    import datasets  # takes seconds to import, and most runs do not need the Hub

    try:
        with _cache_only_if_unreachable():
            return datasets.load_dataset(path, config.dataset_config)
    # The Hub's client fails with errors of several libraries, by version; whichever it is, the cure is the same.
    except Exception as error:
        local = [*PACKAGED_NAMES[task], *set_names(data_root(config))]
        others = [other for other in (*local, *NAMED_SETS) if other != name]
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
        raise DataError(
            f"The set '{name}' is neither in a data root nor packaged, and '{path}' could not be loaded from the Hub "
            f"({reason}); set {ENVIRONMENT_VARIABLE} to a data root that has it, give data.train_file, or use one of: "
            f"{', '.join(local)}.{nearest(name, others)}"
        ) from error


@contextmanager
def _cache_only_if_unreachable() -> Iterator[None]:
    """Without a network, look in the cache at once: the client would otherwise try for half a minute, and say so."""
    import datasets
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE
    if not _reachable(constants.ENDPOINT):
        constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE = before


def _reachable(endpoint: str) -> bool:
    if getproxies():  # the proxy looks names up, so that failing to do it here would say nothing
        return True
    try:
        return bool(socket.getaddrinfo(urlsplit(endpoint).hostname, None))
    except OSError:
        return False
