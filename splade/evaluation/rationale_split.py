"""The texts of a split that people marked words of, as explainers take them."""

from __future__ import annotations

import numpy as np

from splade.data.rationales import Marked, RationaleText, rationale_texts
from splade.evaluation.measure import Scope
from splade.explainers import WordText


class RationaleSplit:
    """The texts that are looked at, and those of them that have a rationale."""

    def __init__(self, scope: Scope, marked: Marked):
        split = scope.task.split
        found = rationale_texts(split.texts, split.extra, marked) or []
        looked_at = [int(row) for row in scope.rows if found and found[row].words]  # an empty text has nothing to say
        self.texts = [WordText(found[row].text, tuple(found[row].words)) for row in looked_at]
        self.labels = scope.task.labels[looked_at]
        """(N,) of the texts."""
        self.places = np.array([n for n, row in enumerate(looked_at) if found[row].gold is not None], dtype=np.int64)
        """(M,) which of them have a rationale."""
        self.rationales: list[RationaleText] = [found[looked_at[n]] for n in self.places]
        """(M,)."""

    @property
    def marked_texts(self) -> list[WordText]:
        """(M,)."""
        return [self.texts[n] for n in self.places]

    @property
    def marked_labels(self) -> list[int]:
        """(M,)."""
        labels: list[int] = self.labels[self.places].tolist()
        return labels
