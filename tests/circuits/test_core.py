"""The circuit keeps the top share of a row's *active* tokens, and nothing inactive."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from splade.circuits.core import circuit_mask, circuit_size
from tests.builders import sparse_rows

SHARES = st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0])


@settings(deadline=None)
@given(st.integers(0, 400), SHARES)
def test_size_is_the_share_rounded_up(active: int, share: float) -> None:
    expected = math.ceil(round(active * share, 9))
    assert circuit_size(torch.tensor([float(active)]), share).item() == expected
    assert (expected >= 1) == (active >= 1)


@settings(deadline=None)
@given(
    st.lists(
        st.dictionaries(st.integers(0, 99), st.tuples(st.floats(-4, 4, width=16), st.booleans()), max_size=40),
        min_size=1,
        max_size=3,
    ),
    SHARES,
)
def test_hard_mask_keeps_the_strongest_of_the_active(rows: list[dict[int, tuple[float, bool]]], share: float) -> None:
    attribution = sparse_rows(*({t: a for t, (a, _) in row.items()} for row in rows), vocab_size=100)
    active = torch.tensor([row[t][1] for row in rows for t in sorted(row)], dtype=torch.bool)
    mask = circuit_mask(attribution, active, share)
    for number, row in enumerate(rows):
        here = attribution.row == number
        count = sum(flag for _, flag in row.values())
        assert mask[here].sum() == math.ceil(round(share * count, 9))  # of the active, never of the vocabulary
        assert not mask[here & ~active].any()
        size = attribution.value.abs()
        kept, left = size[here & (mask > 0)], size[here & active & (mask == 0)]
        if len(kept) and len(left):
            assert kept.min() >= left.max()


def test_strength_is_the_size_of_an_attribution_whatever_its_sign() -> None:
    attribution = sparse_rows({0: 1.0, 3: -3.0, 5: 2.0, 7: 0.5})
    mask = circuit_mask(attribution, torch.ones(4, dtype=torch.bool), 0.5)
    assert mask.tolist() == [0, 1, 1, 0]


def test_active_tokens_without_any_attribution_still_come_before_inactive_ones() -> None:
    attribution = sparse_rows({0: 0.0, 1: 0.0, 2: 0.0, 3: 0.0})
    active = torch.tensor([False, True, False, True])
    assert circuit_mask(attribution, active, 1.0).tolist() == [0, 1, 0, 1]


class TestSoft:
    ATTRIBUTION = sparse_rows({t: float(t + 1) for t in range(8)}, {1: -2.0}, {})
    ACTIVE = torch.ones(9, dtype=torch.bool)

    def test_falls_off_between_the_last_token_kept_and_the_first_left_out(self) -> None:
        first = circuit_mask(self.ATTRIBUTION, self.ACTIVE, 0.5, soft=True)[:8]
        assert first[4].item() == pytest.approx(1 / (1 + math.exp(-10 * 0.5 / 4.5)), abs=1e-4)  # kept, with 5
        assert first[3].item() == pytest.approx(1 - first[4].item(), abs=1e-4)  # left out, with 4
        assert (first[1:] > first[:-1]).all()
        assert first[7] > 0.99 and first[0] < 0.01

    def test_weighs_as_much_as_the_hard_mask_of_evaluation(self) -> None:
        """Training must not see a weaker circuit: with the edge on the last token kept, that one would count half."""
        soft = circuit_mask(self.ATTRIBUTION, self.ACTIVE, 0.5, soft=True)
        assert soft[:8].sum().item() == pytest.approx(4, abs=0.1)
        for share in (0.1, 1.0):  # a circuit of one token, and all there are
            assert circuit_mask(self.ATTRIBUTION, self.ACTIVE, share, soft=True)[8] > 0.999
        alone = sparse_rows({0: 9.0, 1: 0.1, 2: -0.1})
        mask = circuit_mask(alone, torch.ones(3, dtype=torch.bool), 0.1, soft=True)
        assert mask[0] > 0.999 and mask[1:].max() < 0.001

    def test_rounds_to_the_hard_mask(self) -> None:
        for share in (0.1, 0.3, 0.5, 1.0):
            hard = circuit_mask(self.ATTRIBUTION, self.ACTIVE, share)
            soft = circuit_mask(self.ATTRIBUTION, self.ACTIVE, share, soft=True)
            assert torch.equal((soft > 0.5).float(), hard)

    def test_does_not_depend_on_the_unit_of_attribution(self) -> None:
        for factor in (0.01, 100.0):
            scaled = self.ATTRIBUTION.with_value(factor * self.ATTRIBUTION.value)
            torch.testing.assert_close(
                circuit_mask(scaled, self.ACTIVE, 0.5, soft=True),
                circuit_mask(self.ATTRIBUTION, self.ACTIVE, 0.5, soft=True),
                rtol=1e-2,
                atol=1e-3,
            )

    def test_inactive_entries_are_never_kept(self) -> None:
        active = self.ACTIVE.clone()
        active[[7, 8]] = False  # the strongest, and the only one of its row
        mask = circuit_mask(self.ATTRIBUTION, active, 0.5, soft=True)
        assert mask[7] == 0 and mask[8] == 0
        assert mask[3] > 0.7 and mask[2] < 0.3  # 4 of the 7 left

    def test_entries_near_their_threshold_do_not_enlarge_it(self) -> None:
        """The known trap in another guise: rows of training also hold entries that are not active."""
        active = self.ACTIVE.clone()
        active[:4] = False  # half of the 4 that are active are 2, half of all 8 would be 4
        mask = circuit_mask(self.ATTRIBUTION, active, 0.5, soft=True)[:8]
        assert (mask > 0.5).tolist() == [False] * 6 + [True] * 2

    def test_carries_no_gradient(self) -> None:
        value = self.ATTRIBUTION.value.clone().requires_grad_()
        assert not circuit_mask(self.ATTRIBUTION.with_value(value), self.ACTIVE, 0.5, soft=True).requires_grad
