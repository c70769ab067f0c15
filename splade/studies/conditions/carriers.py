"""The words that carry a gap: whose say it was where harmless texts were called harmful.

A wrongly flagged text is divided among the words that spoke for flagging it, by what each added to the margin:

    share(w, t) = max(c_w(t), 0) / Σ_v max(c_v(t), 0)
    carried(w, g) = mean of share(w, t) over the negative texts t of the group g − the same over all negative texts

with a share of 0 where a text is not flagged. Over all words it adds up to the gap of the group's false positives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE
from splade.surgery.codes import TEXTS_AT_A_TIME, CodeReader, Codes


@dataclass(frozen=True)
class Said:
    """What each activation of pooled codes adds to the margin of the positive classes over the others."""

    codes: Codes
    """Pooled."""
    value: np.ndarray
    """(N,)."""

    def by_word(self, row: int) -> dict[str, float]:
        """What each word of one text adds, the loudest first."""
        chosen = slice(*np.searchsorted(self.codes.row, (row, row + 1)))
        sums: dict[str, float] = defaultdict(float)
        for word, value in zip(self.codes.word[chosen].tolist(), self.value[chosen].tolist(), strict=True):
            sums[self.codes.words[word]] += value
        return dict(sorted(sums.items(), key=lambda each: -abs(each[1])))


@torch.no_grad()
def said(model: LexicalSAE, codes: Codes, positive: np.ndarray) -> Said:
    """Every contribution, of the head as it is now."""
    reader, found = CodeReader(model, codes), [np.zeros(0, dtype=np.float32)]
    for start in range(0, len(codes), TEXTS_AT_A_TIME):
        state = model.decide(reader.rows(np.arange(start, min(start + TEXTS_AT_A_TIME, len(codes)))))
        sides = []
        for side in (positive, ~positive):
            of_classes = [
                compute_attribution_tensor(state, torch.full((len(state.logits),), number, device=model.device)).value
                for number in np.flatnonzero(side).tolist()
            ]
            sides.append(torch.stack(of_classes).mean(0))
        found.append((sides[0] - sides[1]).cpu().numpy())
    return Said(reader.codes, np.concatenate(found))


def carried(
    of: Said, flagged: np.ndarray, positive: np.ndarray, members: Mapping[str, np.ndarray], group: str
) -> dict[str, float]:
    """Each word's part of a group's gap, the largest first."""
    negative = ~positive
    wrong = flagged & negative
    up = np.maximum(of.value, 0)
    total = np.bincount(of.codes.row, up, len(of.codes))  # (T,)
    share = np.divide(up, total[of.codes.row], out=np.zeros_like(up), where=total[of.codes.row] > 0)

    def mean(inside: np.ndarray) -> np.ndarray:
        rows = (wrong & inside)[of.codes.row]
        sums = np.bincount(of.codes.word[rows], share[rows], len(of.codes.words))
        return sums / max(int((negative & inside).sum()), 1)

    parts = mean(members[group]) - mean(np.ones_like(negative))  # (W,)
    order = np.argsort(-parts, kind="stable")
    return {of.codes.words[place]: float(parts[place]) for place in order.tolist() if parts[place]}
