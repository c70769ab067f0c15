"""Several runs that belong together: planned and checked first, each run once, whatever interrupts.

output_dir/NAME/VARIATION/seed_N/     a whole run each, as `lexical-sae train` leaves it, without its checkpoints
output_dir/NAME/results.json, …       what they say together
"""

from __future__ import annotations

import dataclasses
import gc
import json
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from splade.config.load import load_config, vary
from splade.config.schema import Config
from splade.config.study import StudyConfig
from splade.config.surgery import SurgeryConfig
from splade.data.loader import load_dataset
from splade.data.types import Dataset, TaggedSplit, TextSplit
from splade.errors import CheckpointError, ConfigError, LexicalSAEError, TrainingError
from splade.pipelines import measure_again, prepare, run_experiment
from splade.run_folder import fingerprint, held, remove_checkpoints, run_id
from splade.studies.variations import Variation
from splade.task_description import describe
from splade.training.checkpoint import newest_checkpoint
from splade.utils.cuda import reset_peak_rss

State = Literal["new", "begun", "finished", "measured otherwise", "other"]

TO_DO: dict[State, str] = {
    "new": "to run",
    "begun": "to go on with",
    "finished": "finished",
    "measured otherwise": "to measure again",
    "other": "other settings there",
}
"""What a dry run says of a part."""


@dataclass(frozen=True)
class Part:
    """One run of a study."""

    variation: Variation
    config: Config
    """With its own ``seed`` and ``output_dir``."""

    @property
    def title(self) -> str:
        return f"{self.variation.name}, seed {self.config.seed}"

    @property
    def folder(self) -> Path:
        return Path(self.config.output_dir)


@dataclass(frozen=True)
class StudyRun:
    """A study that has been run."""

    name: str
    config: Config
    parts: list[Part]
    finished: list[Part]
    """Those of them that could be run."""
    results: dict[str, list[dict[str, Any]]]
    """The results of each variation, one a seed that could be run."""
    notes: list[str]
    """Sentences a reader should not miss: what could not be run, and why."""

    @property
    def folder(self) -> Path:
        return study_folder(self.name, self.config)


def study_folder(name: str, config: Config) -> Path:
    """Apart from the run that `lexical-sae train` with the same config leaves in ``output_dir`` itself."""
    return Path(config.output_dir) / name


def held_study(name: str, config: Config) -> AbstractContextManager[None]:
    """Within, the study's folder is this process's to write to."""
    plots = [f"{each}.{ending}" for each in (name, "figures") for ending in ("png", "svg")]
    return held(study_folder(name, config), ("results.json", "table.md", *plots))


def check_classification(name: str, config: Config) -> None:
    """Refuse the settings of a tagger where a study looks at whole texts."""
    if not describe(config.task).decides_on_texts:
        raise ConfigError(
            f"The study {name} compares classifiers of whole texts, but the settings say task: {config.task}; give it "
            "settings for classification."
        )


def plan(name: str, config: Config, variations: Sequence[Variation]) -> list[Part]:
    """Every variation with every seed, its own if it names some. All settings are checked; nothing is loaded or
    written."""
    parts = []
    for variation in variations:
        varied = vary(config, variation.settings, f"study variation '{variation.name}'")
        for seed in varied.study.seeds or [varied.seed]:
            folder = study_folder(name, config) / _file_name(variation.name) / f"seed_{seed}"
            title = f"{config.experiment_name}: {variation.name}"
            own = dataclasses.replace(
                varied,
                experiment_name=title,
                output_dir=str(folder),
                seed=seed,
                study=StudyConfig(),
                surgery=SurgeryConfig(),
            )
            parts.append(Part(variation, own))
    if len({part.folder for part in parts}) < len(parts):
        raise ConfigError("Two variations of the study would have the same folder; give them names that differ more.")
    return parts


def run_study(
    name: str,
    config: Config,
    variations: Sequence[Variation],
    *,
    overwrite: bool = False,
    console: Console | None = None,
) -> StudyRun:
    """Run what is not finished yet: a part that was interrupted goes on from its checkpoint, a finished one is read, or
    measured again if only that is to be done otherwise.

    Missing data, and parts that were run with other settings or data, are an error before anything is run, the latter
    unless to `overwrite` them. What shows only when a part is built or trained (its backbone, its words) is noted, and
    the others are run; if all parts fail for one reason, that is the error.
    """
    console = console or Console(quiet=True)
    parts = plan(name, config, variations)
    states = part_states(parts)
    changed = [part.title for part, state in zip(parts, states, strict=True) if state == "other"]
    if changed and not overwrite:
        raise ConfigError(
            f"{study_folder(name, config)} holds parts that were run with other settings or data "
            f"({', '.join(changed[:3])}{', …' if len(changed) > 3 else ''}); run them again with --overwrite, or "
            "choose another with --set output_dir."
        )
    done = states.count("finished")
    if done:
        _say(console, f"{done} of {len(parts)} parts are finished and are not run again.")
    results: dict[str, list[dict[str, Any]]] = {part.variation.name: [] for part in parts}
    finished: list[Part] = []
    failures: dict[str, LexicalSAEError] = {}
    for number, (part, state) in enumerate(zip(parts, states, strict=True), 1):
        if state != "finished":
            _say(console, f"Part {number} of {len(parts)}: {part.title}")
            try:
                _run_part(part, state, console)
            except LexicalSAEError as error:  # the others may well be run
                failures[f"{part.title}: {error}"] = error
                _say(console, f"{part.title}: {error}")
                continue
        finished.append(part)
        results[part.variation.name].append(_read_results(part.folder))
    notes = list(failures)
    if not finished:
        reasons = list(failures.values())
        if len(set(map(str, reasons))) == 1:
            raise reasons[0]
        raise TrainingError(f"No part of the study could be run. {notes[0]}")
    return StudyRun(name, config, parts, finished, results, notes)


