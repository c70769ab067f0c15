"""A run and its folder: what it is known by, what it may write where, and that nobody else writes there meanwhile."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from splade.config.load import config_to_yaml
from splade.config.schema import Config, DataConfig
from splade.data.types import Dataset, TaggedSplit, TextSplit, dataset_fingerprint
from splade.errors import ConfigError
from splade.evaluation.lexicon import LexiconSettings
from splade.evaluation.measures import MEASURES
from splade.evaluation.memory import remove_measured
from splade.models.folder import file_hash, remove_model
from splade.models.supports.dictionary import DictionarySettings
from splade.training.checkpoint import list_checkpoints, nothing_to_resume
from splade.training.recipes import resolved
from splade.utils.atomic import write_json, write_text

RESULTS = ("results.json", "report.html", "README.md")
"""Written when a run is finished, and gone when another takes its place."""

MEASURED = "measures"
"""What each measure has found, so that none is taken twice."""

DENSE = "dense"
"""The dense baseline, with a history, checkpoints and a model of its own."""

PROGRESS = ("metrics.jsonl", "checkpoints", DENSE, MEASURED)
"""Written as a run goes on."""

WRITES = (*RESULTS, *PROGRESS, "config.yaml", "model")
"""All that a run leaves in its folder."""

OWNER, LOCK = ".lexical_sae_run.json", ".lexical_sae_run.lock"
"""What tells a run's folder from any other; and what is locked, and says by whom, while a run writes there."""


# --- what a run is known by ------------------------------------------------------------------------------------------


def run_id(config: Config, dataset: Dataset[TextSplit | TaggedSplit]) -> str:
    """What a checkpoint must agree with: all settings that shape the training, and the data, wherever they lie.

    Of the settings, those that differ from their defaults: one that is new changes nothing where nobody has set it.
    """
    shaping = ("task", "seed", "data", "model", "training")
    anywhere = _with_files(replace(config, data=replace(config.data, root=None)), lambda path: path.name)
    chosen, usual = asdict(resolved(anywhere)), asdict(resolved(Config()))
    settings = {key: _different(chosen[key], usual[key]) for key in shaping}
    text = json.dumps(settings, sort_keys=True) + dataset_fingerprint(dataset)
    return hashlib.sha256(text.encode()).hexdigest()


def _different(values: Any, defaults: Any) -> Any:
    """The entries of a section that are not as by default, of sections within it too."""
    if not isinstance(values, dict) or not isinstance(defaults, dict):
        return values
    chosen = {key: value for key, value in values.items() if key not in defaults or value != defaults[key]}
    return {key: _different(value, defaults.get(key)) for key, value in chosen.items()}


