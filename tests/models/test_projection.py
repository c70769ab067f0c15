"""Scores of chosen pairs and the scan that chooses them, against plain gathers and loops."""

from __future__ import annotations

from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from splade.models import projection
from splade.models.projection import best_position, pair_dot, scan_columns

SEED = st.integers(0, 10_000)


def plain_pair_dot(rows: Tensor, table: Tensor, row: Tensor, entry: Tensor) -> Tensor:
    return (rows[row] * table[entry]).sum(1)


def random_pairs(seed: int, pairs: int, width: int = 4) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """rows (5, d), table (7, d), row and entry (N,) with repetitions, and what the output is weighed by (N,)."""
    generator = torch.Generator().manual_seed(seed)
    rows, table = torch.randn(5, width, generator=generator), torch.randn(7, width, generator=generator)
    row = torch.randint(0, 5, (pairs,), generator=generator)
    entry = torch.randint(0, 7, (pairs,), generator=generator)
    return rows, table, row, entry, torch.randn(pairs, generator=generator)


class TestPairDot:
    @settings(max_examples=40, deadline=None)
    @given(SEED, st.integers(0, 30), st.integers(1, 6))
    def test_is_gather_and_sum_in_value_and_gradient(self, seed: int, pairs: int, width: int) -> None:
        rows, table, row, entry, weight = random_pairs(seed, pairs, width)
        ours = [rows.clone().requires_grad_(), table.clone().requires_grad_()]
        plain = [rows.double().requires_grad_(), table.double().requires_grad_()]
        value = pair_dot(*ours, row, entry)
        expected = plain_pair_dot(*plain, row, entry)
        (value * weight).sum().backward()
        (expected * weight.double()).sum().backward()
        assert value.dtype == torch.float32
        torch.testing.assert_close(value.double(), expected, rtol=1e-5, atol=1e-5)
        for mine, reference in zip(ours, plain, strict=True):
            torch.testing.assert_close(mine.grad.double(), reference.grad, rtol=1e-5, atol=1e-5)

    def test_no_pairs_give_no_values_and_zero_gradients(self) -> None:
        rows, table, row, entry, _ = random_pairs(0, 0)
        rows.requires_grad_(), table.requires_grad_()
        value = pair_dot(rows, table, row, entry)
        value.sum().backward()
        assert value.shape == (0,)
        assert not rows.grad.any() and not table.grad.any()

    @pytest.mark.parametrize("table_dtype", [torch.float32, torch.bfloat16])
    def test_bfloat16_rows_are_summed_in_float32(self, table_dtype: torch.dtype) -> None:
        rows, table, row, entry, weight = random_pairs(1, 20, width=64)
        table = table.to(table_dtype)
        short = rows.bfloat16().requires_grad_()
        value = pair_dot(short, table, row, entry)
        expected = plain_pair_dot(short.detach().double(), table.double(), row, entry)
        assert value.dtype == torch.float32
        torch.testing.assert_close(value.double(), expected, rtol=1e-5, atol=1e-5)  # bfloat16 sums err by 1e-1

        (value * weight).sum().backward()
        plain = short.detach().double().requires_grad_()
        (plain_pair_dot(plain, table.double(), row, entry) * weight.double()).sum().backward()
        assert short.grad.dtype == torch.bfloat16
        torch.testing.assert_close(short.grad.double(), plain.grad, rtol=2**-8, atol=1e-5)  # rounded once, at the end

    @settings(max_examples=20, deadline=None)
    @given(SEED, st.integers(0, 30), st.sampled_from([1, 4, 16_384]), st.sampled_from([torch.float32, torch.half]))
    def test_gathering_gives_the_same(self, seed: int, pairs: int, chunk: int, dtype: torch.dtype) -> None:
        rows, table, row, entry, _ = random_pairs(seed, pairs)  # what other devices do
        rows, table = rows.bfloat16(), table.to(dtype)
        with patch.object(projection, "PAIR_CHUNK", chunk):
            value = projection._dots(rows, table, row, entry)
        torch.testing.assert_close(value, plain_pair_dot(rows.float(), table.float(), row, entry))
        torch.testing.assert_close(value, pair_dot(rows, table, row, entry))

    def test_a_frozen_side_gets_no_gradient(self) -> None:
        rows, table, row, entry, _ = random_pairs(2, 10)
        rows.requires_grad_()
        pair_dot(rows, table, row, entry).sum().backward()
        assert table.grad is None
        torch.testing.assert_close(rows.grad, torch.zeros(5, 4).index_add(0, row, table[entry]))

    def test_saves_no_gathered_vectors(self) -> None:
        rows, table, row, entry, _ = random_pairs(3, 1000, width=8)
        saved: list[int] = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t.numel()) or t, lambda t: t):
            pair_dot(rows.requires_grad_(), table, row, entry)
        assert sorted(saved) == sorted([5 * 8, 7 * 8, 1000, 1000])


