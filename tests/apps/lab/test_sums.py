"""What the page prints adds up: as decimals, for every text and class, and after removals."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from splade.reporting.explained import round_to_sum
from tests.apps.lab.conftest import Lab
from tests.builders import toy_reviews

TEXTS, REMOVED_FROM = 200, 6

SCRIPTS = [(Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("read.js", "show.js")]
READ, SHOW = (script.strip().rstrip(";") for script in SCRIPTS)
"""Scripts that read the page."""


def decimal(printed: str) -> Decimal:
    return Decimal(printed.replace("\u2212", "-"))


def check(column: list[str], logit: float) -> None:
    *summands, last = map(decimal, column)
    assert sum(summands) == last
    assert abs(last - Decimal(logit)) <= Decimal("0.0005000001")


def check_table(found: dict[str, Any]) -> None:
    check(found["now"], found["logits"][-1])
    if found["was"]:
        check(found["was"], found["logits"][0])
    running = Decimal(0)
    for printed, total in zip(found["now"], found["total"], strict=False):  # the logit has no total of its own
        running += decimal(printed)
        assert decimal(total) == running


def test_the_column_adds_up_to_the_logit_for_every_text_and_class(lab: Lab) -> None:
    page = lab.open("explain", model="three", text="a good film")
    page.wait_for_selector(".waterfall")
    texts, _ = toy_reviews(TEXTS)
    found = page.evaluate(SHOW.replace("READ", READ), ["three", [*texts[:-3], "", "zzz qqq !", "good " * 70], None])
    assert len(found) == 3 * TEXTS
    for one in found:
        check_table(one)
    assert len({one["logit"] for one in found}) > TEXTS


def test_it_adds_up_after_each_of_several_removals(lab: Lab) -> None:
    page = lab.open("explain", model="three", text="a good film")
    page.wait_for_selector(".waterfall")
    texts, _ = toy_reviews(REMOVED_FROM, seed=1)
    one_by_one = [
        {"operation": "silence", "what": "very"},
        {"operation": "delete", "what": "1"},
        {"operation": "shut", "what": "film"},
        {"operation": "shut", "what": "the"},
    ]
    removals = [one_by_one[: count + 1] for count in range(len(one_by_one))]
    found = page.evaluate(SHOW.replace("READ", READ), ["three", texts, removals])
    assert len(found) == 3 * REMOVED_FROM * len(removals)
    for one in found:
        assert one["was"]
        check_table(one)
    assert any(one["now"] != one["was"] for one in found)


def test_rounding_is_that_of_the_report(lab: Lab) -> None:
    """The largest-remainder method has two hands here, Python's and the page's; they agree."""
    page = lab.open("explain", text="a good film")
    page.wait_for_selector(".waterfall")
    cases: list[tuple[list[float], float]] = []

    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.floats(-9, 9).map(lambda x: round(x, 6) + 1e-7), min_size=1, max_size=12))
    def collect(numbers: list[float]) -> None:
        cases.append((numbers, sum(numbers)))

    collect()
    got = page.evaluate(
        "async cases => { const {roundToSum, toUnits} = await import('/core/numbers.js');"
        "return cases.map(([numbers, total]) => roundToSum(numbers, toUnits(total))); }",
        cases,
    )
    assert got == [round_to_sum(numbers, total) for numbers, total in cases]
