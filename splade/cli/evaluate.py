"""`lexical-sae evaluate`: measure a saved model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from splade.cli.console import err, out
from splade.cli.errors import reports_errors
from splade.cli.figures_file import check_output, write_figures
from splade.cli.options import ModelFolder, Sets, flag
from splade.models.folder import check_model_folder
from splade.utils.startup import startup


@reports_errors
def evaluate(
    model: ModelFolder,
    config: Annotated[
        Path | None, typer.Option("--config", help="Settings of the data; what it does not have is as in the training.")
    ] = None,
    set_: Sets = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Own test data, in the place of any other: the formats of data.test_file."),
    ] = None,
    measures: Annotated[
        str | None,
        typer.Option(
            "--measures",
            help="Take these measures only, by name, joined by commas; those that take long are only taken so.",
        ),
    ] = None,
    anew: Annotated[bool, flag("--anew", "Measure again what is remembered of the measures asked for.")] = False,
    output: Annotated[Path | None, typer.Option("--output", help="Also write the figures to this JSON file.")] = None,
    as_json: Annotated[bool, flag("--json", "Print the figures as one JSON object.")] = False,
) -> None:
    """Measure a saved model on a test split.

    To take only some of the measures, name them: --measures identity,completeness; docs/results.md lists them all.
    """
    check_model_folder(model)
    with startup():  # seconds of imports, once it is known that there is a model
        from splade.pipelines.saved_model import evaluate_saved
        from splade.reporting.results_table import print_results
        from splade.training.interrupt import Interrupted

    if output is not None:
        check_output(output)
    overrides = [*(set_ or []), *([f"evaluation.measures={measures}"] if measures is not None else [])]
    try:
        results = evaluate_saved(model, config=config, overrides=overrides, file=file, anew=anew, console=err)
    except Interrupted as stopped:
        without = ", without --anew, which would forget it" if anew else ""
        stopped.advice = f"The same command goes on from there{without}."
        raise
    if as_json:
        print(json.dumps(results))
    else:
        print_results(results, out)
    if output is not None:  # last: whatever happens to the file, the figures are there to read
        write_figures(output, results)
