"""Positive labels: which classes of a model mean the thing that is looked for (hateful, toxic, …), and how sure it is
of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from splade.errors import ConfigError, listed, nearest
from splade.evaluation.hatecheck import hateful_classes


def positive_classes(labels: Sequence[str], named: Sequence[str] | None = None) -> np.ndarray:
    """(C,) bool: the classes with the names given or, where none are, those whose names are known to mean harm."""
    if named is None:
        found = hateful_classes(labels)
        if found is None:
            raise ConfigError(
                f"Which of the labels {listed(labels)} count as positive (hateful, toxic, …) does not follow from "
                "their names; name them with evaluation.bias_positive."
            )
        return np.array(found)
    for name in named:
        if name not in labels:
            raise ConfigError(
                f"evaluation.bias_positive names '{name}', which is none of the labels {listed(labels)}; name some of "
                f"these.{nearest(name, labels)}"
            )
    chosen = np.array([label in named for label in labels])
    if chosen.all() or not chosen.any():
        raise ConfigError(
            f"evaluation.bias_positive names {'all' if chosen.any() else 'none'} of the labels {listed(labels)}; name "
            "some of them, but not all."
        )
    return chosen


def log_odds(logits: Tensor, positive: np.ndarray) -> np.ndarray:
    """(N,) the log-odds of the positive classes (C,) together against the others, of logits (N, C)."""
    inside = logits.double()
    chosen = [inside[:, np.flatnonzero(side).tolist()].logsumexp(-1) for side in (positive, ~positive)]
    odds: np.ndarray = (chosen[0] - chosen[1]).cpu().numpy()
    return odds
