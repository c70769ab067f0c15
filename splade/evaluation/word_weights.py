"""The words of the texts by how much of all contribution arises at them, whichever vocabulary tokens speak there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from splade.models.sparse import SparseRows
from splade.models.vocabulary import Vocabulary
from splade.tasks import Batch

LIGHTEST = 0.02
"""The smallest share of all |contribution| that is worth a look; below it are hundreds of ordinary words."""


@dataclass(frozen=True)
class WordWeight:
    """How much a word of the texts, in lower case, or a vocabulary token carries."""

    word: str
    share: float
    """Of all |contribution|."""
    label: str | None
    """The class it speaks for: more than half of what it adds to the logits of the classes predicted is added to this
    one's. None: there is no such class."""


class WordMeter:
    """Sums contributions by the word of the text at which they arise, the pieces of a split word together."""

    def __init__(self, labels: Sequence[str], vocabulary: Vocabulary):
        self.labels, self.vocabulary = list(labels), vocabulary
        self._sizes: defaultdict[str, float] = defaultdict(float)
        self._toward: dict[str, np.ndarray] = {}  # (C,) each: what is added to the logits of the classes predicted

    def add(self, batch: Batch, attribution: SparseRows, classes: Tensor) -> None:
        """`attribution` to `classes` (R,), one a row, of the texts of `batch`."""
        groups = self.vocabulary.word_groups(batch.input_ids, batch.attention_mask)  # (B, L)
        begins = torch.ones_like(groups, dtype=torch.bool)
        begins[:, 1:] = (groups[:, 1:] != groups[:, :-1]) | (groups[:, 1:] < 0)
        number = begins.flatten().cumsum(0) - 1  # (B·L,): the word of each position, counted over the batch
        entry, position, value = attribution.by_position()
        value, word = value.double(), number[position]
        sizes = value.new_zeros(int(number[-1]) + 1).index_add(0, word, value.abs())  # (W,)
        toward = value.new_zeros(len(sizes), len(self.labels))  # (W, C)
        toward.view(-1).index_add_(0, word * len(self.labels) + classes[attribution.row[entry]], value)
        starts = [*begins.flatten().nonzero()[:, 0].tolist(), len(number)]
        ids, added = batch.input_ids.flatten().tolist(), toward.cpu().numpy()
        for place, size in enumerate(sizes.tolist()):
            if size > 0:
                pieces = ids[starts[place] : starts[place + 1]]
                name = "".join(self.vocabulary.names[piece] for piece in pieces).lower()
                self._sizes[name] += size
                self._toward[name] = self._toward.get(name, 0.0) + added[place]

    def result(self) -> list[WordWeight]:
        """The heaviest words, the heaviest first: those of at least the share `LIGHTEST`, and the first in any case."""
        total = sum(self._sizes.values())
        by_size = sorted(self._sizes, key=self._sizes.__getitem__, reverse=True)
        heavy = [word for place, word in enumerate(by_size) if not place or self._sizes[word] >= LIGHTEST * total]
        return [
            WordWeight(word, self._sizes[word] / total, spoken_for(self._toward[word], self.labels)) for word in heavy
        ]


def spoken_for(toward: np.ndarray, labels: Sequence[str]) -> str | None:
    """The label that more than half of what is added `toward` the classes (C,) is added to."""
    added = toward.clip(min=0)
    return labels[int(added.argmax())] if 2 * added.max() > added.sum() else None