def check_study(name: str, config: Config, variations: Sequence[Variation]) -> Iterable[str]:
    """A dry run: build every part, as its training would, and say in a line each what it would do, or why it cannot;
    then, if some cannot, that is the error."""
    parts, failures = plan(name, config, variations), 0
    for part, state in zip(parts, part_states(parts), strict=True):
        try:
            ready = prepare(part.config, overwrite=True, dry_run=True)
        except LexicalSAEError as error:
            failures += 1
            yield f"{part.title}: {error}"
            continue
        settings = ", ".join(f"{key}={json.dumps(value)}" for key, value in part.variation.settings.items())
        yield f"{part.title} ({TO_DO[state]}): {ready.trainer.total} steps; {settings or 'as in the file'}"
    if failures:
        raise TrainingError(f"{failures} of {len(parts)} parts cannot be run as they are; the lines above say why.")


def part_states(parts: Sequence[Part]) -> list[State]:
    """What is already there of each part. Data sets are read once each, so a missing one shows before the first run."""
    states: dict[int, State] = {}
    by_data: dict[str, list[int]] = {}
    for index, part in enumerate(parts):
        config = part.config
        key = json.dumps([config.task, dataclasses.asdict(config.data), config.seed], sort_keys=True)
        by_data.setdefault(key, []).append(index)
    for indices in by_data.values():
        first = parts[indices[0]].config
        dataset = load_dataset(first.data, first.seed, first.task)
        states |= {index: _state(parts[index].config, dataset) for index in indices}
    return [states[index] for index in range(len(parts))]


def _state(config: Config, dataset: Dataset[TextSplit | TaggedSplit]) -> State:
    folder = Path(config.output_dir)
    results = _read_results(folder)
    if results.get("fingerprint") == fingerprint(config, dataset):
        return "finished"
    if results and results.get("fingerprint") == _measured_as_before(config, dataset):
        return "measured otherwise"
    try:
        checkpoint, _ = newest_checkpoint(folder / "checkpoints")
    except CheckpointError:
        return "other" if results else "new"
    return "begun" if checkpoint.state.get("run_id") == run_id(config, dataset) else "other"


def _measured_as_before(config: Config, dataset: Dataset[TextSplit | TaggedSplit]) -> str | None:
    """The fingerprint of ``config`` with the `evaluation` of the run in its folder; None if the saved model alone does
    not give what is asked for now."""
    folder = Path(config.output_dir)
    try:
        before = load_config(folder / "config.yaml").evaluation
    except ConfigError:
        return None
    trained = (folder / "model").is_dir() and before.dense_baseline == config.evaluation.dense_baseline
    return fingerprint(dataclasses.replace(config, evaluation=before), dataset) if trained else None


def _run_part(part: Part, state: State, console: Console) -> None:
    gc.collect()  # the model of the part before
    reset_peak_rss()
    carry_out(part.config, state, console)
    remove_checkpoints(part.folder)  # of dozens of parts, they would fill a disk


def carry_out(config: Config, state: State, console: Console) -> None:
    """Train a run, go on with it, or measure it again, as its state asks for."""
    if state == "measured otherwise":
        measure_again(config, console=console)
    elif state == "begun":
        run_experiment(config, resume=True, console=console)
    elif state != "finished":
        run_experiment(config, overwrite=True, console=console)


def _read_results(folder: Path) -> dict[str, Any]:
    """`results.json` of a part; empty if it is missing or damaged."""
    try:
        return json.loads((folder / "results.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _file_name(name: str) -> str:
    """A folder for what is called ``name``, never one of the study's own files (`results.json`, `table.md`, plots)."""
    plain = re.sub(r"[^\w.+-]+", "_", name).strip("._") or "variation"
    return re.sub(r"\.(json|md|png|svg)$", r"_\1", plain, flags=re.IGNORECASE)


def _say(console: Console, sentence: str) -> None:
    console.print(sentence, highlight=False, markup=False, soft_wrap=True)
