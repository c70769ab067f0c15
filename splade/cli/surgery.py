"""What the commands that change a model share: where they may write to, who did it, and what they leave behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from splade.errors import ConfigError
from splade.models.folder import is_model_folder

if TYPE_CHECKING:
    from splade.models.lexical_sae import LexicalSAE
    from splade.surgery.record import Account

Output = Annotated[Path, typer.Option("--output", help="Folder to save the changed model to; none may be there.")]
Person = Annotated[str, typer.Option("--person", help="Who does this, for the record.")]
Role = Annotated[str, typer.Option("--role", help="In which role.")]
Reason = Annotated[str, typer.Option("--reason", help="Why.")]
Purpose = Annotated[str, typer.Option("--purpose", help="What the model is meant for.")]
Key = Annotated[Path | None, typer.Option("--key", help="File of a private Ed25519 key (PEM) to sign the record with.")]

CARD = "README.md"


def check_place(model: Path, output: Path) -> None:
    """Refuse a place that holds a model: nothing that was saved is replaced."""
    if is_model_folder(output):
        which = "the model itself" if output.resolve() == model.resolve() else "a model"
        raise ConfigError(f"--output {output} holds {which}, which would be replaced; name another folder.")


def load(folder: Path) -> LexicalSAE:
    """A saved model, to be changed."""
    from splade.cli.answers import load_model

    return load_model(folder, None, for_tagger=False)


def account(person: str, role: str, reason: str, purpose: str) -> Account:
    """Who did it and why."""
    from splade.surgery.record import Account

    return Account(person=person, role=role, reason=reason, purpose=purpose)


def save(model: LexicalSAE, output: Path) -> None:
    """Save a changed model with its records, and a card beside it unless somebody's own file is there."""
    from splade.config.load import yaml_of
    from splade.reporting.model_card import write_model_card

    model.save_pretrained(output)
    if not (output / CARD).exists():
        results = {
            "task": model.task,
            "labels": model.labels,
            "dataset": model.record.get("dataset"),
            "support": list(model.config.support),
            "removed_tokens": model.suppressed_words,
            "silenced_words": model.silenced_words,
            "versions": model.record.get("versions"),
        }
        write_model_card(output / CARD, results, yaml_of(model.record.get("experiment") or {}), model.surgery)
