"""All commands:
`lexical-sae train | evaluate | predict | explain | suppress | concept | serve | record | rehash | study`.
"""

from __future__ import annotations

from inspect import cleandoc
from typing import Annotated

import typer

from splade import __version__
from splade.cli.concept import concept
from splade.cli.console import make_writable
from splade.cli.evaluate import evaluate
from splade.cli.explain import explain
from splade.cli.predict import predict
from splade.cli.record import app as records
from splade.cli.rehash import rehash
from splade.cli.serve import serve
from splade.cli.studies import app as studies
from splade.cli.suppress import suppress
from splade.cli.train import train

app = typer.Typer(
    help="Text classifiers and entity taggers whose every prediction is, exactly, a short sum of named words.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"lexical-sae {__version__}")
        raise typer.Exit


@app.callback()
def lexical_sae(
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", callback=_print_version, is_eager=True, help="Say which version it is."),
    ] = False,
) -> None:
    """What stands before a command."""


def _flowing(help_: str | None) -> str:
    """A help text whose paragraphs are a line each, for the terminal to wrap."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in cleandoc(help_ or "").split("\n\n"))


for name, command in {
    "train": train,
    "evaluate": evaluate,
    "predict": predict,
    "explain": explain,
    "suppress": suppress,
    "concept": concept,
    "serve": serve,
    "rehash": rehash,
}.items():
    app.command(name, help=_flowing(command.__doc__))(command)
app.add_typer(records, name="record")
app.add_typer(studies, name="study")


def main() -> None:
    """The whole command line; `lexical-sae` itself begins in `splade.__main__`."""
    make_writable()
    app()


if __name__ == "__main__":
    main()
