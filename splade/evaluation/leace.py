"""LEACE, the rigorous rival of removing words: groups erased from hidden states or from tokens (arXiv:2306.03819).

Fit it on **training** texts, with **identity** labels (which groups a text is about), never with the label of the task,
and measure on others: `splade.evaluation.leakage` says what probes still find. It makes linear probes useless and no
others: what a product of two columns tells is still there.

Hidden states are the means over a text's positions (`sparse_probing.mean_hidden`), for it is the text that is about a
group. As erasing is affine, the same eraser at every position (B, L, d) erases exactly the mean as well:

    rows = gathered(list(read_rows(model, training, few_texts(training, seed), batch_size)))
    about = {name: inside[rows.texts] for name, inside in groups.items()}
    on_hidden, on_tokens = fit_leace_eraser(rows.hidden, about), fit_leace_on_tokens(rows.code, about)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from torch import Tensor

from splade.errors import DataError
from splade.evaluation.concept_eraser import ConceptEraser, ConceptEraserFitter
from splade.evaluation.token_eraser import (
    FEWEST_ROWS,
    MOST_COLUMNS,
    Matrix,
    TokenEraser,
    active_columns,
    largest_correlations,
)

ROWS_AT_A_TIME = 4_096
"""Rows made dense together: with 2,048 columns they are 67 MB."""

Groups = Mapping[str, np.ndarray]
"""(N,) by name, whether a text is about a group; they may overlap."""


def fit_leace_eraser(features: np.ndarray | Tensor, groups: Groups) -> ConceptEraser:
    """Fit LEACE on the features (N, d) of training texts, such as their mean hidden states.

    After it every column's correlation with a group is below 1e-6 on these texts, or it is a `DataError`. Batches
    that do not fit into memory together go to `ConceptEraserFitter.update`.
    """
    if hasattr(features, "tocsr"):
        raise DataError("These features are a sparse matrix; give it to `fit_leace_on_tokens`, or give dense ones.")
    if features.ndim != 2:
        raise DataError(f"Features have the shape {tuple(features.shape)}; give a row a text, (texts, columns).")
    members = _members(groups, len(features))
    fitter = ConceptEraserFitter(features.shape[1], list(groups))
    for start in range(0, len(features), ROWS_AT_A_TIME):
        rows = slice(start, start + ROWS_AT_A_TIME)
        fitter.update(features[rows], members[rows])
    return fitter.result()


def fit_leace_on_tokens(
    code: Matrix, groups: Groups, *, fewest: int = FEWEST_ROWS, most: int = MOST_COLUMNS
) -> TokenEraser:
    """Fit LEACE on the sparse codes (N, V) of training texts, on the tokens that fire in `fewest` of them or more.

    It makes the code dense and signed, so that a prediction is no short sum of words any more.
    """
    if not hasattr(code, "tocsr"):
        raise DataError("Codes of tokens come as a sparse matrix; give dense features to `fit_leace_eraser`.")
    rows, members = code.tocsr(), _members(groups, code.shape[0])
    columns = active_columns(rows, fewest, most)
    fitter = ConceptEraserFitter(len(columns), list(groups))
    for start in range(0, rows.shape[0], ROWS_AT_A_TIME):
        part = slice(start, start + ROWS_AT_A_TIME)
        fitter.update(rows[part][:, columns].toarray(), members[part])
    eraser = fitter.result()
    others = np.setdiff1d(np.arange(rows.shape[1]), columns)
    outside = largest_correlations(rows[:, others], members).tolist()
    return TokenEraser(columns, rows.shape[1], eraser, dict(zip(groups, outside, strict=True)))


def _members(groups: Groups, texts: int) -> np.ndarray:
    """(N, G)."""
    for name, inside in groups.items():
        if np.shape(inside) != (texts,):
            raise DataError(
                f"The group '{name}' has values of shape {np.shape(inside)}, but there are {texts} texts; give one "
                "a text."
            )
    return np.stack([np.asarray(inside) for inside in groups.values()], axis=1) if groups else np.empty((texts, 0))
