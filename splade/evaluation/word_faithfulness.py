"""Faithfulness at the words of a text: what the predicted class loses without the words that an explanation names
first, and with these words alone. The measures of DeYoung et al. 2020 (arXiv:1911.03429), by deleting words from the
text and by hiding them behind the mask token; the whole model reads again.

    comprehensiveness = p(text) − p(text without the first k)        high if they were needed
    sufficiency       = p(text) − p(the first k alone)               low if they are enough

each the mean over k = max(1, ceil(share·W)) for the shares 1, 5, 10, 20 and 50 % of the W words, equal k once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from splade.circuits.core import circuit_size
from splade.evaluation.removal import SHARES, of_classes
from splade.explainers import Subject, WordText

CHANGES = ("comprehensiveness", "sufficiency", "masked_comprehensiveness", "masked_sufficiency")
"""What is measured of a text, in this order."""

TEXTS_AT_A_TIME = 16
"""Texts whose changed versions are read together: enough to fill batches of similar length."""


def word_sizes(words: int) -> list[int]:
    """The numbers of words that the shares of a text's come to, each once."""
    return sorted({int(circuit_size(torch.tensor([words]), share)) for share in SHARES} - {0})


def ranked(scores: np.ndarray, seed: int) -> np.ndarray:
    """(W,) words from the highest score to the lowest.

    Equal ones come in random order, the same for every explanation: in the order of the text, one that says nothing
    would still name the first words first.
    """
    by_chance = np.random.default_rng((seed, len(scores))).permutation(len(scores))
    return np.lexsort((by_chance, -scores))


def changed_texts(text: WordText, order: np.ndarray, mask: str | None) -> list[list[str]]:
    """A list a kind of change, a text a number of words: without the first k of an order, with them alone, and the same
    by hiding; without a mask token, the first two kinds."""
    words = [frozenset(order[:size].tolist()) for size in word_sizes(len(text))]
    others = [frozenset(order[size:].tolist()) for size in word_sizes(len(text))]
    changed = [[text.without(first) for first in words], [text.without(rest) for rest in others]]
    if mask is not None:
        changed += [[text.hiding(first, mask) for first in words], [text.hiding(rest, mask) for rest in others]]
    return changed


def word_changes(
    subject: Subject,
    texts: Sequence[WordText],
    classes: Sequence[int],
    scores: Sequence[np.ndarray],
    seed: int,
    advance: Callable[[int], None] = lambda texts: None,
) -> np.ndarray:
    """(N, 4) the CHANGES of each text when its words are taken in the order of their scores (W,); a text without words
    has none: NaN."""
    found = np.full((len(texts), len(CHANGES)), np.nan)
    for start in range(0, len(texts), TEXTS_AT_A_TIME):
        rows = range(start, min(start + TEXTS_AT_A_TIME, len(texts)))
        mask = subject.tokenizer.mask_token
        changed = {row: changed_texts(texts[row], ranked(scores[row], seed), mask) for row in rows if len(texts[row])}
        flat = [(row, one) for row, kinds in changed.items() for kind in kinds for one in kind]
        flat += [(row, texts[row].text) for row in changed]
        logits = subject.logits([one for _, one in flat])
        probability = of_classes(logits, torch.tensor([classes[row] for row, _ in flat], dtype=torch.long)).numpy()
        full = dict(zip(changed, probability[len(flat) - len(changed) :], strict=True))
        place = 0
        for row, kinds in changed.items():
            for column, kind in enumerate(kinds):
                found[row, column] = full[row] - probability[place : place + len(kind)].mean()
                place += len(kind)
        advance(len(rows))
    return found
