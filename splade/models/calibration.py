"""Where thresholds start: at a quantile of the scores that the untrained model gives to the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from splade.models.lexical_sae import LexicalSAE

# Rows a threshold start is read from; a few hundred fix a quantile of pooled scores to about a percent.
CALIBRATION_ROWS = 256

# How many times denser than the target a model starts: enough for the warm-up to learn which tokens matter before the
# circuit phase has to choose among them.
INITIAL_DENSITY = 8.0

# The largest share of proposed tokens that start active: nearly all of a neighbourhood, because a token that is shut
# gets no gradient, and most scores sink in the first hundred steps anyway.
LARGEST_START = 0.99

# Lowest start of θ in units of the gate: below it the surrogate gradient of θ, which is proportional to θ, vanishes.
SMALLEST_START = 0.02

# A backbone that scores everything near zero must not make the gate's unit vanish.
SMALLEST_SCALE = 1e-3


@torch.no_grad()
def calibrate(model: LexicalSAE, batches: Sequence[tuple[Tensor, ...]], active_target: float) -> None:
    """Start the thresholds at a quantile of the data: INITIAL_DENSITY × `active_target` active tokens a row.

    `batches`: ids and mask (B, L), and in tagging the words (B, L) that `tag_words` takes. Where a support proposes
    fewer, nearly all that it proposes start active. The score that a quarter of the target's tokens exceed becomes
    the gate's unit, and the mean number of positions a row the pooling's.
    """
    was_training = model.training
    model.eval()
    scores, rows, positions = [], 0, 0
    for batch in batches:
        ids, mask, *words = (tensor.to(model.device) for tensor in batch)
        sequence = model(ids, mask)
        if words:
            sequence = model.by_word(sequence, words[0])
        scores.append(model.encoder.pooled_scores(sequence))
        rows, positions = rows + sequence.num_rows, positions + int((sequence.row_of_position >= 0).sum())
    model.encoder.pooling.calibrate(positions / rows)
    every = torch.cat(scores).cpu().numpy()
    if len(every):
        share = min(LARGEST_START, INITIAL_DENSITY * active_target * rows / len(every))
        strong = float(np.quantile(every, 1 - min(0.5, active_target / 4 * rows / len(every))))
        scale = max(strong, SMALLEST_SCALE)
        theta = max(float(np.quantile(every, 1 - share)), SMALLEST_START * scale)
        model.encoder.gate.calibrate(theta, scale)
    model.train(was_training)