class TestScanColumns:
    @settings(max_examples=40, deadline=None)
    @given(SEED, st.integers(1, 4), st.integers(1, 6), st.integers(1, 23), st.sampled_from([1, 5, 512]))
    def test_finds_exactly_what_a_loop_finds(self, seed: int, batch: int, length: int, columns: int, tile: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        hidden = torch.randn(batch, length, 3, generator=generator)
        table = torch.randn(columns, 3, generator=generator)
        live = torch.rand(batch, length, generator=generator) < 0.6  # some texts have none
        floor = torch.randn(columns, generator=generator)
        with patch.object(projection, "TILE_COLUMNS", tile):
            position, column, _ = scan_columns(hidden, live, table, floor)

        expected = set()
        for b in range(batch):
            for c in range(columns):
                scores = {b * length + at: float(hidden[b, at] @ table[c]) for at in range(length) if live[b, at]}
                if scores and max(scores.values()) > floor[c]:
                    expected.add((max(scores, key=scores.__getitem__), c))
        assert set(zip(position.tolist(), column.tolist(), strict=True)) == expected
        assert len(position) == len(expected)

    @settings(max_examples=40, deadline=None)
    @given(SEED, st.integers(1, 9), st.integers(1, 23), st.sampled_from([1, 5, 512]), st.sampled_from([1, 4, 64]))
    def test_everywhere_finds_every_live_position(
        self, seed: int, length: int, columns: int, tile: int, step: int
    ) -> None:
        generator = torch.Generator().manual_seed(seed)
        hidden = torch.randn(2, length, 3, generator=generator)
        table = torch.randn(columns, 3, generator=generator)
        live = torch.rand(2, length, generator=generator) < 0.6  # at times none
        floor = torch.randn(columns, generator=generator)
        with patch.object(projection, "TILE_COLUMNS", tile), patch.object(projection, "POSITION_STEP", step):
            position, column, score = scan_columns(hidden, live, table, floor, everywhere=True)
        product = hidden.view(-1, 3) @ table.T  # (2·L, U)
        expected = ((product > floor) & live.view(-1, 1)).nonzero().tolist()
        assert sorted(zip(position.tolist(), column.tolist(), strict=True)) == [tuple(pair) for pair in expected]
        torch.testing.assert_close(score, product[position, column])

    def test_everywhere_multiplies_few_different_shapes(self) -> None:
        # The processor's library keeps a kernel a shape: one a number of live positions took 300 MB in 200 steps.
        shapes = set()
        multiply = torch.mm

        def mm(rows: Tensor, *args: Tensor, **options: Tensor) -> Tensor:
            shapes.add(len(rows))
            return multiply(rows, *args, **options)

        with patch.object(projection.torch, "mm", mm):
            for words in range(1, 130):
                live = torch.arange(130)[None] < words
                scan_columns(torch.randn(1, 130, 2), live, torch.randn(3, 2), torch.zeros(3), everywhere=True)
        assert shapes == {64, 128, 192}

    def test_scores_of_dead_positions_never_count(self) -> None:
        hidden = torch.tensor([[[1.0], [9.0]], [[torch.nan], [torch.nan]]])  # padding may hold anything
        live = torch.tensor([[True, False], [False, False]])
        position, column, _ = scan_columns(hidden, live, torch.ones(1, 1), torch.zeros(1))
        assert position.tolist() == [0] and column.tolist() == [0]

    def test_the_floor_itself_does_not_pass(self) -> None:
        position, _, _ = scan_columns(
            torch.ones(1, 1, 1), torch.ones(1, 1, dtype=torch.bool), torch.ones(1, 1), torch.ones(1)
        )
        assert len(position) == 0


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.floats(-3, 3, width=16)), max_size=20))
def test_best_position_is_the_highest_of_each_text_and_token(entries: list[tuple[int, int, float]]) -> None:
    text = torch.tensor([t for t, _, _ in entries], dtype=torch.long)
    token = torch.tensor([v for _, v, _ in entries], dtype=torch.long)
    score = torch.tensor([s for _, _, s in entries])
    best = best_position(text, token, score, vocab_size=5)
    found = [(*entries[i][:2], entries[i][2]) for i in best.tolist()]
    groups = sorted({entry[:2] for entry in entries})  # by text, then token
    assert found == [(*group, max(s for t, v, s in entries if (t, v) == group)) for group in groups]


@pytest.mark.parametrize("tile", [3, 512])
def test_a_scan_holds_one_tile_at_a_time(tile: int) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Largest(TorchDispatchMode):
        numel = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            out = func(*args, **(kwargs or {}))
            if isinstance(out, Tensor):
                Largest.numel = max(Largest.numel, out.numel())
            return out

    live = torch.ones(4, 6, dtype=torch.bool)
    with patch.object(projection, "TILE_COLUMNS", tile), Largest():
        scan_columns(torch.randn(4, 6, 2), live, torch.randn(100, 2), torch.full((100,), -torch.inf))
    whole = 4 * 6 * 100
    assert (Largest.numel < whole) == (tile < 100)
