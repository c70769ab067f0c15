"""A saved model's folder: what a save wrote there, how it is replaced, and how a folder is told from any other.

A save leaves the files of others alone, and one that is cut off leaves the model before it, or itself, whole:

    folder/.lexical_sae_saving_PID/      the new files, as they are written
    folder/.lexical_sae_saved/           the same, renamed once all of them are on the disk: from here on the save holds
    folder/…                             each file moved to its place, the settings last

Whoever next opens a folder with a save that holds moves what is left of it (`finish_save`). Light to import, so that a
wrong path is refused at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from splade.errors import ModelError
from splade.utils.atomic import written_aside

SETTINGS = "lexical_sae.json"
"""The file that only a saved model has."""

WEIGHTS = "model.safetensors"

SURGERY = "surgery.jsonl"
"""The records of what was removed from a model (`splade.surgery`), where anything was."""

FILES = "files"
"""Key of the settings under which stands the SHA-256 of every other file of the save."""

HASH = "sha256"
"""Key of the settings under which stands the SHA-256 of all the others, and so of the whole model."""

SAVING = threading.RLock()
"""Held while this process saves: its threads would write to one place."""

Kind = Literal["lexical_sae", "dense"]

KINDS: dict[Kind, tuple[str, str]] = {
    "lexical_sae": ("Lexical-SAE model", "name the 'model' folder that a training left in its output_dir"),
    "dense": (
        "dense baseline",
        "name the 'dense/model' folder that a training with evaluation.dense_baseline=true left in its output_dir",
    ),
}
"""What a folder may hold a save of, and where one is found."""

READY, WRITING = ".lexical_sae_saved", ".lexical_sae_saving_"

READ_BY_LIBRARIES = frozenset(
    {
        "config.json",
        *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
        *("vocab.txt", "vocab.json", "merges.txt", "bpe.codes"),
        *("tokenizer.model", "spm.model", "spiece.model", "sentencepiece.bpe.model"),
    }
)
"""Names under which transformers looks for parts of a tokenizer or a configuration: where a save did not write one, it
would change predictions without touching a hash."""


def model_path(folder: object) -> Path:
    """The path a user gave for a model's folder."""
    if not isinstance(folder, str | os.PathLike) or not str(folder).strip() or "\0" in str(folder):
        raise ModelError(f"A model's folder was expected, but {folder!r:.60} was given; name a folder.")
    return Path(folder).expanduser()


def is_model_folder(folder: Path) -> bool:
    """Whether a folder holds a saved model."""
    try:
        finish_save(folder)
        return (folder / SETTINGS).is_file()
    except OSError as error:  # no rights, or a name that no file can have
        raise ModelError(f"{folder!s:.200} cannot be read ({error.strerror}); check its name and rights.") from None


def is_as_read(folder: Path, settings: dict[str, Any]) -> bool:
    """Whether no save has come to a folder, or is under way, since its settings were read."""
    try:
        return not (folder / READY).is_dir() and read_settings(folder) == settings
    except ModelError:
        return False


def check_model_folder(folder: Path, kind: Kind = "lexical_sae") -> None:
    """Refuse a folder that holds no saved model."""
    if not is_model_folder(folder):
        found = "is no folder" if not folder.is_dir() else f"has no {SETTINGS}"
        what, advice = KINDS[kind]
        raise ModelError(f"{folder} is not a saved {what}: it {found}; {advice}.")


def read_settings(folder: Path) -> dict[str, Any]:
    """The settings of the model in a folder, as they are written there."""
    path = folder / SETTINGS
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} is damaged ({error}); copy or train the model again.") from None
    if not isinstance(settings, dict):
        raise ModelError(f"{path} is damaged: it holds no settings; copy or train the model again.")
    return settings


# --- hashes ----------------------------------------------------------------------------------------------------------


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    if path.suffix == ".json":  # whose line ends are free, as git changes them
        return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def settings_hash(settings: dict[str, Any]) -> str:
    """SHA-256 of the settings, the hashes of all other files among them; the order of keys and white space are free."""
    rest = {key: value for key, value in settings.items() if key != HASH}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def check_hashes(folder: Path, settings: dict[str, Any], *, weights: bool) -> None:
    """Refuse a model that is not, file by file, the one that was saved: its weights, or all else."""
    files = settings.get(FILES)
    if settings.get(HASH) != settings_hash(settings) or not isinstance(files, dict):
        raise _changed(folder, SETTINGS, "it does not match its hash")
    for name, expected in files.items():
        if (name == WEIGHTS) != weights:
            continue
        path = folder / name
        if not path.is_file():
            raise _changed(folder, name, "it is missing")
        try:
            found = file_hash(path)
        except OSError as error:
            raise ModelError(f"{path} cannot be read ({error.strerror}); check it and its rights.") from None
        if found != expected:
            raise _changed(folder, name, "it does not match its hash")
    for name in sorted(READ_BY_LIBRARIES - files.keys()):
        if (folder / name).exists():
            raise _changed(folder, name, "it is no part of the model that was saved")


