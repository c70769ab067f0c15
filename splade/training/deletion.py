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

    def __call__(self, model: LexicalModel, sequence: SparseSequence, state: CircuitState, labels: Tensor) -> Tensor:
        """(R,) the gap of each text in units of the label's logit; texts that were not drawn have the mean of those
        that were. `state`: a row a text, decided from `sequence`."""
        ids, mask = sequence.input_ids, sequence.attention_mask
        words = model.vocabulary.word_groups(ids, mask)  # (B, L)
        gone = self._draw(words)  # (B, L)
        rows = gone.any(1).nonzero()[:, 0]  # (K,)
        if not len(rows):
            return state.logits.new_zeros(len(labels))
        left = [line[kept] for line, kept in zip(ids[rows], (mask.bool() & ~gone)[rows], strict=True)]
        shorter = pad_sequence(left, batch_first=True)  # (K, L'); what is masked may hold any id
        attended = pad_sequence([torch.ones_like(line) for line in left], batch_first=True)
        without = model.classify(model(shorter, attended), attended)
        label = labels[rows][:, None]
        effect = (state.logits[rows].gather(1, label) - without.logits.gather(1, label))[:, 0]  # (K,)
        gap = F.smooth_l1_loss(effect, self._shares(state, labels, gone)[rows], reduction="none", beta=KNEE)
        return gap.mean().expand(len(labels))

    def _draw(self, words: Tensor) -> Tensor:
        """(B, L) bool: the positions of the words drawn, one to `most` of each text drawn; one stays in any case."""
        gone = torch.zeros_like(words, dtype=torch.bool)
        counts = words.amax(1) + 1  # (B,)
        texts = torch.randperm(len(words))[: max(1, round(self.share * len(words)))]
        for text in texts.tolist():
            count = int(counts[text])
            if count > 1:
                number = int(torch.randint(1, min(self.most, count - 1) + 1, ()))
                drawn = torch.randperm(count)[:number].to(words.device)
                gone[text] = torch.isin(words[text], drawn)
        return gone

    def _shares(self, state: CircuitState, labels: Tensor, gone: Tensor) -> Tensor:
        """(B,) what the words drawn add to the label's logit."""
        _, position, value = compute_attribution_tensor(state, labels).by_position()
        at_positions = value.new_zeros(gone.numel()).index_add(0, position, value)  # (B·L,)
        return (at_positions.view(gone.shape) * gone).sum(1)
