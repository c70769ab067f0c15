"""Deletion as a loss: the share of some words must be what deleting them from the text does to the label's logit.

The sum is exact whatever its words; nothing else in a training asks that a word's share is what the model would miss
without it. Here some words of some texts are really deleted, the shorter texts are read, and

    loss = smoothL1(logit(text) − logit(text without the words), Σ shares of the words)

teaches both sides: shares to be true, and the backbone to let words speak for themselves rather than through others.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from splade.config.schema import TrainingConfig
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.encoder import SparseSequence
from splade.models.protocol import LexicalModel
from splade.models.state import CircuitState

KNEE = 0.5
"""Of a logit: gaps below it count by their square, larger ones, which interactions of words leave, by their size."""


class DeletionLoss:
    """Some words of some texts, deleted together; the random choices are those of PyTorch's generator."""

    def __init__(self, config: TrainingConfig):
        self.share, self.most = config.deletion_share, config.deletion_words
        self.silent = config.deletion_silent

    def __call__(self, model: LexicalModel, sequence: SparseSequence, state: CircuitState, labels: Tensor) -> Tensor:
        """(R,) the gap of each text in units of the label's logit; texts that were not drawn have the mean of those
        that were. `state`: a row a text, decided from `sequence`."""
        ids, mask = sequence.input_ids, sequence.attention_mask
        words = model.vocabulary.word_groups(ids, mask)  # (B, L)
        shares = self._shares(state, labels, words.shape)  # (B, L)
        gone = self._draw(words, shares.detach())  # (B, L)
        rows = gone.any(1).nonzero()[:, 0]  # (K,)
        if not len(rows):
            return state.logits.new_zeros(len(labels))
        left = [line[kept] for line, kept in zip(ids[rows], (mask.bool() & ~gone)[rows], strict=True)]
        shorter = pad_sequence(left, batch_first=True)  # (K, L'); what is masked may hold any id
        attended = pad_sequence([torch.ones_like(line) for line in left], batch_first=True)
        without = model.classify(model(shorter, attended), attended)
        label = labels[rows][:, None]
        effect = (state.logits[rows].gather(1, label) - without.logits.gather(1, label))[:, 0]  # (K,)
        gap = F.smooth_l1_loss(effect, (shares * gone).sum(1)[rows], reduction="none", beta=KNEE)
        return gap.mean().expand(len(labels))

    def _draw(self, words: Tensor, shares: Tensor) -> Tensor:
        """(B, L) bool: the positions of the words drawn, of each text drawn one to `most`, or some of its silent ones;
        a word stays in any case."""
        gone = torch.zeros_like(words, dtype=torch.bool)
        counts = words.amax(1) + 1  # (B,)
        texts = torch.randperm(len(words))[: max(1, round(self.share * len(words)))]
        for text in texts.tolist():
            count = int(counts[text])
            if count < 2:
                continue
            number = int(torch.randint(1, min(self.most, count - 1) + 1, ()))
            drawn = torch.randperm(count)[:number].to(words.device)
            if float(torch.rand(())) < self.silent:
                drawn = self._silent_words(words[text], shares[text], count)
            gone[text] = torch.isin(words[text], drawn)
        return gone

    def _silent_words(self, words: Tensor, shares: Tensor, count: int) -> Tensor:
        """Some of the words (L,) that have no share (L,) of the sum, each by the toss of a coin."""
        inside = words >= 0
        size = shares.new_zeros(count).index_add(0, words[inside], shares[inside].abs())  # (W,)
        chosen = (size == 0) & (torch.rand(count) < 0.5).to(size.device)
        chosen[0] &= not bool(chosen.all())
        return chosen.nonzero()[:, 0]

    def _shares(self, state: CircuitState, labels: Tensor, shape: torch.Size) -> Tensor:
        """(B, L) what arose at each position for the label's logit."""
        _, position, value = compute_attribution_tensor(state, labels).by_position()
        return value.new_zeros(shape.numel()).index_add(0, position, value).view(shape)
