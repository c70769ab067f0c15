"""What is measured of a classifier, and the identity behind it, under the names of the user's documents."""

from __future__ import annotations

from splade.evaluation.identity import dla_errors
from splade.evaluation.run import Evaluation, all_logits, evaluate
from splade.mechanistic.attribution import compute_active_slice_weff

__all__ = ["Evaluation", "all_logits", "compute_active_slice_weff", "dla_errors", "evaluate"]
