"""How many words of a concept to remove: the curve of what is left of it against what it costs.

The set grows along the ranking of a `Concept`, in sizes that double, until probes find no more of the concept in the
sparse vector than chance would (`splade.evaluation.leakage`), until the predictions have become worse by more than the
budget, or until there is nothing more to remove. Between the last two sizes it is then halved a few times. All of it is
measured on other texts than those that ranked; as the size is chosen by these very texts, a figure that is to be
believed of new ones needs third texts.

The hidden state is measured as well, once: removing a word from what is said does not remove it from what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from splade.data.given import BATCH_SIZE
from splade.errors import ConfigError, DataError
from splade.evaluation.leakage import FOLDS, Leakage, measure_leakage
from splade.evaluation.measure import Progress, no_progress
from splade.evaluation.paired import Difference, paired_difference
from splade.evaluation.removal_codes import Codes, RemovalCodes
from splade.models.protocol import LexicalModel
from splade.models.removal import Removal
from splade.surgery.concepts import Concept
from splade.tasks.base import UNLABELLED, Task

BUDGET = 0.01
"""Share of the texts that may be predicted wrongly for the sake of the removal: one point."""

HALVINGS = 3
"""Sizes measured between the last that went on and the one that ended it: a size of 64 is then known to 4."""

ROUNDING = 1e-9
"""Of a mean: ten texts of a thousand are one point, and not more."""

Ended = Literal["at chance", "budget", "candidates", "class"]


@dataclass(frozen=True)
class CurvePoint:
    """One size of the set that is removed."""

    size: int
    """Names removed, the strongest first."""
    score: float
    """Share of the texts predicted rightly or, where they have no labels, as the model did before."""
    change: Difference
    """Of the score against nothing removed, paired by text."""
    flips: int
    """Predictions that are others than before."""
    sparse: Leakage
    """What probes find in the sparse vector."""


@dataclass(frozen=True)
class Growth:
    """The curve of leakage against accuracy, and where the growth of the set ended."""

    points: tuple[CurvePoint, ...]
    """By size, from 0."""
    chosen: int
    """The size to remove: the smallest at chance, or else the largest within the budget."""
    ended: Ended
    hidden: Leakage
    """What probes find in the mean hidden state, before and after alike."""
    budget: float
    labelled: bool
    """Whether the score is accuracy, not agreement with the model as it was."""
    texts: int
    positives: int

    def point(self, size: int) -> CurvePoint:
        """The one of a size that was measured."""
        return next(point for point in self.points if point.size == size)

    @property
    def before(self) -> CurvePoint:
        return self.points[0]

    @property
    def after(self) -> CurvePoint:
        return self.point(self.chosen)

    @property
    def surest_bound(self) -> float:
        """Upper end of the interval that an area of one half would have, of so many texts: above 0.55, nothing can be
        shown to be at chance. ½ + 1.96·√((n₁ + n₀ + 1)/(12·n₁·n₀)), the spread of the rank statistic."""
        inside, outside = self.positives, self.texts - self.positives
        return float(0.5 + 1.96 * np.sqrt((self.texts + 1) / (12 * inside * outside)))


def grow_concept(
    model: LexicalModel,
    concept: Concept,
    task: Task,
    inside: Sequence[bool] | np.ndarray,
    *,
    budget: float = BUDGET,
    folds: int = FOLDS,
    seed: int = 0,
    batch_size: int = BATCH_SIZE,
    progress: Progress = no_progress,
) -> Growth:
    """Grow the set of what is removed along a concept's ranking, on the texts of a task that did not rank it.

    Args:
        task: texts with their classes; without (`Task.from_texts`), predictions are compared with those before.
        inside: (N,) whether each of these texts has the concept.
        budget: how much worse predictions may become, as a share of the texts.
    """
    if not 0 <= budget <= 1:
        raise ConfigError(
            f"The budget is {budget:g}, and a share of the texts from 0 to 1 was expected; 0.01 is a point."
        )
    about = np.asarray(inside)
    if about.shape != (len(task.labels),):
        raise DataError(
            f"There are {len(task.labels)} texts to measure on, and {about.shape} values of whether they have the "
            "concept; give each text one."
        )
    with progress("reading", len(task)) as advance:
        codes = RemovalCodes(model, task, batch_size, advance)
    curve = _Curve(model, concept, task, codes, about.astype(bool), folds, seed)
    with progress("measuring", len(_sizes(concept)) + HALVINGS + 1) as advance:
        chosen, ended = _grown(curve, concept, budget, lambda: advance(1))
        hidden = measure_leakage(codes.hidden, curve.inside, texts=curve.texts, folds=folds, seed=seed)
        advance(1)
    points = tuple(curve.points[size] for size in sorted(curve.points))
    rows, positives = len(task.labels), int(curve.inside.sum())
    return Growth(points, chosen, ended, hidden, budget, curve.labelled, rows, positives)


def _sizes(concept: Concept) -> list[int]:
    """Nothing, all seeds or the strongest name, and from there twice as many each time, as far as classes allow."""
    sizes = [0, max(1, concept.seeds)]
    while sizes[-1] < concept.largest:
        sizes.append(min(2 * sizes[-1], concept.largest))
    return sizes


def _grown(curve: _Curve, concept: Concept, budget: float, advance: Callable[[], None]) -> tuple[int, Ended]:
    """The size to remove, and what ended the growth."""

    def over(size: int) -> bool:
        return -curve.point(size).change.mean > budget + ROUNDING

    def ends(size: int) -> bool:
        advance()
        return over(size) or curve.point(size).sparse.at_chance

    last = 0
    for size in _sizes(concept):
        if ends(size):
            break
        last = size
    else:
        return last, "candidates" if last == len(concept) else "class"
    for _ in range(HALVINGS):
        between = (last + size) // 2
        if between in (last, size) or between < concept.seeds:  # what was asked for goes as a whole
            break
        if ends(between):
            size = between
        else:
            last = between
    return (last, "budget") if over(size) else (size, "at chance")


class _Curve:
    """The points that were measured."""

    def __init__(
        self,
        model: LexicalModel,
        concept: Concept,
        task: Task,
        codes: RemovalCodes,
        inside: np.ndarray,
        folds: int,
        seed: int,
    ):
        self.model, self.concept, self.codes = model, concept, codes
        self.inside, self.folds, self.seed = inside, folds, seed
        self.texts = np.array(task.split.texts)  # equal ones are in one fold
        self.points: dict[int, CurvePoint] = {}
        self._whole = codes.without(Removal())
        self._predicted = self._whole.logits.argmax(-1)
        self.labelled = bool((task.labels != UNLABELLED).all())
        self._expected = task.labels if self.labelled else self._predicted

    def point(self, size: int) -> CurvePoint:
        """The one of a size, measured when it is first asked for."""
        if size not in self.points:
            codes = self.codes.without(self.concept.removal(self.model, size)) if size else self._whole
            self.points[size] = self._measured(size, codes)
        return self.points[size]

    def _measured(self, size: int, codes: Codes) -> CurvePoint:
        predicted = codes.logits.argmax(-1)
        right, was = (one == self._expected for one in (predicted, self._predicted))
        change = paired_difference(right.astype(float), was.astype(float), self.seed)
        assert change is not None  # there are texts
        leakage = measure_leakage(codes.code, self.inside, texts=self.texts, folds=self.folds, seed=self.seed)
        flips = int((predicted != self._predicted).sum())
        return CurvePoint(size, float(right.mean()), change, flips, leakage)
