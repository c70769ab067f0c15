"""The best and the worst order: how far the mean of a set function along an order can go, whatever the order.

An order π of n things passes through the sets {π₁} ⊂ {π₁, π₂} ⊂ …; its mean is that of a function of sets over those
whose size counts. Among n! orders the extremes are found exactly for few things, by a dynamic programme over subsets,

    best(S) = counts(|S|)·value(S) + max_{i ∈ S} best(S ∖ i),

for more by a search that goes on with the few best sets of each size (Edin et al. 2025, arXiv:2408.08137), and for very
many, where that would take hours, along the order of what each thing is worth alone, and its reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

EXACT = 12
"""The most things whose 2ⁿ subsets are all looked at; one more doubles them."""

COUNTED = 5
"""About how many sizes of sets count."""

BEAM = 5
"""Sets of each size that the search goes on with, as in the paper."""

SEARCHED = 200
"""The most things that are searched; what that takes grows with the cube of their number, a second or more here."""

SINGLE_AT_A_TIME = 1_000_000
"""Places in the table of sets of one thing that is held at once: a megabyte."""

ROWS_AT_A_TIME = 64
"""Rows that are searched at once, those with about as many things, so that few columns of their table are empty."""

SetValue = Callable[[Tensor, Tensor], Tensor]
"""The value of sets of things: the row each is of (M,), and which of the row's things are in it (M, n) → (M,)."""


