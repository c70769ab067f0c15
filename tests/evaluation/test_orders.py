"""The extremes of orders, against all orders there are."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch
from torch import Tensor

from splade.evaluation import orders
from splade.evaluation.orders import SetValue, is_exact, order_extremes


def table_value(table: Tensor) -> SetValue:
    """A set function given by its values (R, 2ⁿ), a column a set, whose number has a bit an element."""
    return lambda row, sets: table[row, (sets.long() << torch.arange(sets.shape[1])).sum(1)]


def all_means(table: Tensor, n: int, sizes: list[int]) -> list[float]:
    """The mean of every order of n things, of a table (2ⁿ,)."""
    return [
        sum(float(table[sum(1 << thing for thing in order[:k])]) for k in sizes) / len(sizes)
        for order in permutations(range(n))
    ]


def test_by_hand() -> None:
    """{0} is worth 1, {1} 5, both 3: the best order begins with 1, (5 + 3)/2, the worst with 0, (1 + 3)/2."""
    table = torch.tensor([[0.0, 1.0, 5.0, 3.0]])
    lowest, highest = order_extremes(table_value(table), torch.tensor([2]), torch.tensor([[1, 2]]))
    assert (float(lowest), float(highest)) == (2.0, 4.0)
    lowest, highest = order_extremes(table_value(table), torch.tensor([2]), torch.tensor([[1, 1]]))  # counts once
    assert (float(lowest), float(highest)) == (1.0, 5.0)


@pytest.mark.parametrize("sizes", [[1, 2, 3, 4, 5], [1, 3], [4], [2, 2, 5]])
def test_the_programme_over_subsets_finds_the_extremes_of_all_orders(sizes: list[int]) -> None:
    table = torch.randn(3, 2**5, generator=torch.Generator().manual_seed(0))
    lowest, highest = order_extremes(table_value(table), torch.full((3,), 5), torch.tensor([sizes] * 3))
    for row in range(3):
        means = all_means(table[row], 5, sorted(set(sizes)))
        assert (float(lowest[row]), float(highest[row])) == (pytest.approx(min(means)), pytest.approx(max(means)))


def test_rows_of_different_numbers_of_things(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact and searched ones side by side; a sum of weights has its extremes in the order of the weights."""
    monkeypatch.setattr(orders, "EXACT", 3)
    counts = torch.tensor([2, 7, 1, 5, 3, 6])
    weights = torch.randn(6, 7, generator=torch.Generator().manual_seed(1))
    sizes = torch.stack([torch.ones_like(counts), (counts + 1) // 2], 1)
    assert is_exact(counts).tolist() == [True, False, True, False, True, False]

    def total(row: Tensor, sets: Tensor) -> Tensor:
        return (weights[row, : sets.shape[1]] * sets).sum(1)

    lowest, highest = order_extremes(total, counts, sizes)
    for row, n in enumerate(counts.tolist()):
        ordered = weights[row, :n].sort().values
        different = sorted(set(sizes[row].tolist()))
        for found, sums in ((lowest, ordered.cumsum(0)), (highest, ordered.flip(0).cumsum(0))):
            assert float(found[row]) == pytest.approx(float(sums[[k - 1 for k in different]].mean()), abs=1e-5)


def test_the_search_comes_near_the_extremes_and_never_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    """On functions with interactions, where a greedy order is not the best one."""
    generator = torch.Generator().manual_seed(2)
    weights, pairs = torch.randn(40, 8, generator=generator), torch.randn(40, 8, 8, generator=generator)

    def interacting(row: Tensor, sets: Tensor) -> Tensor:
        inside = sets.float()
        return (weights[row] * inside).sum(1) + torch.einsum("mi,mij,mj->m", inside, pairs[row], inside) / 4

    counts, sizes = torch.full((40,), 8), torch.tensor([[1, 2, 4, 7]] * 40)
    exact = order_extremes(interacting, counts, sizes)
    monkeypatch.setattr(orders, "EXACT", 0)
    searched = order_extremes(interacting, counts, sizes)
    monkeypatch.setattr(orders, "BEAM", 1)
    greedy = order_extremes(interacting, counts, sizes)
    spread = exact[1] - exact[0]
    assert (searched[1] <= exact[1] + 1e-9).all() and (searched[0] >= exact[0] - 1e-9).all()
    missed, missed_greedily = ((exact[1] - found[1]) / spread for found in (searched, greedy))
    assert missed.mean() < 0.02 and missed.mean() < missed_greedily.mean() / 2


def test_a_set_is_searched_on_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many orders lead to it: all sets of size 2 of four things, six of them, fit into a beam of six."""
    monkeypatch.setattr(orders, "EXACT", 0)
    monkeypatch.setattr(orders, "BEAM", 6)
    asked: list[int] = []
    table = torch.randn(1, 2**4, generator=torch.Generator().manual_seed(0))

    def counted_value(row: Tensor, sets: Tensor) -> Tensor:
        asked.append(len(sets))
        return table_value(table)(row, sets)

    _, highest = order_extremes(counted_value, torch.tensor([4]), torch.tensor([[1, 2, 3, 4]]))
    assert asked == 2 * [4, 6, 4, 1]
    assert float(highest) == pytest.approx(max(all_means(table[0], 4, [1, 2, 3, 4])))


def test_of_very_many_things_two_orders_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a sum of weights the order of single values is the best one; rows of few things are searched as ever."""
    monkeypatch.setattr(orders, "SEARCHED", 20)
    monkeypatch.setattr(orders, "SINGLE_AT_A_TIME", 100)  # in several parts
    counts, weights = torch.tensor([40, 15, 33]), torch.randn(3, 40, generator=torch.Generator().manual_seed(2))
    sizes = torch.stack([torch.ones_like(counts), (counts + 1) // 2], 1)
    assert orders.is_coarse(counts).tolist() == [True, False, True]
    lowest, highest = order_extremes(lambda row, sets: (weights[row, : sets.shape[1]] * sets).sum(1), counts, sizes)
    for row, n in enumerate(counts.tolist()):
        ordered = weights[row, :n].sort().values.double()
        ends = [sum(float(each[:k].sum()) for k in sizes[row].tolist()) / 2 for each in (ordered, ordered.flip(0))]
        assert (float(lowest[row]), float(highest[row])) == (
            pytest.approx(ends[0], abs=1e-5),
            pytest.approx(ends[1], abs=1e-5),
        )
