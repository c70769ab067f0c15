"""`lexical-sae bias`: the measure `bias` of a saved model, on a file with groups or terms of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from splade.cli.console import err, out
from splade.cli.errors import reports_errors
from splade.cli.figures_file import check_output, write_figures
from splade.cli.options import ModelFolder, Sets, flag
from splade.errors import ConfigError
from splade.models.folder import check_model_folder
from splade.utils.startup import startup


@reports_errors
def bias(
    model: ModelFolder,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="Labelled texts: the formats of data.test_file; without, the model's test split."),
    ] = None,
    group_column: Annotated[
        list[str] | None,
        typer.Option("--group-column", help="Column of groups: names, or shares of raters. May be repeated."),
    ] = None,
    terms: Annotated[
        str | None,
        typer.Option("--terms", help="Find groups by words: a file with a line a group (name: term, …), or identity."),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", help="A label that counts as positive (hateful, toxic). May be repeated."),
    ] = None,
    set_: Sets = None,
    output: Annotated[Path | None, typer.Option("--output", help="Also write the figures to this JSON file.")] = None,
    as_json: Annotated[bool, flag("--json", "Print the figures as one JSON object.")] = False,
) -> None:
    """Error rates of a classifier on texts about groups of people: rates, gaps, counts, and what too few texts could
    show.

    Groups are columns of the file, or words in its texts. A group with fewer than 50 harmless (harmful) texts is
    underpowered and compared with nobody; one with none has no rate.
    """
    if group_column and terms is not None:
        raise ConfigError("Both --group-column and --terms were given, and each says whom texts are about; keep one.")
    check_model_folder(model)
    with startup():  # seconds of imports, once it is known that there is a model
        from splade.pipelines.saved_model import evaluate_saved
        from splade.reporting.results_table import print_results

    if output is not None:
        check_output(output)
    asked = {"bias_groups": group_column, "bias_terms": terms, "bias_positive": label}
    overrides = [f"evaluation.{key}={json.dumps(value)}" for key, value in asked.items() if value]
    settings = [*(set_ or []), "evaluation.measures=bias", *overrides]
    results = evaluate_saved(model, overrides=settings, file=file, console=err)
    if as_json:
        print(json.dumps(results))
    else:
        print_results(results, out)
    if output is not None:
        write_figures(output, results)
