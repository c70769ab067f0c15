"""Options and arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer.models import OptionInfo


def flag(name: str, help_: str) -> OptionInfo:
    """An option that is there or not, and shown without a type."""
    option: OptionInfo = typer.Option(name, metavar="", help=help_)
    return option


Texts = Annotated[
    list[str] | None,
    typer.Argument(
        help="Texts, each read as a whole, line breaks and all; '-' reads one text a line from standard input."
    ),
]
ModelFolder = Annotated[Path, typer.Option("--model", help="Folder of a saved model, as in output_dir/model.")]
File = Annotated[
    Path | None,
    typer.Option(
        "--file",
        help="Read one text a line from this file; of a format with columns, the column that the model was trained on, "
        "or the one called 'text' or, for taggers, 'tokens'.",
    ),
]
Column = Annotated[str | None, typer.Option("--column", help="Column of --file to read.")]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="Encoding of --file, where it is not Unicode, such as cp1252.")
]
AsJson = Annotated[bool, flag("--json", "Print one JSON object a text.")]
TopK = Annotated[
    int | None,
    typer.Option("--topk", min=0, help="Taggers: how many tokens a word may keep, its most active ones; 0: all."),
]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="YAML file of settings; without: the defaults.")]
Sets = Annotated[list[str] | None, typer.Option("--set", help="Change a setting: section.key=value. May be repeated.")]
