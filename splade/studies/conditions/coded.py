"""Texts as the conditions of a study see them: read by the backbone once, with labels, groups, and their codes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from splade.data.types import TextSplit
from splade.models.lexical_sae import LexicalSAE
from splade.surgery.code_arrays import codes_from_arrays, codes_to_arrays
from splade.surgery.codes import Codes, View, read_codes
from splade.tasks import ClassificationTask
from splade.tasks.base import UNLABELLED
from splade.utils.progress import progress_bar

HIDDEN = "hidden"
"""The array of mean hidden states in a file of codes."""


@dataclass(frozen=True)
class CodedTexts:
    """Some texts."""

    name: str
    texts: list[str]
    positive: np.ndarray
    """(N,) bool, whether a text has the positive label."""
    labels: np.ndarray
    """(N,) the model's class; `UNLABELLED` where the labels of the set are others."""
    members: Mapping[str, np.ndarray]
    """(N,) bool by group, whether a text is about it."""
    codes: dict[str, Codes]
    """By the name of a view."""
    source: str = ""
    """How groups are known."""
    drawn: np.ndarray | None = None
    """(N,) what texts have in common that are drawn together, such as a template; None: nothing."""
    hidden: dict[str, np.ndarray] = field(default_factory=dict)
    """(N, d) mean hidden states, by the name of a view, where they were asked for."""

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, name: str, rows: np.ndarray) -> CodedTexts:
        """Some texts (K,)."""
        return CodedTexts(
            name,
            [self.texts[row] for row in rows],
            self.positive[rows],
            self.labels[rows],
            {group: inside[rows] for group, inside in self.members.items()},
            {view: codes.take(rows) for view, codes in self.codes.items()},
            self.source,
            None if self.drawn is None else self.drawn[rows],
            {view: states[rows] for view, states in self.hidden.items()},
        )


class CodeStore:
    """Reads codes with a model, and keeps them in a folder: what was read is not read again."""

    def __init__(self, model: LexicalSAE, model_hash: str, folder: Path, batch_size: int, console: Console):
        self.model, self.model_hash, self.folder = model, model_hash, folder
        self.batch_size, self.progress = batch_size, partial(progress_bar, console)

    def read(
        self, name: str, texts: Sequence[str], views: Mapping[str, tuple[str, View]], *, hidden: bool = False
    ) -> tuple[dict[str, Codes], np.ndarray | None]:
        """The codes of texts by view, and the mean hidden states if asked for; the backbone reads all views at once.

        `views`: each with what it is known by, so that what another view has left is not taken for it.
        """
        paths = {view: self._path(name, texts, view, known_by) for view, (known_by, _) in views.items()}
        missing = [view for view, path in paths.items() if not _has(path, hidden)]
        if missing:
            split = TextSplit(list(texts), [UNLABELLED] * len(texts))
            task = ClassificationTask(split, self.model.tokenizer, self.model.max_length, self.model.labels)
            wanted = {view: views[view][1] for view in missing}
            with self.progress(f"reading {name}", len(texts)) as advance:
                found, means = read_codes(self.model, task, wanted, self.batch_size, hidden=hidden, advance=advance)
            for view, codes in found.items():
                arrays = codes_to_arrays(codes)
                write_arrays(paths[view], arrays | ({HIDDEN: means} if means is not None else {}))
        read: dict[str, Codes] = {}
        states: np.ndarray | None = None
        for view, path in paths.items():
            with np.load(path) as kept:
                read[view] = codes_from_arrays(kept)
                states = kept[HIDDEN] if hidden else None
        return read, states

    def _path(self, name: str, texts: Sequence[str], view: str, known_by: str) -> Path:
        digest = hashlib.sha256(json.dumps([self.model_hash, self.model.max_length, known_by]).encode())
        for text in texts:
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(f"{len(encoded)}:".encode() + encoded)
        return self.folder / f"{name}.{view}.{digest.hexdigest()[:16]}.npz"


def _has(path: Path, hidden: bool) -> bool:
    try:
        with np.load(path) as kept:
            return not hidden or HIDDEN in kept.files
    except (OSError, ValueError):  # not there, or not whole
        return False


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file of arrays in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".writing_{path.name}")
    try:
        np.savez(aside, **dict(arrays))  # type: ignore[arg-type]
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
