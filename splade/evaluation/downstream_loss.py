"""Downstream loss: how well the sparse code stands in for the hidden state that it was made from.

After Gao et al. 2024, arXiv:2406.04093. What follows the hidden state here is the masked language model's own scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from splade.evaluation.bootstrap import intervals
from splade.evaluation.estimate import Estimate
from splade.models.encoder import SparseSequence
from splade.models.protocol import LexicalModel
from splade.tasks import Task
from splade.training.mlm import mask_tokens

POSITIONS_AT_A_TIME = 256
"""Whose scores of the whole vocabulary are held at once: 31 MB."""


@dataclass(frozen=True)
class DownstreamLoss:
    """Mean cross-entropy, in nats, of the tokens that a masked language model is to guess."""

    hidden: Estimate
    """From the hidden state h, by the model's own scores h·Eᵀ + b."""
    code: Estimate
    """From the code's vocabulary vector α·Σ_j s[j]·E[j] in the place of h."""
    nothing: Estimate
    """From a vector of zeros in its place: what the bias b alone knows."""
    recovered: Estimate | None
    """(nothing − code) / (nothing − hidden); None where the hidden state knows no more than the bias."""
    spoken: float
    """Share of the positions at which any token is active; elsewhere the code is a vector of zeros."""
    scale: float
    """α: one number for all positions, by least squares to h on training texts."""
    positions: int


@torch.no_grad()
def compute_downstream_loss(
    model: LexicalModel,
    task: Task,
    texts: np.ndarray,
    training: Task,
    training_texts: np.ndarray,
    *,
    batch_size: int,
    seed: int,
) -> DownstreamLoss | None:
    """The masked-LM loss of some texts with the hidden state and with the sparse code in its place.

    `training_texts` of the task `training` fit the code's scale. None where no masked-LM loss means anything: of a
    backbone without a trained head for it, of a tokenizer without a mask, of texts without a token to guess.
    """
    if model.backbone.head != "trained" or model.tokenizer.mask_token_id is None:
        return None
    scale = _fitted_scale(model, training, training_texts, batch_size, seed)
    losses, owners, spoken = [], [], 0
    for guessed in _guessed(model, task, texts, batch_size, seed):
        vectors = (guessed.hidden, scale * guessed.code, torch.zeros_like(guessed.code))
        losses.append(torch.stack([_cross_entropy(model, each, guessed.answers) for each in vectors], 1).cpu().numpy())
        owners.append(guessed.texts)
        spoken += int(guessed.code.any(1).sum())
    positions = sum(map(len, owners))
    if not positions:
        return None
    return _result(np.concatenate(losses), np.concatenate(owners), spoken / positions, scale, seed)


def _result(losses: np.ndarray, texts: np.ndarray, spoken: float, scale: float, seed: int) -> DownstreamLoss:
    """Of losses (P, 3) with the hidden state, with the code and with nothing, at positions of `texts` (P,)."""

    def figures(sums: np.ndarray) -> np.ndarray:
        hidden, code, nothing = (sums[:, 1:] / sums[:, :1]).T
        return np.stack([hidden, code, nothing, (nothing - code) / (nothing - hidden)], 1)

    means, within = intervals(np.column_stack([np.ones(len(losses)), losses]), texts, figures, seed)
    found = [Estimate(float(mean), ends.low, ends.high) for mean, ends in zip(means, within, strict=True)]
    recovered = found[3] if found[2].mean > found[0].mean else None
    return DownstreamLoss(found[0], found[1], found[2], recovered, spoken, scale, len(losses))


@dataclass(frozen=True)
class _Guessed:
    """Positions whose token is to be guessed."""

    hidden: Tensor
    """(P, d)."""
    code: Tensor
    """(P, d) Σ_j s[j]·E[j]."""
    answers: Tensor
    """(P,) the tokens."""
    texts: np.ndarray
    """(P,) which text of the task each is in."""


def _guessed(model: LexicalModel, task: Task, texts: np.ndarray, batch_size: int, seed: int) -> Iterator[_Guessed]:
    """About a seventh of the positions of some texts, hidden as in the training of masked language models."""
    generator = torch.Generator().manual_seed(seed)
    for batch in task.in_order(batch_size, torch.device("cpu"), texts):
        shown, chosen = mask_tokens(batch.input_ids, batch.attention_mask, model.tokenizer, generator)
        sequence = model(shown.to(model.device), batch.attention_mask.to(model.device))
        place = chosen.flatten().nonzero(as_tuple=True)[0]  # (P,)
        hidden = sequence.hidden.reshape(-1, sequence.hidden.shape[-1])[place.to(model.device)].float()
        code = vocabulary_vectors(sequence, place.to(model.device))
        answers = batch.input_ids.flatten()[place].to(model.device)
        yield _Guessed(hidden, code, answers, batch.rows[(place // chosen.shape[1]).numpy()])


def vocabulary_vectors(sequence: SparseSequence, place: Tensor) -> Tensor:
    """(P, d) Σ_j s[j]·E[j] over the tokens active at some positions (P,), flat indices in ascending order."""
    encoder = sequence.encoder
    position, column, value = sequence.active_pairs()
    _, first = np.unique((position * encoder.vocab_size + column).cpu().numpy(), return_index=True)
    once = torch.from_numpy(first).to(place.device)  # a pair that two supports propose counts once
    position, column, value = position[once], column[once], value[once]
    number = torch.full((sequence.input_ids.numel(),), -1, device=place.device)
    number[place] = torch.arange(len(place), device=place.device)
    wanted = number[position] >= 0
    vectors = encoder.weight.index_select(0, encoder.base[column[wanted]]).float() * value[wanted, None]
    return vectors.new_zeros(len(place), vectors.shape[1]).index_add(0, number[position[wanted]], vectors)


def _fitted_scale(model: LexicalModel, task: Task, texts: np.ndarray, batch_size: int, seed: int) -> float:
    """α with the least Σ‖h − α·v‖² over positions of the texts, v being the code's vocabulary vector."""
    along, length = 0.0, 0.0
    for guessed in _guessed(model, task, texts, batch_size, seed):
        along += float((guessed.hidden * guessed.code).sum())
        length += float((guessed.code**2).sum())
    return along / length if length else 0.0


def _cross_entropy(model: LexicalModel, vectors: Tensor, answers: Tensor) -> Tensor:
    """(P,) of the tokens `answers` (P,) by the scores v·Eᵀ + b of vectors (P, d)."""
    weight, bias = (each[: model.backbone.vocab_size] for each in (model.encoder.weight, model.encoder.bias))
    out = []
    for part, right in zip(vectors.split(POSITIONS_AT_A_TIME), answers.split(POSITIONS_AT_A_TIME), strict=True):
        out.append(F.cross_entropy(part @ weight.T.float() + bias, right, reduction="none"))
    return torch.cat(out) if out else vectors.new_zeros(0)
