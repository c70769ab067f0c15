"""What a measure says of its results: keys with dots in names, forms of numbers, and tables of rows."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from splade.evaluation.figure import (
    COSINE,
    COUNT,
    DIVERGENCE,
    ERROR,
    MEAN,
    MEGABYTES,
    MISSING,
    SECONDS,
    SHARE,
    SIZE_COSINE,
    Cell,
    Column,
    Figure,
    Form,
    Grid,
    Results,
    Table,
    beside,
    find,
    is_number,
    percent,
    rows_of,
)

RESULTS = {
    "accuracy": 0.5,
    "completeness": {"0.1": {"accuracy": 0.8}, "0": {"accuracy": 0.1}, "0.25": None},
    "per_class": {"a.b": {"f1": 0.25}, "a": {"b": {"f1": 0.75}}, "": {"f1": 0.1}},
    "list": [1, 2],
    "null": None,
}


class TestFind:
    @pytest.mark.parametrize(
        ("key", "expected"),
        [
            ("accuracy", 0.5),
            ("completeness.0.1.accuracy", 0.8),
            ("completeness.0.accuracy", 0.1),
            ("completeness.0.1", {"accuracy": 0.8}),
            ("completeness.0.25", None),
            ("completeness.0.25.accuracy", None),
            ("completeness.0.2", None),
            ("completeness.1", None),
            ("per_class.a.b.f1", 0.25),  # the longest name that is there
            ("accuracy.value", None),
            ("list.0", None),
            ("null", None),
            ("null.x", None),
            ("nowhere", None),
            ("per_class..f1", 0.1),
            ("", None),
        ],
    )
    def test_by_hand(self, key: str, expected: object) -> None:
        assert find(RESULTS, key) == expected

    @given(st.lists(st.text("ab.01", min_size=1), min_size=1, max_size=4), st.integers())
    def test_whatever_dots_the_names_have(self, names: list[str], value: int) -> None:
        results: object = value
        for name in reversed(names):
            results = {name: results}
        assert find(results, ".".join(names)) == value  # type: ignore[arg-type]


class TestForms:
    @pytest.mark.parametrize(
        ("form", "value", "shown"),
        [
            (SHARE, 0.8325, "83.2 %"),
            (SHARE, 0, "0.0 %"),
            (COUNT, 30522, "30,522"),
            (COUNT, 0.4, "0"),
            (MEAN, 1234.56, "1,234.6"),
            (DIVERGENCE, 0.12345, "0.123"),
            (COSINE, -0.5, "-0.500"),
            (ERROR, 3.24e-6, "3.2e-06"),
            (ERROR, 0.0, "0.0e+00"),
            (SECONDS, 0.27, "0.270"),
            (MEGABYTES, 1834.2, "1,834 MB"),
            (Form(2, 10, "x"), 0.5, "5.00 x"),
        ],
    )
    def test_numbers(self, form: Form, value: float, shown: str) -> None:
        assert form.show(value) == shown and shown.startswith(form.number(value))

    @pytest.mark.parametrize("value", [None, True, False, "0.5", math.nan, math.inf, -math.inf, [0.5], {}])
    def test_what_is_no_number_is_a_dash(self, value: object) -> None:
        assert SHARE.show(value) == ERROR.show(value) == percent(value) == MISSING and not is_number(value)

    def test_bounds(self) -> None:
        assert SHARE.bounds == SIZE_COSINE.bounds == (0, 1) and COSINE.bounds == (-1, 1)
        for form in (COUNT, MEAN, DIVERGENCE, ERROR, SECONDS, MEGABYTES):
            assert form.bounds == (0, math.inf)


class TestFigure:
    def test_reads_and_shows(self) -> None:
        figure = Figure("completeness.0.1.accuracy", "a", "b")
        assert (figure.read(RESULTS), figure.show(RESULTS)) == (0.8, "80.0 %")

    @pytest.mark.parametrize("value", [None, True, "x", math.nan, [], {}])
    def test_what_was_not_measured_is_none_and_never_zero(self, value: object) -> None:
        figure = Figure("a", "a", "b")
        for results in ({"a": value}, {}):
            assert figure.read(results) is None and figure.show(results) is None

    def test_a_zero_is_one(self) -> None:
        assert (Figure("a", "a", "b").read({"a": 0}), Figure("a", "a", "b").show({"a": 0})) == (0.0, "0.0 %")

    def test_a_text_takes_the_place_of_the_number(self) -> None:
        figure = Figure("a", "a", "b", text=lambda results: results.get("word"))
        assert figure.show({"a": 0.5, "word": "good"}) == "good" and figure.show({"a": 0.5}) is None
        assert figure.read({"a": 0.5}) == 0.5

    def test_what_goes_beside_it(self) -> None:
        said = beside("mean {}", "b.0.1", ERROR)
        assert said({"b": {"0.1": 2e-7}}) == "mean 2.0e-07"
        assert said({}) == said({"b": {"0.1": None}}) == said({"b": {"0.1": math.nan}}) == ""


class TestRows:
    COLUMNS = (Column("F1", "f1"), Column("texts", "support", COUNT), Column("never", "never"))

    def cells(self, read: Callable[[Results], Grid | None], results: Results) -> list[list[str]]:
        grid = read(results)
        assert grid is not None
        return [list(grid.columns), *([cell.text for cell in row] for row in grid.rows)]

    def test_a_row_a_name_and_the_columns_that_any_row_has(self) -> None:
        results = {"types": {"LOC": {"f1": 0.5, "support": 1200}, "PER": {"f1": None}, "MISC": None}}
        assert self.cells(rows_of("types", "type", self.COLUMNS), results) == [
            ["type", "F1", "texts"],
            ["LOC", "50.0 %", "1,200"],
            ["PER", "–", "–"],
            ["MISC", "–", "–"],
        ]

    def test_below_other_keys_and_with_titles(self) -> None:
        read = rows_of("a.0.1", "share", self.COLUMNS, title=lambda name: f"{name} !")
        assert self.cells(read, {"a": {"0.1": {"x": {"f1": 0.0}}}}) == [["share", "F1"], ["x !", "0.0 %"]]

    @pytest.mark.parametrize("results", [{}, {"types": None}, {"types": 7}, {"types": []}])
    def test_of_nothing_there_is_no_table(self, results: Results) -> None:
        assert rows_of("types", "type", self.COLUMNS)(results) is None

    def test_a_table_without_rows_was_not_measured(self) -> None:
        def table(grid: Grid | None) -> Table:
            return Table("a", "a", "a", "a", lambda results: grid)

        assert table(None).read({}) is table(Grid(["a"], [])).read({}) is None
        assert table(Grid(["a"], [[Cell("x")]])).read({}) is not None


def test_a_number_that_rounds_to_nothing_has_no_sign() -> None:
    assert DIVERGENCE.show(-0.0001) == "0.000" and COSINE.show(-0.0006) == "-0.001" and SHARE.show(-0.00001) == "0.0 %"
