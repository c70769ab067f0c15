from __future__ import annotations

import pytest
from scipy import stats

from splade.studies.intervals import spread
from splade.studies.summary import columns

COLUMNS = {column.key: column for column in columns("classification")}


def test_three_seeds_by_hand() -> None:
    """Mean 3, s = 2, t(0.975, 2) = 4.302653 from a printed table: half = 4.302653·2/√3."""
    found = spread([1.0, 3.0, 5.0])
    assert found.mean == 3.0 and found.half == pytest.approx(4.302653 * 2 / 3**0.5, abs=1e-5)
    assert found.to_json()["low"] == pytest.approx(3 - 4.968276, abs=1e-5)


@pytest.mark.parametrize("values", [[0.84, 0.86], [0.85, 0.86, 0.88, 0.84, 0.87]])
def test_as_scipy_gives_it(values: list[float]) -> None:
    low, high = stats.t.interval(0.95, len(values) - 1, loc=sum(values) / len(values), scale=stats.sem(values))
    found = spread(values).to_json()
    assert (found["low"], found["high"]) == (pytest.approx(low), pytest.approx(high))


def test_one_seed_has_no_interval() -> None:
    assert spread([0.9]).to_json() == {"mean": 0.9, "low": None, "high": None, "values": [0.9]}


def test_equal_values_have_an_interval_of_no_width() -> None:
    assert spread([0.5, 0.5, 0.5]).half == 0.0


class TestWhatIsPossible:
    def test_a_share_stays_between_0_and_1(self) -> None:
        column = COLUMNS["accuracy"]
        accuracy = column.over([0.667, 0.875])
        found = accuracy.to_json()
        assert (found["low"], found["high"]) == (0, 1) and accuracy.cut
        assert column.show(accuracy) == "77.1 [0.0, 100.0]"
        assert column.show(column.over([0.8, 0.81, 0.82])) == "81.0 ± 2.5"

    @pytest.mark.parametrize(
        ("key", "values", "low"),
        [("active_tokens", [2.0, 9.0], 0), ("tokens_kl", [0.1, 0.9], 0), ("cosine", [-0.9, 0.9], -1)],
    )
    def test_other_figures(self, key: str, values: list[float], low: float) -> None:
        assert COLUMNS[key].over(values).to_json()["low"] == low

    def test_a_mean_beyond_by_rounding_stays_in_its_interval(self) -> None:
        found = spread([1.0000001, 1.0000001], (0, 1))
        assert found.sides == (0, 0)
