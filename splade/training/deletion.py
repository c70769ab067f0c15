"""Deletion as a loss: the share of some words must be what deleting them from the text does to the label's logit.

The sum is exact whatever its words; nothing else in a training asks that a word's share is what the model would miss
without it. Here some words of some texts are really deleted, the shorter texts are read, and

    loss = smoothL1(logit(text) − logit(text without the words), Σ shares of the words)

teaches both sides: shares to be true, and the backbone to let words speak for themselves rather than through others.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from pydantic.dataclasses import dataclass
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from splade.config.numbers import PositiveInt, Share
from splade.config.variants import SETTINGS
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.context import word_starts
from splade.models.encoder import SparseSequence
from splade.models.protocol import LexicalModel
from splade.models.state import CircuitState
from splade.registry import Registry

DELETIONS: Registry[type[WordDeletion]] = Registry("deletion loss")

KNEE = 0.5
"""Of a logit: gaps below it count by their square, larger ones, which interactions of words leave, by their size."""


@dataclass(config=SETTINGS, frozen=True)
class DeletionSettings:
    """How much is deleted."""

    deletion_steps: Share = 1.0
    """Share of the steps, drawn by chance, in which the deletion loss looks; it weighs as much more then."""
    deletion_share: Share = 0.25
    """Share of a batch's texts that are then read again, whole and without some of their words."""
    deletion_words: PositiveInt = 3
    """The most words that are deleted from one of them."""


@DELETIONS.register("words")
class WordDeletion:
    """Some words of some texts, deleted together; the random choices are those of PyTorch's generator.

    Both texts are read without dropout: the noise that it puts into two logits is larger than what most words do.
    """

    Settings = DeletionSettings

    def __init__(self, settings: DeletionSettings):
        self.steps, self.share, self.most = settings.deletion_steps, settings.deletion_share, settings.deletion_words

    def __call__(self, model: LexicalModel, sequence: SparseSequence, labels: Tensor) -> Tensor:
        """(R,) the gap in units of the label's logit, the mean over the rows compared for every row; in steps that are
        not drawn it is 0.

        `sequence` holds the texts of the batch. Where rows are words, those that are left are compared: as many of
        those that heard a word deleted as of others, to which it must not matter."""
        if self.steps < 1 and float(torch.rand(())) >= self.steps:
            return sequence.hidden.new_zeros(len(labels), dtype=torch.float32)
        gone = self._draw(_word_numbers(model, sequence))  # (B, L)
        texts = gone.any(1).nonzero()[:, 0]  # (K,)
        if not len(texts):
            return sequence.hidden.new_zeros(len(labels), dtype=torch.float32)
        twice = _Twice(model, sequence, gone, texts)
        label = labels[twice.row]
        attribution = compute_attribution_tensor(twice.state, label)
        entry, position, value = attribution.by_position()
        share = value.new_zeros(len(label)).index_add(0, attribution.row[entry], value * twice.missing[position])
        logits = twice.state.logits.gather(1, label[:, None])[:, 0]
        whole, shorter = twice.pairs()
        gap = F.smooth_l1_loss(logits[whole] - logits[shorter], share[whole], reduction="none", beta=KNEE)
        return gap.sum().div(max(1, len(gap)) * self.steps).expand(len(labels))

    def _draw(self, words: Tensor) -> Tensor:
        """(B, L) bool: the positions of the words drawn, of each text drawn one to `most`; a word stays in any case."""
        gone = torch.zeros_like(words, dtype=torch.bool)
        counts = words.amax(1) + 1  # (B,)
        texts = torch.randperm(len(words))[: max(1, round(self.share * len(words)))]
        for text in texts.tolist():
            count = int(counts[text])
            if count < 2:
                continue
            number = int(torch.randint(1, min(self.most, count - 1) + 1, ()))
            drawn = torch.randperm(count)[:number].to(words.device)
            gone[text] = torch.isin(words[text], drawn)
        return gone


class _Twice:
    """Some texts read again without dropout, whole and then without some words."""

    def __init__(self, model: LexicalModel, sequence: SparseSequence, gone: Tensor, texts: Tensor):
        """`gone` (B, L): what is deleted of `texts` (K,)."""
        line = torch.cat([texts, texts])
        kept = sequence.attention_mask[line] > 0  # (2K, L)
        kept[len(texts) :] &= ~gone[texts]
        ids, ones = _cut(sequence.input_ids[line], kept), _cut(torch.ones_like(kept, dtype=torch.long), kept)
        words = None if sequence.words is None else _cut(sequence.words[line], kept, -1)  # (2K, L')
        missing = torch.zeros(ids.shape, device=ids.device)
        missing[: len(texts)] = gone[texts, : ids.shape[1]].float()  # padding stands last, so places stay
        self.missing = missing.flatten()
        """(2K·L',) 1 where a word stands that is deleted in the shorter text."""
        self.row, self._whole, rows = line, len(texts), None
        """`row` (R',): the row of the batch that each row is again; the first, `_whole` many, are of whole texts."""
        if words is not None:
            begins = word_starts(words) & (words >= 0)
            self.row, self._whole = words[begins], int(begins[: len(texts)].sum())
            rows = torch.where(words >= 0, begins.flatten().cumsum(0).view_as(words) - 1, words)
        self.state = _without_dropout(model, ids, ones, rows)

    def pairs(self) -> tuple[Tensor, Tensor]:
        """The rows to compare: of whole texts, and the same of shorter ones (P,)."""
        shorter = torch.arange(self._whole, len(self.row), device=self.row.device)
        whole = torch.searchsorted(self.row[: self._whole], self.row[self._whole :])
        if self.state.read_from is None:
            return whole, shorter
        views = self.state.read_from.views
        heard = torch.isin(whole, views.row[self.missing[views.position] > 0])  # (P,)
        others = (~heard).nonzero()[:, 0]
        others = others[torch.randperm(len(others), device=others.device)[: int(heard.sum())]]
        chosen = torch.cat([heard.nonzero()[:, 0], others])
        return whole[chosen], shorter[chosen]


def _cut(source: Tensor, kept: Tensor, padding: int = 0) -> Tensor:
    """(B, L') what is `kept` (B, L) of each line."""
    lines = [line[keep] for line, keep in zip(source, kept, strict=True)]
    return pad_sequence(lines, batch_first=True, padding_value=padding)


def _word_numbers(model: LexicalModel, sequence: SparseSequence) -> Tensor:
    """(B, L) the words of each text, counted from 0; −1 for none."""
    if sequence.words is None:
        return model.vocabulary.word_groups(sequence.input_ids, sequence.attention_mask)
    return torch.where(sequence.words == -1, -1, word_starts(sequence.words).cumsum(1) - 1)


def _without_dropout(model: LexicalModel, ids: Tensor, mask: Tensor, words: Tensor | None) -> CircuitState:
    """Texts (B, L), or their `words` (B, L), read and decided on as in use, but with gradients; the model stays in
    training mode otherwise."""
    training = model.training
    model.eval()
    try:
        encoded = model(ids, mask)
        return model.classify(encoded, mask) if words is None else model.tag(encoded, words)
    finally:
        model.train(training)
