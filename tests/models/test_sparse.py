"""Sparse rows against the dense matrix they stand for."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from splade.models.sparse import highest_first
from tests.builders import sparse_rows

VALUES = st.floats(-4, 4, width=16)
ROWS = st.lists(st.dictionaries(st.integers(0, 9), VALUES, max_size=6), min_size=1, max_size=5)


@settings(deadline=None)
@given(ROWS)
def test_to_dense_puts_every_value_in_its_place(rows: list[dict[int, float]]) -> None:
    dense = sparse_rows(*rows).to_dense()
    assert dense.shape == (len(rows), 10)
    assert dense.tolist() == [[row.get(token, 0.0) for token in range(10)] for row in rows]


@settings(deadline=None)
@given(ROWS)
def test_counts_offsets_and_sums(rows: list[dict[int, float]]) -> None:
    sparse = sparse_rows(*rows)
    assert sparse.counts.tolist() == [len(row) for row in rows]
    assert sparse.offsets.tolist() == [sum(map(len, rows[:number])) for number in range(len(rows))]
    torch.testing.assert_close(sparse.sum_rows(), sparse.to_dense().sum(1))
    torch.testing.assert_close(sparse.sum_rows(sparse.value**2), (sparse.to_dense() ** 2).sum(1))


@settings(deadline=None)
@given(ROWS)
def test_rank_in_row_follows_the_score_and_then_the_vocabulary(rows: list[dict[int, float]]) -> None:
    sparse = sparse_rows(*rows)
    expected = []
    for row in rows:
        order = sorted(row, key=lambda token: (-row[token], token))
        expected += [order.index(token) for token in sorted(row)]
    assert sparse.rank_in_row(sparse.value).tolist() == expected


@settings(deadline=None)
@given(ROWS)
def test_select_keeps_rows_that_lose_all_entries(rows: list[dict[int, float]]) -> None:
    sparse = sparse_rows(*rows)
    positive = sparse.select(sparse.value > 0)
    assert positive.num_rows == len(rows)
    torch.testing.assert_close(positive.to_dense(), sparse.to_dense().clamp(min=0))
    assert positive.position.tolist() == [n for n, value in enumerate(sparse.value.tolist()) if value > 0]


def test_to_dense_passes_the_gradient_to_the_values() -> None:
    sparse = sparse_rows({1: 2.0, 4: 3.0}, {4: 5.0})
    value = sparse.value.clone().requires_grad_()
    weight = torch.arange(20.0).view(2, 10)
    (sparse.with_value(value).to_dense() * weight).sum().backward()
    assert value.grad.tolist() == [1.0, 4.0, 14.0]


@settings(deadline=None)
@given(ROWS)
def test_normalised_rows_have_length_1_or_stay_zero(rows: list[dict[int, float]]) -> None:
    sparse = sparse_rows(*rows)
    dense, unit = sparse.to_dense(), sparse.normalised().to_dense()
    length = dense.norm(dim=1, keepdim=True)
    torch.testing.assert_close(unit, torch.where(length > 1e-6, dense / length.clamp(min=1e-6), dense * 1e6))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0, -1.0]), max_size=30))
def test_highest_first_is_a_stable_descending_argsort(scores: list[float]) -> None:
    score = torch.tensor(scores, dtype=torch.float32)
    assert highest_first(score).tolist() == torch.argsort(score, descending=True, stable=True).tolist()
