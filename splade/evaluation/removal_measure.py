"""What measures share that remove the tokens named first, and as many random ones."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from splade.evaluation.estimate import Estimate, estimates
from splade.evaluation.measure import Measure, Scope, Seen
from splade.evaluation.removal import Erased, SpeakingRows, erase
from splade.explainers import CHANCE_DRAWS

Result = TypeVar("Result")


class RemovalMeasure(Measure[Result]):
    """Base of such measures: two figures a row for each of several numbers of tokens, of ours and of random ones, the
    latter the mean of several draws."""

    groups: ClassVar[int]
    """How many numbers of tokens, G."""

    def __init__(self, scope: Scope):
        super().__init__(scope)
        self._chance = torch.Generator().manual_seed(scope.seed)
        self._example_of_row = scope.task.example_of_row
        self._values, self._texts = [torch.zeros(0, self.groups, 4)], [np.zeros(0, dtype=np.int64)]
        self.silent = 0
        """Rows left out: they have no active token."""

    @staticmethod
    @abstractmethod
    def pair(erased: Erased) -> tuple[Tensor, Tensor]:
        """The two figures of each row: (R, G) each."""

    def update(self, seen: Seen) -> None:
        rows = SpeakingRows.of(self.scope.task, seen)
        self.silent += rows.silent
        if not len(rows.classes):
            return
        scores = rows.attribution.value
        ours = torch.stack(self._pair_of(rows, scores), 2)  # (R, G, 2)
        draws = [torch.rand(len(scores), generator=self._chance).to(scores.device) for _ in range(CHANCE_DRAWS)]
        chance = torch.stack([torch.stack(self._pair_of(rows, draw), 2) for draw in draws]).mean(0)  # (R, G, 2)
        texts = self._example_of_row[rows.places]
        self._values.append(torch.cat([ours, chance], 2))
        self._texts.append(texts)
        self.look_at(rows, texts)

    def _pair_of(self, rows: SpeakingRows, ranking: Tensor) -> tuple[Tensor, Tensor]:
        """The two figures when tokens are removed in the order of a ranking (N,)."""
        return self.pair(erase(self.scope.model, rows.state, rows.classes, ranking))

    def look_at(self, rows: SpeakingRows, texts: np.ndarray) -> None:
        """Whatever else is to be done with rows of these texts (R,)."""

    @property
    def rows(self) -> int:
        """How many were looked at."""
        return sum(map(len, self._texts))

    def estimated(self) -> list[list[Estimate | None]]:
        """For each number of tokens both figures, and both of random tokens."""
        values = torch.cat(self._values)  # (R, G, 4)
        found = estimates(values.flatten(1).numpy(), np.concatenate(self._texts), self.scope.seed)
        return [found[start : start + 4] for start in range(0, len(found), 4)]
