"""`lexical-sae train`, and the same for taggers alone, which `splade.scripts.run_ner` runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from splade.cli.console import err, out, say
from splade.cli.errors import reports_errors
from splade.cli.options import ConfigFile, Sets, flag
from splade.cli.training_file import settings_of_file
from splade.errors import ConfigError
from splade.utils.startup import startup

if TYPE_CHECKING:
    from splade.config.schema import Config, Task

OwnFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]",
        help="Own texts with their labels, the same as data.train_file; the run is called after it, and its results go "
        "to results/NAME, unless settings say otherwise.",
    ),
]
Resume = Annotated[bool, flag("--resume", "Go on from the newest whole checkpoint.")]
Overwrite = Annotated[bool, flag("--overwrite", "Replace an earlier run in output_dir.")]
DryRun = Annotated[bool, flag("--dry-run", "Resolve, check and print everything, then stop.")]


def _train_command(help_: str, task: Task | None = None) -> Callable[..., None]:
    """A command that trains; with a `task`, only for that one."""

    def command(
        file: OwnFile = None,
        config: ConfigFile = None,
        set_: Sets = None,
        resume: Resume = False,
        overwrite: Overwrite = False,
        dry_run: DryRun = False,
    ) -> None:
        if resume and overwrite:
            raise ConfigError("Both --resume and --overwrite were given; go on with the earlier run or begin anew.")
        settings = _settings(config, set_ or [], file, task)
        if dry_run:
            _show_plan(settings, resume=resume, overwrite=overwrite)
        else:
            _run(settings, resume=resume, overwrite=overwrite)

    command.__doc__ = help_
    return reports_errors(command)


train = _train_command(
    "Train a model, measure it on the test split, and leave model, results and report in output_dir."
)

train_tagger = _train_command(
    "Train a tagger, measure it on the test split, and leave model, results and report in output_dir.", task="tagging"
)


def _settings(config: Path | None, set_: list[str], file: Path | None, task: Task | None) -> Config:
    """The settings that the arguments stand for; with a `task`, those that name none are for that one, and others are
    refused."""
    from splade.config.load import load_config  # loads pydantic, which no --help needs

    overrides, decided = settings_of_file(file, config, set_, task) if file is not None else ([], [])
    settings = load_config(config, [*overrides, *set_], {"task": task} if task else None)
    if task and settings.task != task:
        raise ConfigError(
            f"The settings say task: {settings.task}, but this command is for {task}; leave task out, or use "
            "'lexical-sae train'."
        )
    for sentence in decided:
        say(sentence)
    return settings


def _show_plan(settings: Config, *, resume: bool, overwrite: bool) -> None:
    with startup():  # seconds of imports, once the settings are right
        from splade.config.load import config_to_yaml
        from splade.pipelines import overview, prepare

    ready = prepare(settings, resume=resume, overwrite=overwrite, dry_run=True)
    print(config_to_yaml(settings), end="")
    for sentence in (ready.dataset.source, *ready.notes):
        print(f"# {sentence}")
    print(f"# {overview(ready.dataset)}")
    examples = f"{ready.dataset.train.unit}s"
    print(f"# {ready.trainer.total} steps of {ready.batch_size} {examples}, {ready.trainer.warmup} of them warm-up")


def _run(settings: Config, *, resume: bool, overwrite: bool) -> None:
    with startup():  # seconds of imports, once the settings are right
        from splade.pipelines import run_experiment
        from splade.reporting.results_table import print_results

    results = run_experiment(settings, resume=resume, overwrite=overwrite, console=err)
    if results:  # of several processes, only the first has them
        print_results(results, out)
        folder = Path(settings.output_dir)
        print(f"Report: {folder / 'report.html'}\nModel:  {folder / 'model'}")
