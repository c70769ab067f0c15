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

    deletion_steps: Share = 0.5
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
        """(R,) the gap in units of the label's logit, the mean over the texts drawn for every row; `sequence` holds the
        texts of the batch. In steps that are not drawn it is 0."""
        if self.steps < 1 and float(torch.rand(())) >= self.steps:
            return sequence.hidden.new_zeros(len(labels), dtype=torch.float32)
        ids, mask = sequence.input_ids, sequence.attention_mask
        words = model.vocabulary.word_groups(ids, mask)  # (B, L)
        gone = self._draw(words)  # (B, L)
        rows = gone.any(1).nonzero()[:, 0]  # (K,)
        if not len(rows):
            return sequence.hidden.new_zeros(len(labels), dtype=torch.float32)
        attended = mask.bool()
        kept = [*attended[rows], *(attended & ~gone)[rows]]
        lines = [line[keep] for line, keep in zip(ids[torch.cat([rows, rows])], kept, strict=True)]
        texts = pad_sequence(lines, batch_first=True)  # (2K, L'): whole, then shorter; what is masked may hold any id
        read = pad_sequence([torch.ones_like(line) for line in lines], batch_first=True)
        state = _without_dropout(model, texts, read)
        label = labels[rows]
        share = self._shares(state, label.repeat(2), texts.shape)[: len(rows), : gone.shape[1]]  # (K, L)
        logits = state.logits.gather(1, label.repeat(2)[:, None])[:, 0]  # (2K,)
        effect = logits[: len(rows)] - logits[len(rows) :]
        gap = F.smooth_l1_loss(effect, (share * gone[rows, : share.shape[1]]).sum(1), reduction="none", beta=KNEE)
        return gap.mean().expand(len(labels)) / self.steps

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

    def _shares(self, state: CircuitState, labels: Tensor, shape: torch.Size) -> Tensor:
        """(B, L) what arose at each position for the label's logit."""
        _, position, value = compute_attribution_tensor(state, labels).by_position()
        return value.new_zeros(shape.numel()).index_add(0, position, value).view(shape)


def _without_dropout(model: LexicalModel, ids: Tensor, mask: Tensor) -> CircuitState:
    """Texts (B, L) read and decided on as in use, but with gradients; in training mode the model stays otherwise."""
    training = model.training
    model.eval()
    try:
        return model.classify(model(ids, mask), mask)
    finally:
        model.train(training)
