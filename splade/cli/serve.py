"""`lexical-sae serve`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from splade.cli.console import say
from splade.cli.errors import reports_errors
from splade.cli.options import flag
from splade.errors import ConfigError
from splade.utils.startup import startup

NEEDED = ("fastapi", "uvicorn", "prometheus_client")
"""What the extra `serve` installs."""


@reports_errors
def serve(
    models: Annotated[
        list[str],
        typer.Argument(help="Folders of saved models, as in output_dir/model; NAME=FOLDER names one otherwise."),
    ],
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; one that others can reach needs a key.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any that is free.")] = 8000,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            help="A further name by which the server is asked, such as that of a load balancer. May be repeated.",
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", help="File that holds the API key; else the variable LEXICAL_SAE_API_KEY."),
    ] = None,
    precision: Annotated[
        str,
        typer.Option(
            "--precision", help="Of the backbone: float32, in which no answer depends on others, bfloat16 or auto."
        ),
    ] = "float32",
    queue: Annotated[int, typer.Option("--queue", min=1, help="Texts that may wait for the model.")] = 256,
    no_data: Annotated[bool, flag("--no-data", "Do not read or show the test texts of the models' runs.")] = False,
) -> None:
    """Serve models over HTTP, with a page to read and question them.

    The interface is in docs/api.md, how to run it in docs/serving.md. Without a key it answers this machine alone.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigError(f"The server needs {', '.join(missing)}; install: pip install 'lexical-sae[serve]'.")
    if precision not in ("float32", "bfloat16", "auto"):
        raise ConfigError(f"--precision is '{precision}', but float32, bfloat16 or auto was expected; choose one.")
    with startup():
        from splade.apps.server.limits import Limits
        from splade.apps.server.process import ServeSettings, run

    settings = ServeSettings(
        host,
        port,
        tuple(allow_host or ()),
        key_file,
        precision,  # type: ignore[arg-type]
        data=not no_data,
        limits=Limits(queued_texts=queue),
    )
    run(models, settings, say)
