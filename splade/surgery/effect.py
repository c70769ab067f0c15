"""The exact effect of a removal on a text: what it takes from every logit, in two parts that are the whole of it.

    logit'[c] − logit[c] = Σ_j (s'_j − s_j)·W_eff[c, j]                             the direct part
                         + Σ_j s'_j·(W'_eff − W_eff)[c, j] + b'_eff[c] − b_eff[c]   the part through the head's mask

The direct part is the contribution of what was removed, with the sign turned. The second part is there where the
removal opens or closes a unit of the head, so that what is left has other weights. Their sum is the difference of two
real forward passes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from splade.data.given import BATCH_SIZE
from splade.surgery.compared import Compared, compare
from splade.surgery.suppressed_model import SuppressedModel
from splade.tasks import TASKS
from splade.tasks.base import Task


@dataclass(frozen=True)
class TokenChange:
    """A token whose value the removal changed."""

    name: str
    column: int
    before: float
    """s_j."""
    after: float
    """s'_j: 0 where it was shut."""
    direct: dict[str, float]
    """By label: (s'_j − s_j)·W_eff[c, j]."""


@dataclass(frozen=True)
class TextEffect:
    """What a removal does to one prediction: of a text, or of a word of it."""

    example: int
    """Which of the texts it is."""
    number: int
    """Of a tagger, the number of the word in it; else 0."""
    text: str
    label_before: str
    label_after: str
    logits_before: dict[str, float]
    logits_after: dict[str, float]
    direct: dict[str, float]
    """By label."""
    through_mask: dict[str, float]
    """By label."""
    tokens: list[TokenChange]
    """The tokens whose values changed."""

    @property
    def change(self) -> dict[str, float]:
        """By label: the logit after less the logit before, of two real forward passes."""
        return {label: self.logits_after[label] - before for label, before in self.logits_before.items()}

    @property
    def flipped(self) -> bool:
        return self.label_before != self.label_after

    def check(self) -> float:
        """The largest error of the sum of the two parts."""
        return max(abs(self.direct[c] + self.through_mask[c] - change) for c, change in self.change.items())

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "example": self.example,
            "number": self.number,
            "text": self.text,
            "label": {"before": self.label_before, "after": self.label_after},
            "logits": {"before": self.logits_before, "after": self.logits_after},
            "direct": self.direct,
            "through_mask": self.through_mask,
            "tokens": [vars(token) for token in self.tokens],
        }


@torch.no_grad()
def effect_on_texts(
    suppressed: SuppressedModel, texts: Iterable[Any], batch_size: int = BATCH_SIZE
) -> list[TextEffect]:
    """The effect of what a `SuppressedModel` removes on each prediction, in the order of the texts."""
    kind = TASKS.get(suppressed.task)
    items = kind.given(texts).items
    task: Task = kind.from_texts(items, suppressed)
    labels, size = list(suppressed.labels), (len(task.labels), len(suppressed.labels))
    before, after, direct, mask = (torch.zeros(size) for _ in range(4))
    changed: dict[int, list[TokenChange]] = {}
    for one in compare(suppressed, task, batch_size):
        places = torch.from_numpy(one.batch.places)
        before[places], after[places] = one.before.logits.cpu(), one.after.logits.cpu()
        parts = _Parts(one, suppressed.vocabulary.names, labels)
        direct[places], mask[places] = parts.direct.cpu(), parts.mask.cpu()
        changed |= {int(place): parts.tokens[row] for row, place in enumerate(one.batch.places.tolist())}
    decided = [[labels[c] for c in task.decide_classes(logits).tolist()] for logits in (before, after)]
    example = task.example_of_row.tolist()
    first = {number: row for row, number in reversed(list(enumerate(example)))}

    def by_label(values: Tensor, row: int) -> dict[str, float]:
        return dict(zip(labels, values[row].tolist(), strict=True))

    return [
        TextEffect(
            example=number,
            number=row - first[number],
            text=items[number] if isinstance(items[number], str) else " ".join(items[number]),
            label_before=decided[0][row],
            label_after=decided[1][row],
            logits_before=by_label(before, row),
            logits_after=by_label(after, row),
            direct=by_label(direct, row),
            through_mask=by_label(mask, row),
            tokens=changed[row],
        )
        for row, number in enumerate(example)
    ]


class _Parts:
    """The two parts (R, C) of a batch, and the tokens that changed, a list a row."""

    def __init__(self, one: Compared, names: list[str], labels: list[str]):
        changes = one.changes()
        by_class = [one.direct(changes, number) for number in range(len(labels))]
        self.direct = torch.stack([each.sum_rows() for each in by_class], 1)
        self.mask = torch.stack([one.through_mask(number) for number in range(len(labels))], 1)
        self.tokens: list[list[TokenChange]] = [[] for _ in range(changes.num_rows)]
        felt = changes.value.nonzero()[:, 0]
        said = torch.stack([each.value for each in by_class], 1)[felt].tolist()  # (n, C)
        was = one.before.rows
        known = dict(zip(zip(was.row.tolist(), was.token.tolist(), strict=True), was.value.tolist(), strict=True))
        entries = (each[felt].tolist() for each in (changes.row, changes.token, changes.value))
        for row, token, change, contributions in zip(*entries, said, strict=True):
            value = known.get((row, token), 0.0)
            self.tokens[row].append(
                TokenChange(names[token], token, value, value + change, dict(zip(labels, contributions, strict=True)))
            )
