"""Deletion as a loss: the share of some words must be what deleting them from the text does to the label's logit.

The sum is exact whatever its words; nothing else in a training asks that a word's share is what the model would miss
without it. Here some words of some texts are really deleted, the shorter texts are read, and

    loss = smoothL1(logit(text) − logit(text without the words), Σ shares of the words)

teaches both sides: shares to be true, and the backbone to let words speak for themselves rather than through others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
from splade.registry import Registry

DELETIONS: Registry[type[WordDeletion]] = Registry("deletion loss")

KNEE = 0.2
"""Of a logit: gaps below it count by their square, larger ones, which interactions of words leave, by their size. What
most words do is small. Chosen together with dropout, weight and neighbours, not varied alone (docs/figures.md)."""


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
        attended = sequence.attention_mask[texts] > 0  # (K, L)
        # Where nothing is dropped, the batch's own states are those of the whole texts in use.
        known = None if model.backbone.training else sequence.hidden[texts]
        whole = _Reading(model, sequence, texts, attended, known)
        shorter = _Reading(model, sequence, texts, attended & ~gone[texts])
        missing = gone[texts, : whole.length].flatten()  # (K·L',): padding stands last, so places stay
        attribution = compute_attribution_tensor(whole.state, labels[whole.row])
        entry, position, value = attribution.by_position()
        share = value.new_zeros(len(whole.row)).index_add(0, attribution.row[entry], value * missing[position])
        row, again = _pairs(whole, shorter, missing)
        effect = whole.logits(labels)[row] - shorter.logits(labels)[again]
        gap = F.smooth_l1_loss(effect, share[row], reduction="none", beta=KNEE)
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


class _Reading:
    """Some texts of a batch, or what is kept of them, decided on as in use, but with gradients."""

    def __init__(
        self,
        model: LexicalModel,
        sequence: SparseSequence,
        texts: Tensor,
        kept: Tensor,
        hidden: Tensor | None = None,
    ):
        """`kept` (K, L): the positions of `texts` (K,) that are read. `hidden` (K, L, d): their states, where known."""
        ids, mask = _cut(sequence.input_ids[texts], kept), _cut(torch.ones_like(kept, dtype=torch.long), kept)
        words = None if sequence.words is None else _cut(sequence.words[texts], kept, -1)  # (K, L')
        self.length, self.row, rows = ids.shape[1], texts, None
        """`row` (R',): the row of the batch that each row is again."""
        if words is not None:
            begins = word_starts(words) & (words >= 0)
            self.row = words[begins]
            rows = torch.where(words >= 0, begins.flatten().cumsum(0).view_as(words) - 1, words)
        with _without_dropout(model):
            if hidden is None:
                encoded = model(ids, mask)
            else:
                encoded = SparseSequence(hidden[:, : self.length], ids, mask, sequence.encoder)
            self.state = model.classify(encoded, mask) if rows is None else model.tag(encoded, rows)

    def logits(self, labels: Tensor) -> Tensor:
        """(R',) of each row's label."""
        return self.state.logits.gather(1, labels[self.row][:, None])[:, 0]


def _pairs(whole: _Reading, shorter: _Reading, missing: Tensor) -> tuple[Tensor, Tensor]:
    """The rows to compare (P,): of the whole texts, and the same of the shorter ones."""
    again = torch.arange(len(shorter.row), device=shorter.row.device)
    row = torch.searchsorted(whole.row, shorter.row)
    if whole.state.read_from is None:
        return row, again
    views = whole.state.read_from.views
    heard = torch.isin(row, views.row[missing[views.position]])  # (P,)
    others = (~heard).nonzero()[:, 0]
    others = others[torch.randperm(len(others), device=others.device)[: int(heard.sum())]]
    chosen = torch.cat([heard.nonzero()[:, 0], others])
    return row[chosen], again[chosen]


@contextmanager
def _without_dropout(model: LexicalModel) -> Iterator[None]:
    """A context in which a model computes as in use; it then is in the mode that it was in before."""
    training, dropping = model.training, model.backbone.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
        model.backbone.train(dropping)


def _cut(source: Tensor, kept: Tensor, padding: int = 0) -> Tensor:
    """(B, L') what is `kept` (B, L) of each line."""
    lines = [line[keep] for line, keep in zip(source, kept, strict=True)]
    return pad_sequence(lines, batch_first=True, padding_value=padding)


def _word_numbers(model: LexicalModel, sequence: SparseSequence) -> Tensor:
    """(B, L) the words of each text, counted from 0; −1 for none."""
    if sequence.words is None:
        return model.vocabulary.word_groups(sequence.input_ids, sequence.attention_mask)
    return torch.where(sequence.words == -1, -1, word_starts(sequence.words).cumsum(1) - 1)