def _changed(folder: Path, name: str, found: str) -> ModelError:
    return ModelError(
        f"{folder / name} is damaged or was changed: {found}; copy or train the model again, or, if it was changed on "
        f"purpose, take the folder as it is with 'lexical-sae rehash --model {folder}'."
    )


# --- replacing what a save wrote -------------------------------------------------------------------------------------


@contextmanager
def replaced_model(folder: Path) -> Iterator[Path]:
    """Within: an empty folder to write a model into, `SETTINGS` among its files; after: they stand in `folder`.

    Only what an earlier save wrote is replaced; a file of that name which is somebody else's is refused, and all other
    files are left alone.
    """
    made: list[Path] = []
    SAVING.acquire()
    try:
        _check_place(folder)
        finish_save(folder)
        made = [place for place in (folder, *folder.parents) if not place.exists()]
        _remove_abandoned(folder)
        aside = folder / f"{WRITING}{os.getpid()}"
        with written_aside(aside, lambda reason: _not_written(folder, reason)):
            yield aside
            _check_replaceable(folder, [path.name for path in aside.iterdir()])
        finish_save(folder)  # another process may have saved here meanwhile
        os.replace(aside, folder / READY)
        finish_save(folder)
    except BaseException as error:
        for place in made:
            with suppress(OSError):
                place.rmdir()  # if nothing is in it
        if isinstance(error, OSError):
            raise _not_written(folder, error.strerror or error) from error
        raise
    finally:
        SAVING.release()


def finish_save(folder: Path) -> None:
    """Move the files of a save that holds to their places; nothing happens where there is none."""
    ready = folder / READY
    if not ready.is_dir():
        return
    try:
        if (ready / SETTINGS).is_file():
            new = set(json.loads((ready / SETTINGS).read_text(encoding="utf-8"))[FILES])
            outdated = _written_by_save(folder) - new - {SETTINGS}
            for name in new:
                _move(ready / name, folder / name)
            for name in outdated:
                (folder / name).unlink(missing_ok=True)
            _move(ready / SETTINGS, folder / SETTINGS)
        with suppress(OSError):  # it is gone, or another process has put its own there
            ready.rmdir()
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(
            f"A save to {folder} was cut off and cannot be finished ({error}); make the folder writable, or remove "
            f"{ready}."
        ) from error


def _move(source: Path, target: Path) -> None:
    with suppress(FileNotFoundError):  # moved before, or by another process
        os.replace(source, target)


def _check_place(folder: Path) -> None:
    if (folder.exists() or folder.is_symlink()) and not folder.is_dir():
        found = "a link that leads nowhere" if folder.is_symlink() else "a file"
        raise ModelError(f"The model cannot be saved to {folder}, which is {found}; name a folder.")


def _check_replaceable(folder: Path, names: list[str]) -> None:
    ours = _written_by_save(folder)
    foreign = sorted(name for name in names if name not in ours and (folder / name).exists())
    if foreign:
        raise ModelError(
            f"{folder} holds {foreign[0]}, which no save of a Lexical-SAE wrote and this one would replace; name "
            "another folder, or move it."
        )


def _written_by_save(folder: Path) -> set[str]:
    """Names of the files that belong to the model in a folder; none where there is no model."""
    if not (folder / SETTINGS).is_file():
        return set()
    try:
        files = json.loads((folder / SETTINGS).read_text(encoding="utf-8")).get(FILES)
    except (OSError, ValueError, AttributeError):
        files = None
    # Without a list, as in a damaged or an older model, what a save always writes.
    names = files if isinstance(files, dict) else READ_BY_LIBRARIES | {WEIGHTS}
    return {SETTINGS, *(name for name in names if Path(name).name == name)}


def remove_model(folder: Path) -> None:
    """Remove the model in a folder, and nothing else that somebody may have put there; no error if there is none."""
    if not folder.is_dir():
        return
    finish_save(folder)
    _remove_abandoned(folder)
    for name in sorted(_written_by_save(folder), key=lambda name: name != SETTINGS):  # first what makes it a model
        (folder / name).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def _remove_abandoned(folder: Path) -> None:
    """Remove what killed processes were writing."""
    for path in folder.glob(f"{WRITING}*") if folder.is_dir() else ():
        owner = path.name.removeprefix(WRITING)
        if owner.isdecimal() and not _alive(int(owner)):
            shutil.rmtree(path, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return process != os.getpid()


def _not_written(folder: Path, reason: object) -> ModelError:
    return ModelError(
        f"The model could not be written to {folder} ({reason}); make room or choose another folder, and save "
        "again (train: with --resume)."
    )


def saved_hash(folder: Path) -> str:
    """The hash of a saved model, as its own settings give it."""
    return str(read_settings(folder).get(HASH, ""))