def fingerprint(config: Config, dataset: Dataset[TextSplit | TaggedSplit]) -> str:
    """What results must agree with to be this config's: all that shapes the training, the data, what is measured."""
    measured = _different(asdict(config.evaluation), asdict(Config().evaluation))
    text = run_id(config, dataset) + json.dumps(measured, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _with_files(config: Config, change: Callable[[Path], str]) -> Config:
    """With another path for each data file that is named."""
    named = {key: getattr(config.data, key) for key in ("train_file", "validation_file", "test_file")}
    changed: dict[str, Any] = {key: change(Path(value)) for key, value in named.items() if value is not None}
    return replace(config, data=replace(config.data, **changed))


def file_hashes(data: DataConfig) -> dict[str, str]:
    """SHA-256 of each data file that is named, by its setting."""
    named = {key: getattr(data, key) for key in ("train_file", "validation_file", "test_file")}
    return {key: file_hash(Path(path)) for key, path in named.items() if path is not None and Path(path).is_file()}


def from_anywhere(config: Config) -> Config:
    """The same config with whole paths, so that what it names is found from any folder."""

    def whole(path: str) -> str:
        return str(Path(path).expanduser().absolute())

    config = _with_files(config, lambda path: whole(str(path)))
    data, model, evaluation = config.data, config.model, config.evaluation
    lexicon, dictionary = evaluation.of(LexiconSettings).lexicon, model.of(DictionarySettings).dictionary_file
    words: dict[str, Any] = {"dictionary_file": whole(dictionary)} if dictionary else {}
    ratings: dict[str, Any] = {"lexicon": whole(lexicon)} if lexicon and Path(lexicon).is_file() else {}
    return replace(
        config,
        data=replace(data, root=whole(data.root) if data.root else None),
        model=replace(
            model,
            name=whole(model.name) if Path(model.name).expanduser().is_dir() else model.name,
            **words,
        ),
        evaluation=replace(evaluation, **ratings),
    )


# --- what may be written where ---------------------------------------------------------------------------------------


def check_output_dir(config: Config, *, resume: bool, overwrite: bool) -> None:
    """Refuse a folder that cannot be written, that holds files of others, or an earlier run unless told to."""
    folder = Path(config.output_dir)
    check_writable(folder)
    _check_foreign(folder, WRITES)
    if resume and not list_checkpoints(folder / "checkpoints"):
        raise nothing_to_resume(folder / "checkpoints", "no checkpoint")
    traces = [name for name in ("results.json", "model") if _is_there(folder / name)]
    traces += ["checkpoints"] if list_checkpoints(folder / "checkpoints") else []
    if traces and not resume and not overwrite:
        raise ConfigError(
            f"{folder} already holds a run ({', '.join(traces)}); go on with --resume, begin anew with --overwrite, or "
            "choose another with --set output_dir."
        )


def check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be made or written to; nothing is left there."""
    made: list[Path] = []
    try:
        if folder.exists() and not folder.is_dir():
            raise ConfigError(f"output_dir is {folder}, which is a file; name a folder.")
        made = [place for place in (folder, *folder.parents) if not place.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ConfigError(
            f"output_dir is {folder}, which cannot be written to ({error.strerror or error}); choose another "
            "with --set output_dir."
        ) from None
    finally:
        for place in made:
            with suppress(OSError):
                place.rmdir()


def _check_foreign(folder: Path, names: Sequence[str]) -> None:
    foreign = [name for name in names if (folder / name).exists() or (folder / name).is_symlink()]
    if foreign and not _is_ours(folder):
        what = ", ".join(foreign)
        raise ConfigError(
            f"{folder} holds {what}, which no run wrote and this one would replace; move "
            f"{'it' if len(foreign) == 1 else 'them'}, or choose another with --set output_dir."
        )


def _is_ours(folder: Path) -> bool:
    """Whether a run, or a study, wrote to a folder; of those before there were marks, by what only they leave."""
    if (folder / OWNER).is_file() or {"fingerprint", "study"} & read_results(folder).keys():
        return True
    return any((step / "manifest.json").is_file() for step in list_checkpoints(folder / "checkpoints"))


def read_results(folder: Path) -> dict[str, Any]:
    """`results.json` of a folder; empty where there is none, or none of ours."""
    try:
        results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return results if isinstance(results, dict) else {}


def _is_there(path: Path) -> bool:
    """Whether a file, or a folder with anything in it, is there."""
    return any(path.iterdir()) if path.is_dir() else path.exists()


@contextmanager
def held(folder: Path, names: Sequence[str] = WRITES) -> Iterator[None]:
    """Within, the folder is this process's to write `names` to; that of another is refused with a sentence.

    The system lets go of the lock of a process that has died, so that none is ever stale. Of several processes that
    train together, only the main one holds it.
    """
    if os.environ.get("RANK", "0") != "0":  # as torchrun and accelerate number their processes
        yield
        return
    check_writable(folder)
    _check_foreign(folder, names)
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / LOCK, timeout=0):
            (folder / LOCK).write_text(
                f"process {os.getpid()} on {socket.gethostname()}, since {time.strftime('%Y-%m-%d %H:%M:%S')}"
            )
            if not (folder / OWNER).exists():
                write_json(folder / OWNER, {"writes": list(names)})
            try:
                yield
            finally:
                _leave_nothing(folder, made)
    except Timeout:
        raise ConfigError(
            f"{folder} is being written to by another run{_said_owner(folder)}; wait for it, stop it, or choose "
            "another with --set output_dir."
        ) from None


def _leave_nothing(folder: Path, made: Sequence[Path]) -> None:
    """Remove the marks from a folder that nothing else was written to, and the folders made for it."""
    if {path.name for path in folder.iterdir()} <= {OWNER, LOCK}:
        for name in (OWNER, LOCK):
            (folder / name).unlink(missing_ok=True)
        for place in made:
            with suppress(OSError):
                place.rmdir()


def _said_owner(folder: Path) -> str:
    try:
        owner = (folder / LOCK).read_text(encoding="utf-8")
    except (OSError, ValueError):
        owner = ""  # an older filelock empties what another process has locked
    return f" ({owner})" if owner else ""


# --- writing and removing --------------------------------------------------------------------------------------------


def write_config(config: Config) -> None:
    """The settings a run was made with, in its folder."""
    write_text(Path(config.output_dir) / "config.yaml", config_to_yaml(from_anywhere(config)))


def begin_anew(folder: Path) -> None:
    """Remove how far an earlier run had come. Its model and results stay until there are others."""
    for part in (folder, folder / DENSE):
        (part / "metrics.jsonl").unlink(missing_ok=True)
        remove_checkpoints(part)
    remove_measured(folder / MEASURED, MEASURES.names())


def remove_checkpoints(folder: Path) -> None:
    """Remove a run's checkpoints, and nothing else that somebody may have put there."""
    place = folder / "checkpoints"
    for path in (*list_checkpoints(place), *place.glob(".writing_step_*")):
        shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        place.rmdir()


def remove_other_results(folder: Path, mine: str) -> None:
    """Remove the results and the dense baseline of a run with another fingerprint, whose model is about to be
    replaced."""
    if read_results(folder).get("fingerprint") != mine:
        for name in RESULTS:
            (folder / name).unlink(missing_ok=True)
        remove_model(folder / DENSE / "model")
