"""`lexical-sae study NAME`, and the same as `python -m splade.scripts.run_NAME`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from splade.cli.console import err, out
from splade.cli.errors import reports_errors
from splade.cli.options import ConfigFile, Sets, flag
from splade.errors import ConfigError
from splade.utils.startup import startup

if TYPE_CHECKING:
    from splade.config.schema import Config

app = typer.Typer(help="Experiments of several runs, compared in one table and one plot.", no_args_is_help=True)

Seeds = Annotated[str | None, typer.Option("--seeds", help="Run everything with each of these seeds: 0,1,2.")]
Overwrite = Annotated[bool, flag("--overwrite", "Run parts again that had other settings or data.")]
DryRun = Annotated[bool, flag("--dry-run", "Build every part, say what it would do, and stop.")]


def load_study(config: Path | None, set_: list[str] | None, seeds: str | None) -> Config:
    """The config of a study; ``--seeds`` goes before ``study.seeds``, also before a variation's own."""
    from splade.config.load import load_config

    if seeds is None:
        return load_config(config, list(set_ or []))
    if not all(seed.strip().isdecimal() for seed in seeds.split(",")):
        raise ConfigError(f"--seeds was given '{seeds}', but whole numbers with commas were expected: 0,1,2.")
    settings = load_config(config, [*(set_ or []), f"study.seeds=[{seeds}]"])
    same = {
        name: {key: value for key, value in changes.items() if key != "study.seeds"}
        for name, changes in settings.study.variations.items()
    }
    return replace(settings, study=replace(settings.study, variations=same))


def _command(name: str, help_: str) -> Callable[..., None]:
    """The command of a study of variations."""

    def command(
        config: ConfigFile = None,
        set_: Sets = None,
        seeds: Seeds = None,
        overwrite: Overwrite = False,
        dry_run: DryRun = False,
    ) -> None:
        from splade.studies.compare import compare
        from splade.studies.study import check_study, held_study
        from splade.studies.variations import variations_of

        settings = load_study(config, set_, seeds)
        if dry_run:
            for line in check_study(name, settings, variations_of(name, settings)):
                print(line)
            return
        with held_study(name, settings):
            print(f"Results: {compare(name, settings, overwrite=overwrite, console=err, out=out)}")

    command.__doc__ = help_
    made: Callable[..., None] = app.command(name.replace("_", "-"))(reports_errors(command))
    return made


ablation = _command("ablation", "Each circuit loss off in turn, and cross-entropy alone.")
multi_dataset = _command("multi_dataset", "One config on several data sets.")
bcos_ablation = _command("bcos_ablation", "ReLU heads against B-cos heads of two and three layers.")
frontier = _command("frontier", "Supports × recipes: accuracy, active tokens and grounding against each other.")


@app.command("sota-comparison")
@reports_errors
def sota_comparison(
    config: ConfigFile = None,
    set_: Sets = None,
    seeds: Seeds = None,
    overwrite: Overwrite = False,
) -> None:
    """This model, the dense head and linear glass boxes: accuracy, size, time and the price of an explanation."""
    from splade.studies.sota import NAME, compare_with_others
    from splade.studies.study import held_study

    settings = load_study(config, set_, seeds)
    with held_study(NAME, settings):
        print(f"Results: {compare_with_others(settings, overwrite=overwrite, console=err, out=out)}")


@app.command("faithfulness")
@reports_errors
def faithfulness(config: ConfigFile = None, set_: Sets = None, overwrite: Overwrite = False) -> None:
    """This model's explanations, and those that any model can have: how faithful, how exact, how dear."""
    from splade.config.load import load_config

    settings = load_config(config, list(set_ or []))
    with startup():  # seconds of imports, once the settings are right
        from splade.reporting.results_table import print_results
        from splade.studies.faithfulness import faithfulness_study

    print_results(faithfulness_study(settings, overwrite=overwrite, console=err), out)
    print(f"Report: {Path(settings.output_dir) / 'report.html'}")


@app.command("long-context")
@reports_errors
def long_context(
    config: ConfigFile = None,
    set_: Sets = None,
    seeds: Seeds = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="Folder of a saved model; without: one is trained first.")
    ] = None,
    tiny: Annotated[bool, flag("--tiny", "Only the cost, of a tiny random model up to 4,096.")] = False,
    overwrite: Overwrite = False,
) -> None:
    """A telling sentence in ever longer plain texts: is it still the reason, and what does length cost?"""
    from splade.studies.long_context import NAME
    from splade.studies.long_context import long_context as run
    from splade.studies.study import held_study

    if seeds is not None and (tiny or model is not None):
        given = "--tiny" if tiny else "--model"
        raise ConfigError(
            f"Both --seeds and {given} were given, but seeds are for models that are trained, and {given} trains none; "
            "leave one of the two out."
        )
    settings = load_study(config, set_, seeds)
    with held_study(NAME, settings):
        folder = run(settings, model_folder=model, tiny=tiny, overwrite=overwrite, console=err, out=out)
        print(f"Results: {folder}")


@app.command("polysemy")
@reports_errors
def polysemy(
    config: ConfigFile = None,
    set_: Sets = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="Folder of a saved model; without: the untrained backbone.")
    ] = None,
) -> None:
    """Words in context: is another sense chosen, do other tokens fire, when a word means something else?"""
    from splade.studies.polysemy import NAME, polysemy_study
    from splade.studies.study import held_study

    settings = load_study(config, set_, None)
    with held_study(NAME, settings):
        print(f"Results: {polysemy_study(settings, model_folder=model, console=err, out=out)}")


@app.command("surgery")
@reports_errors
def surgery(
    config: ConfigFile = None,
    set_: Sets = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="Folder of a saved model; without: one is trained first.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """A biased model, its words removed, and what else could be done, side by side on the same texts."""
    from splade.studies.study import held_study
    from splade.studies.surgery import NAME, surgery_study

    settings = load_study(config, set_, None)
    with held_study(NAME, settings):
        folder = surgery_study(settings, model_folder=model, overwrite=overwrite, console=err, out=out)
        print(f"Results: {folder}\nReport:  {folder / 'report.html'}")
