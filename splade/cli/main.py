"""All commands: `lexical-sae train | evaluate | predict | explain | rehash | study`."""

from __future__ import annotations

import typer

from splade.cli.console import make_writable
from splade.cli.evaluate import evaluate
from splade.cli.explain import explain
from splade.cli.predict import predict
from splade.cli.rehash import rehash
from splade.cli.studies import app as studies
from splade.cli.train import train

app = typer.Typer(
    help="Text classifiers and entity taggers whose every prediction is, exactly, a short sum of named words.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for name, command in {
    "train": train,
    "evaluate": evaluate,
    "predict": predict,
    "explain": explain,
    "rehash": rehash,
}.items():
    app.command(name)(command)
app.add_typer(studies, name="study")


def main() -> None:
    """The whole command line; `lexical-sae` itself begins in `splade.__main__`."""
    make_writable()
    app()


if __name__ == "__main__":
    main()