def order_extremes(value: SetValue, counts: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """The lowest and the highest mean of a set function along any order of a row's things: (R,) each.

    Args:
        counts: (R,) things of each row, at least one; they are the first columns of the row's sets.
        sizes: (R, K) the sizes of sets that count, 1 to n; one that is named twice counts once.
    """
    counted = torch.zeros(len(counts), int(counts.max()) + 1, dtype=torch.bool).scatter(1, sizes, True)  # (R, n + 1)
    lowest, highest = torch.empty(2, len(counts), dtype=torch.float64)
    for rows in _alike(counts):
        n = int(counts[rows].max())
        if n <= EXACT:
            lowest[rows], highest[rows] = _over_subsets(value, rows, n, counted[rows])
        elif n > SEARCHED:
            lowest[rows], highest[rows] = _along_single_values(value, rows, counts[rows], counted[rows])
        else:
            lowest[rows] = -_search(lambda row, sets: -value(row, sets), rows, counts[rows], counted[rows])
            highest[rows] = _search(value, rows, counts[rows], counted[rows])
    means = counted.sum(1)
    return lowest / means, highest / means


def is_exact(counts: Tensor) -> Tensor:
    """(R,) bool: which rows' extremes are those of all orders, and not of a search."""
    return counts <= EXACT


def is_coarse(counts: Tensor) -> Tensor:
    """(R,) bool: which rows have so many things that only two orders are looked at."""
    return counts > SEARCHED


def sets_asked_for(counts: Tensor, last: Tensor) -> Tensor:
    """(R,) about how many sets are looked at to find the extremes of rows with so many things (R,), up to sets of the
    size `last` (R,)."""
    searched = (
        2 * BEAM * last * (counts + counts - last + 1) // 2
    )  # two directions, n + (n − 1) + … larger sets a place
    more = torch.where(is_coarse(counts), counts + 2 * last.clamp(max=COUNTED), searched)
    return torch.where(is_exact(counts), 2 ** counts.clamp(max=EXACT), more)


def _alike(counts: Tensor) -> Iterator[Tensor]:
    """Rows in parts of about as many things each; where all orders are looked at, of exactly as many."""
    order = torch.argsort(counts, stable=True)
    exact = is_exact(counts[order])
    for n in counts[order[exact]].unique():
        yield from (counts == n).nonzero()[:, 0].split(ROWS_AT_A_TIME)
    coarse = is_coarse(counts[order])
    for rows in (order[~exact & ~coarse], order[coarse]):
        yield from (part for part in rows.split(ROWS_AT_A_TIME) if len(part))


def _over_subsets(value: SetValue, rows: Tensor, n: int, counted: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of the worst and the best order, over all of them; every row has n things."""
    last = int(counted.any(0).nonzero().max())  # no set larger than this is asked for
    sets = (torch.arange(2**n)[:, None] >> torch.arange(n)) & 1 == 1  # (2ⁿ, n): the bits of its number
    size = sets.sum(1)
    wanted = ((size >= 1) & (size <= last)).nonzero()[:, 0]
    table = torch.zeros(len(rows), 2**n, dtype=torch.float64)
    of_sets = value(rows.repeat_interleave(len(wanted)), sets[wanted].repeat(len(rows), 1))
    table[:, wanted] = of_sets.double().view(len(rows), -1)
    lowest, highest = torch.zeros(2, len(rows), 2**n, dtype=torch.float64)
    for k in range(1, last + 1):
        here = (size == k).nonzero()[:, 0]  # (S,)
        element = sets[here].nonzero()[:, 1].view(-1, k)  # (S, k)
        before = here[:, None] - (1 << element)  # (S, k): the sets without each of their elements
        gain = table[:, here] * counted[:, k : k + 1]
        lowest[:, here] = gain + lowest[:, before].amin(-1)
        highest[:, here] = gain + highest[:, before].amax(-1)
    return lowest[:, size == last].amin(-1), highest[:, size == last].amax(-1)


def _search(value: SetValue, rows: Tensor, counts: Tensor, counted: Tensor) -> Tensor:
    """(R,) the highest sum that a beam finds. Where a size does not count, sets go on by their value all the same.

    A set is reached by many orders, of which only the best goes on: else the beam would hold one set many times. The
    name of a set is the exclusive or of random numbers of its row and of its elements.
    """
    n, found = int(counts.max()), torch.zeros(len(rows), dtype=torch.float64)
    numbers, of_row = torch.randint(2**62, (n + len(rows),), generator=torch.Generator().manual_seed(0)).split(
        [n, len(rows)]
    )
    last = counted.shape[1] - 1 - counted.flip(1).long().argmax(1)  # (R,): the largest size that counts
    going = torch.arange(len(rows))
    sums = torch.full((len(rows), BEAM), -torch.inf, dtype=torch.float64)
    sums[:, 0] = 0.0  # the empty set
    sets, names = torch.zeros(len(rows), BEAM, n, dtype=torch.bool), of_row[:, None].expand(-1, BEAM)
    for k in range(1, int(last.max()) + 1):
        free = (torch.arange(n) < counts[going, None])[:, None] & ~sets & sums.isfinite()[..., None]  # (G, BEAM, n)
        row, place, thing = free.nonzero(as_tuple=True)
        larger = sets[row, place]
        larger[torch.arange(len(thing)), thing] = True  # (M, n)
        gain = _once(value, rows[going[row]], larger, names[row, place] ^ numbers[thing])
        counts_now = counted[going[row], k]
        total = torch.full(free.shape, -torch.inf, dtype=torch.float64)
        merit = total.clone()
        total[free] = sums[row, place] + gain * counts_now
        merit[free] = sums[row, place] + gain
        chosen = _best_distinct(merit.flatten(1), (names[..., None] ^ numbers).flatten(1))  # (G, BEAM)
        at = torch.arange(len(going))[:, None]
        place, thing = chosen // n, chosen % n
        sums, names = total.flatten(1)[at, chosen], names[at, place] ^ numbers[thing]
        sets = sets[at, place]
        sets[at, torch.arange(BEAM), thing] = True
        done = last[going] == k
        found[going[done]] = sums[done].amax(1)
        going, sums, names, sets = going[~done], sums[~done], names[~done], sets[~done]
    return found


def _along_single_values(value: SetValue, rows: Tensor, counts: Tensor, counted: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of the worse and the better of two orders: from the highest value of a thing alone to the lowest, and from
    the lowest to the highest."""
    found = torch.empty(2, len(rows), dtype=torch.float64)
    for place, (row, n) in enumerate(zip(rows, counts.tolist(), strict=True)):
        single = torch.cat(
            [
                value(row.expand(len(part)), part[:, None] == torch.arange(n))
                for part in torch.arange(n).split(max(1, SINGLE_AT_A_TIME // n))
            ]
        )
        sizes = counted[place].nonzero()  # (K, 1)
        for at, scores in enumerate((single, -single)):
            rank = torch.argsort(torch.argsort(scores, descending=True, stable=True))
            found[at, place] = value(row.expand(len(sizes)), rank < sizes).double().sum()
    return found.amin(0), found.amax(0)


def _once(value: SetValue, rows: Tensor, sets: Tensor, names: Tensor) -> Tensor:
    """(M,) values of sets, each computed once although several orders lead to it."""
    different, number = names.unique(return_inverse=True)
    one = torch.empty_like(different)
    one[number] = torch.arange(len(names))  # the place of one of each
    return value(rows[one], sets[one]).double()[number]


def _best_distinct(merit: Tensor, names: Tensor) -> Tensor:
    """(G, BEAM) the places of the highest merit (G, M), no two of one name (G, M); a place of −∞ where there are no
    more."""
    merit, chosen = merit.clone(), []
    for _ in range(BEAM):
        best = merit.argmax(1, keepdim=True)
        chosen.append(best)
        merit[names == names.gather(1, best)] = -torch.inf
    return torch.cat(chosen, 1)
