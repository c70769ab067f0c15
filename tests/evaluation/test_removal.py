"""Removal of tokens at the bottleneck, by hand; and what bad rankings come to."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from splade.evaluation.naopc import NAOPC, AOPCBounds, NAOPCMeter, affordable_rows, aopc_bounds
from splade.evaluation.removal import NUMBERS, SHARES, SIZES, TokenSets, erase, removed_sizes
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.heads import LinearRegion
from splade.models.lexical_sae import LexicalSAE
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState
from tests.builders import build_model, encode, sparse_rows, toy_reviews


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def linear_model(weights: list[float]) -> Any:
    """Two classes, of which the first has the logit Σ s·w and the second 0."""
    table = torch.tensor(weights)[:, None]

    def decide(rows: SparseRows) -> CircuitState:
        first = rows.sum_rows(rows.value * table[rows.token, 0])
        upstream = torch.tensor([[[1.0], [0.0]]]).expand(rows.num_rows, 2, 1)
        region = LinearRegion(upstream, table, torch.zeros(rows.num_rows, 2))
        return CircuitState(torch.stack([first, torch.zeros_like(first)], 1), rows, rows.value, region)

    return SimpleNamespace(
        decide=decide,
        labels=["yes", "no"],
        config=SimpleNamespace(hidden_size=1),
        device=torch.device("cpu"),
        vocab_size=len(weights),
    )


def ours(state: CircuitState, classes: Tensor) -> Tensor:
    return compute_attribution_tensor(state, classes).value


MODEL = linear_model([2.0, 1.0, -1.0, 0.5])
STATE = MODEL.decide(sparse_rows({0: 1.0, 1: 1.0, 2: 1.0}, {}, {0: 0.5, 3: 0.0}, vocab_size=4))
"""Logits 2, 0 and 1 of the first class; the second row says nothing, the third has an entry that is not active."""
CLASSES = torch.tensor([0, 0, 0])


def test_by_hand() -> None:
    """Of three tokens, all shares but the half are one token, and the half is two."""
    found = erase(MODEL, STATE, CLASSES, ours(STATE, CLASSES))
    assert found.counts.tolist() == [3, 0, 1]
    assert found.sizes.tolist() == [[1, 1, 1, 1, 2, 1, 2, 3, 3, 3], [0] * 10, [1] * 10]
    assert found.full.tolist() == pytest.approx([sigmoid(2), 0.5, sigmoid(1)])
    one, two, three = sigmoid(2) - sigmoid(0), sigmoid(2) - sigmoid(-1), sigmoid(2) - sigmoid(0)
    changes = found.comprehensiveness
    assert changes[0].tolist() == pytest.approx([one] * 4 + [two, one, two, three, three, three])
    assert changes[2].tolist() == pytest.approx([sigmoid(1) - 0.5] * 10)
    assert found.aopc(changes)[[0, 2]].tolist() == pytest.approx([(one + two) / 2, sigmoid(1) - 0.5])  # each k once
    alone = found.sufficiency
    assert alone[0].tolist() == pytest.approx([0] * 4 + [sigmoid(2) - sigmoid(3), 0, sigmoid(2) - sigmoid(3), 0, 0, 0])
    assert found.flipped[0].tolist() == [False] * 4 + [True, False, True, False, False, False]


def test_a_row_without_active_tokens_has_nothing_to_lose() -> None:
    found = erase(MODEL, STATE, CLASSES, ours(STATE, CLASSES))
    assert found.comprehensiveness[1].tolist() == found.sufficiency[1].tolist() == [0.0] * len(SIZES)
    assert not found.flipped[1].any() and found.aopc(found.comprehensiveness)[1] == 0


def test_bounds_by_hand() -> None:
    """The best order of removal is 0, 1, …; the worst 2, 1, …: without them the logit is 3, then 2."""
    rows = torch.tensor([0, 2])
    state, classes = STATE.take(rows), CLASSES[rows]
    bounds = aopc_bounds(MODEL, state, classes)
    best = (sigmoid(2) - sigmoid(0) + sigmoid(2) - sigmoid(-1)) / 2
    worst = (sigmoid(2) - sigmoid(3) + 0.0) / 2
    lower, upper = bounds.comprehensiveness
    assert (float(lower[0]), float(upper[0])) == (pytest.approx(worst), pytest.approx(best))
    assert float(lower[1]) == float(upper[1])  # one token: there is one order
    lower, upper = bounds.sufficiency
    assert float(upper[0]) == pytest.approx((sigmoid(2) - sigmoid(-1) + sigmoid(2) - sigmoid(0)) / 2)
    assert float(lower[0]) == pytest.approx((0.0 + sigmoid(2) - sigmoid(3)) / 2)
    scores = ours(state, classes)
    for ranking, expected in ((scores, [1.0, 0.0]), (-scores, [0.0, 1.0])):
        both = bounds.normalised(erase(MODEL, state, classes, ranking))
        assert [float(each[0]) for each in both] == pytest.approx(expected)
        assert all(each[1].isnan() for each in both)


def test_sizes_are_shares_rounded_up_and_numbers_as_far_as_there_are_tokens() -> None:
    sizes = removed_sizes(torch.tensor([25, 4, 200]))
    assert sizes.tolist() == [
        [1, 2, 3, 5, 13, 1, 2, 3, 5, 10],
        [1, 1, 1, 1, 2, 1, 2, 3, 4, 4],
        [2, 10, 20, 40, 100, 1, 2, 3, 5, 10],
    ]
    assert (len(SHARES), len(NUMBERS)) == (5, 5)


@pytest.fixture(scope="module", params=["tied_mlp", "relu_mlp", "bcos"])
def predicted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[LexicalSAE, CircuitState]:
    """A model with a head, and what it says of some reviews."""
    model = build_model(tmp_path_factory.mktemp("removal"), active=20, classes=3, head=request.param)
    with torch.no_grad():
        batch = encode(model, toy_reviews(24)[0])
        return model, model.classify(model(*batch), batch[1])


def test_sets_are_decided_on_as_rows_with_the_others_zeroed(predicted: tuple[LexicalSAE, CircuitState]) -> None:
    model, state = predicted
    classes = state.logits.argmax(-1)
    tokens = TokenSets(model, state.rows, classes)
    kept = torch.rand(tokens.filled.shape, generator=torch.Generator().manual_seed(0)) < 0.5
    kept &= tokens.filled
    with torch.no_grad():
        mine = tokens.logits(torch.arange(len(kept)), kept)
        expected = model.decide(state.rows.with_value(state.rows.value * kept[tokens.filled])).logits
    torch.testing.assert_close(mine, expected, atol=1e-5, rtol=1e-4)


BAD: dict[str, Callable[[Tensor], Tensor]] = {
    "reversed": lambda scores: -scores,
    "random": lambda scores: torch.rand(len(scores), generator=torch.Generator().manual_seed(3)),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_explanation_scores_badly(name: str, predicted: tuple[LexicalSAE, CircuitState]) -> None:
    model, state = predicted
    classes = state.logits.argmax(-1)
    scores = ours(state, classes).detach()
    good, bad = (erase(model, state, classes, ranking) for ranking in (scores, BAD[name](scores)))
    bounds = aopc_bounds(model, state, classes)
    for at in range(len(SIZES)):
        assert good.comprehensiveness[:, at].mean() > bad.comprehensiveness[:, at].mean()
        assert good.flipped[:, at].sum() >= bad.flipped[:, at].sum()
    assert good.flipped.sum() > bad.flipped.sum()
    assert good.aopc(good.sufficiency).mean() < bad.aopc(bad.sufficiency).mean() - 0.01
    (comprehensive, enough), (worse, less) = (bounds.normalised(each) for each in (good, bad))
    assert comprehensive.nanmean() > 0.75 > 0.6 > worse.nanmean()
    assert enough.nanmean() < 0.25 < 0.35 < less.nanmean()


class TestMeter:
    def meter(self, labels: int = 3) -> NAOPCMeter:
        return NAOPCMeter(MODEL, labels, seed=0)

    def add(self, meter: NAOPCMeter, rows: Tensor) -> None:
        state, classes = STATE.take(rows), CLASSES[rows]
        meter.add(state.rows, ours(state, classes), classes, rows.numpy(), rows.numpy())

    def test_of_rows_with_bounds(self) -> None:
        meter = self.meter()
        self.add(meter, torch.tensor([0, 2]))
        found = meter.result()
        assert found.comprehensiveness is not None and found.comprehensiveness.mean == pytest.approx(1.0)
        assert found.sufficiency is not None and found.sufficiency.mean == pytest.approx(0.0)
        assert (found.rows, found.exact, found.level) == (2, 2, 1)

    def test_of_nothing(self) -> None:
        assert self.meter().result() == NAOPC(None, None, None, None, 0, 0, 0, 0, 0)

    def test_keeps_the_same_rows_however_they_come(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("splade.evaluation.naopc.ROWS", 4)
        weights = torch.randn(40, 6, generator=torch.Generator().manual_seed(0)).abs() + 0.1
        rows = sparse_rows(*[dict(enumerate(row.tolist())) for row in weights], vocab_size=6)
        model, classes = linear_model([1.0, -2.0, 0.5, 0.3, -0.7, 1.5]), torch.zeros(40, dtype=torch.long)
        state = model.decide(rows)
        found = []
        for parts in ([torch.arange(40)], [torch.arange(25, 40), torch.arange(25)]):
            meter = NAOPCMeter(model, 40, seed=1)
            for part in parts:
                some = state.take(part)
                meter.add(some.rows, ours(some, classes[part]), classes[part], part.numpy(), part.numpy())
            found.append(meter.result())
        assert found[0].rows == 4 and found[0] == found[1]

    @pytest.mark.parametrize(("most", "rows"), [(2 * 2**3 * 3 + 2 * 2 * 1, 2), (2 * 2**3 * 3, 1)])
    def test_looks_at_fewer_rows_where_each_takes_long(
        self, most: int, rows: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """All sets of three tokens and all sets of one, those removed and those kept."""
        monkeypatch.setattr("splade.evaluation.naopc.MOST_ENTRIES", most)
        monkeypatch.setattr("splade.evaluation.naopc.FEWEST_ROWS", 1)
        meter = self.meter()
        self.add(meter, torch.tensor([0, 2]))
        assert meter.result().rows == rows

    def test_rows_that_take_long_do_not_keep_all_out(self) -> None:
        """A row of 190 tokens takes half of the time that all rows may; some are looked at all the same."""
        assert affordable_rows(torch.tensor([190, 190, 25, 20, 25, 30, 25, 25])).tolist() == [2, 3, 4, 6, 7]
        assert affordable_rows(torch.tensor([190] * 8)).tolist() == [0, 1, 2, 3, 4]
        assert affordable_rows(torch.tensor([60_000, 50_000])).tolist() == [1]
        assert affordable_rows(torch.tensor([25] * 256)).tolist() == list(range(256))
        assert affordable_rows(torch.tensor([300] * 256)).tolist() == list(range(256))  # two orders of each
        assert affordable_rows(torch.zeros(0, dtype=torch.long)).tolist() == []


def test_an_order_beyond_the_bounds_is_told() -> None:
    rows = torch.tensor([0])
    state, classes = STATE.take(rows), CLASSES[rows]
    erased, bounds = erase(MODEL, state, classes, ours(state, classes)), aopc_bounds(MODEL, state, classes)
    assert bounds.beyond(erased).tolist() == [False]
    lower, upper = bounds.comprehensiveness
    missed = AOPCBounds((lower, upper - 0.01), bounds.sufficiency)  # as if the search had not found the best order
    assert missed.beyond(erased).tolist() == [True] and float(missed.normalised(erased)[0]) == 1.0


def test_equal_tokens_come_in_an_order_that_was_drawn() -> None:
    """In the order of the vocabulary, one that says nothing would name its first tokens first."""
    model = linear_model([0.0] * 50)
    tokens = TokenSets(model, sparse_rows(*[dict.fromkeys(range(50), 1.0)] * 2, vocab_size=50), torch.tensor([0, 0]))
    silent, other = tokens.ranks(torch.zeros(100)), tokens.ranks(torch.full((100,), 7.0))
    assert silent.tolist() == other.tolist() and silent[0].tolist() != list(range(50))
    assert sorted(silent[0].tolist()) == list(range(50))
    scores = torch.zeros(100)
    scores[[3, 7]] = torch.tensor([-1.0, 1.0])
    assert tokens.ranks(scores)[0, [3, 7]].tolist() == [49, 0]
