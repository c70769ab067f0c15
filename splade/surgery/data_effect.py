"""The effect of a removal on a data set: predictions that flip, the figure before and after, and what took over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from splade.data.given import BATCH_SIZE
from splade.errors import DataError, listed
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.removal import Silence
from splade.models.state import CircuitState
from splade.surgery.compared import Compared, compare
from splade.surgery.suppressed_model import SuppressedModel
from splade.surgery.targets import removed_names
from splade.tasks import TASKS
from splade.tasks.base import Task

MOST_SIBLINGS = 20


@dataclass(frozen=True)
class Move:
    """Predictions that went from one label to another."""

    before: str
    after: str
    rows: int


@dataclass(frozen=True)
class Sibling:
    """A token that speaks where a removed word stands, though it is not removed."""

    name: str
    rows: int
    """Predictions in which it speaks there after the removal."""
    before: float
    """Sum of what it adds there to the logit of the class predicted before."""
    after: float


@dataclass(frozen=True)
class DataEffect:
    """What a removal does to all predictions of a data set."""

    rows: int
    """Predictions: of texts, or of a tagger of words."""
    flips: int
    flipped: list[int]
    """Numbers of those that flipped."""
    moves: list[Move]
    """The most frequent first."""
    figure: str
    """What `before` and `after` are: accuracy, f1."""
    before: float | None
    """None: the texts have no labels."""
    after: float | None
    largest_change: float
    """Of any logit."""
    said_before: float
    """Σ |contribution| to the class predicted before, at the places where the removed words stand."""
    said_after: float
    took_over: list[Sibling]
    """The loudest after the removal first."""

    @property
    def left(self) -> float | None:
        """Share of what was said at the removed words' places that is still said there; None: nothing was."""
        return self.said_after / self.said_before if self.said_before else None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self) | {"left": self.left}


@torch.no_grad()
def effect_on_data(
    suppressed: SuppressedModel,
    texts: Iterable[Any],
    labels: Sequence[Any] | None = None,
    batch_size: int = BATCH_SIZE,
) -> DataEffect:
    """The effect of what a `SuppressedModel` removes on texts.

    `labels`: a name a text, of a tagger a list of tags a text; None: there are none.
    """
    kind = TASKS.get(suppressed.task)
    task: Task = kind.from_texts(kind.given(texts).items, suppressed)
    if labels is not None:
        task.labels = class_numbers(labels, suppressed.labels, len(task.labels))
    return effect_on_task(suppressed, task, labelled=labels is not None, batch_size=batch_size)


@torch.no_grad()
def effect_on_task(
    suppressed: SuppressedModel, task: Task, *, labelled: bool = True, batch_size: int = BATCH_SIZE
) -> DataEffect:
    """The effect on the rows of a task."""
    size = len(task.labels), len(suppressed.labels)
    before, after = torch.zeros(size), torch.zeros(size)
    voices = _Voices(suppressed)
    for one in compare(suppressed, task, batch_size):
        places = torch.from_numpy(one.batch.places)
        before[places], after[places] = one.before.logits.cpu(), one.after.logits.cpu()
        voices.update(one)
    first, second = task.decide_classes(before), task.decide_classes(after)
    flipped = np.flatnonzero(first != second).tolist()
    moved = Counter((suppressed.labels[first[row]], suppressed.labels[second[row]]) for row in flipped)
    return DataEffect(
        rows=len(first),
        flips=len(flipped),
        flipped=flipped,
        moves=[Move(*labels, rows) for labels, rows in moved.most_common()],
        figure=task.figure,
        before=task.score(before) if labelled else None,
        after=task.score(after) if labelled else None,
        largest_change=float((after - before).abs().max()) if len(before) else 0.0,
        said_before=voices.totals[0],
        said_after=voices.totals[1],
        took_over=voices.siblings(),
    )


class _Voices:
    """What is said where removed words stand, before and after, by token."""

    def __init__(self, suppressed: SuppressedModel):
        self.names = suppressed.vocabulary.names
        self.by_given_words = suppressed.encoder.context is not None
        removal = suppressed.own_removal
        self.removed = {name.lower() for name in removed_names(suppressed, removal)} | removal.words
        self.silence = Silence(suppressed.model.encoder.supports[0].vocabulary, self.removed)
        self.totals = [0.0, 0.0]
        self.said: dict[str, list[float]] = {}

    def update(self, one: Compared) -> None:
        batch, classes = one.batch, one.before.logits.argmax(-1)
        words = batch.words if self.by_given_words else None
        places = self.silence.positions(batch.input_ids, batch.attention_mask.bool(), words).flatten()  # (B·L,)
        for time, state in enumerate((one.before, one.after)):
            for token, value in self._at(places, state, classes):
                self.totals[time] += abs(value)
                found = self.said.setdefault(self.names[token], [0.0, 0.0, 0.0])
                found[time] += value
                found[2] += time

    def _at(self, places: Tensor, state: CircuitState, classes: Tensor) -> Iterable[tuple[int, float]]:
        rows = compute_attribution_tensor(state, classes)
        entry, position, value = rows.by_position()
        inside = places[position]
        return zip(rows.token[entry[inside]].tolist(), value[inside].tolist(), strict=True)

    def siblings(self) -> list[Sibling]:
        found = [Sibling(name, int(rows), first, second) for name, (first, second, rows) in self.said.items() if rows]
        return sorted(found, key=lambda one: (-abs(one.after), one.name))[:MOST_SIBLINGS]


def class_numbers(labels: Sequence[Any], names: Sequence[str], rows: int) -> np.ndarray:
    """(N,) the classes of all rows; those of a tagger come as a list a text."""
    flat = [one for each in labels for one in ([each] if isinstance(each, str) else each)]
    unknown = [one for one in flat if one not in names]
    if unknown:
        raise DataError(f"The model has no label {unknown[0]!r:.40}; its labels are: {listed(list(names))}.")
    if len(flat) != rows:
        raise DataError(f"There are {len(flat)} labels for {rows} predictions; give each its label.")
    return np.array([list(names).index(one) for one in flat], dtype=np.int64)
