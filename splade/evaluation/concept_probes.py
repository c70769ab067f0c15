"""The probes that look for a concept in features: a logistic regression, and a small network for what is not linear.

Both are fitted to rank: each value of the concept weighs the same, however rare it is. Features are dense (R, d) or a
sparse matrix of scipy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

UNITS = 64
"""Of the network's one hidden layer: enough for a product of two columns among hundreds."""

STEPS = 100
"""Of the network's optimiser, L-BFGS over all rows."""

PENALTY = 1.0
"""On the network's squared weights: that of the regression."""

DENSE_COLUMNS = 256
"""Of sparse features, the network reads as many columns that are there most often, and as many that the regression
weighs most: a layer on a whole vocabulary would take minutes a fold."""

NEGLIGIBLE = 1e-9
"""Spread of a column, in shares of its mean or of the widest column's spread, that is rounding: scaled up, the rounding
of an erased column could be read."""

Matrix = Any
"""(R, F) rows of features: a numpy array, or a sparse matrix of scipy, which is slow to load."""

Fitted = Callable[[Matrix], np.ndarray]
"""From rows (R, F) to scores (R,), higher where the concept is more likely."""

Probe = Callable[[Matrix, np.ndarray, int], Fitted]
"""From rows (R, F), whether each has the concept (R,), and a seed."""


def linear_probe(features: Matrix, positive: np.ndarray, seed: int) -> Fitted:
    """Logistic regression, on columns of comparable size."""
    scaled = _scaling(features)
    weight, bias = _regression(scaled(features), positive)
    return lambda rows: np.asarray(scaled(rows) @ weight).ravel() + bias


def mlp_probe(features: Matrix, positive: np.ndarray, seed: int) -> Fitted:
    """A network with one hidden layer, on standardised columns."""
    from sklearn.exceptions import ConvergenceWarning  # slow to load
    from sklearn.neural_network import MLPClassifier

    columns = _chosen_columns(features, positive) if hasattr(features, "tocsr") else None
    dense = _dense(features, columns)
    scaled = _scaling(dense)
    rows = _balanced(positive, seed)
    network = MLPClassifier((UNITS,), solver="lbfgs", alpha=PENALTY, max_iter=STEPS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so many steps are all it gets
        network.fit(scaled(dense)[rows], positive[rows])
    return lambda others: network.predict_proba(scaled(_dense(others, columns)))[:, 1]


def _regression(scaled: Matrix, positive: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights (F,) and bias."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(class_weight="balanced", max_iter=1000).fit(scaled, positive)
    return fitted.coef_[0], float(fitted.intercept_[0])


def _scaling(features: Matrix) -> Callable[[Matrix], Matrix]:
    """What brings columns to a comparable size: dense ones to mean 0 and spread 1, sparse ones, whose zeros stay, to
    values of size 1 where there are any (a token of one text in a thousand is then not the loudest)."""
    if hasattr(features, "tocsr"):
        from scipy.sparse import diags

        squares = np.asarray(features.multiply(features).sum(0)).ravel()
        size = np.sqrt(squares / np.maximum(features.getnnz(0), 1))  # (F,)
        scale = diags(_inverse(size, np.zeros_like(size)))
        return lambda rows: (rows @ scale).tocsr()
    mean, spread = features.mean(0), features.std(0)
    factor = _inverse(spread, np.abs(mean))
    return lambda rows: (rows - mean) * factor


def _inverse(size: np.ndarray, mean: np.ndarray) -> np.ndarray:
    smallest = NEGLIGIBLE * np.maximum(mean, size.max(initial=0.0))
    inverse: np.ndarray = np.divide(1.0, size, out=np.zeros_like(size, dtype=float), where=size > smallest)
    return inverse


def _chosen_columns(features: Matrix, positive: np.ndarray) -> np.ndarray:
    """(K,) the columns of sparse training rows that the network reads."""
    weight, _ = _regression(_scaling(features)(features), positive)
    frequent, weighty = (np.argsort(-each, kind="stable") for each in (features.getnnz(0), np.abs(weight)))
    return np.union1d(frequent[:DENSE_COLUMNS], weighty[:DENSE_COLUMNS])


def _dense(features: Matrix, columns: np.ndarray | None) -> np.ndarray:
    values: np.ndarray = features if columns is None else features[:, columns].toarray()
    return values


def _balanced(positive: np.ndarray, seed: int) -> np.ndarray:
    """Numbers of rows, those with the rarer value several times, so that both are there about as often: the network of
    scikit-learn takes no weights before its version 1.7."""
    both = [np.flatnonzero(positive), np.flatnonzero(~positive)]
    most = max(len(rows) for rows in both)
    rows = np.concatenate([np.repeat(rows, round(most / len(rows))) for rows in both])
    return np.random.default_rng(seed).permutation(rows)
