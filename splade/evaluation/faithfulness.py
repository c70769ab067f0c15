"""Removability: does the prediction change when the tokens it is put down to are taken away?"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from splade.evaluation.eraser import CHANGE, size_name
from splade.evaluation.estimate import Estimate, beside_estimate, estimate_cell
from splade.evaluation.figure import SHARE, Cell, Curves, Drawing, Figure, Grid, Key, Line, Results, Table, find
from splade.evaluation.measure import MEASURES
from splade.evaluation.removal import NUMBERS, SHARES, SIZES, Erased
from splade.evaluation.removal_measure import RemovalMeasure


@dataclass(frozen=True)
class RemovabilityAt:
    """What zeroing some tokens does; None: there are no rows."""

    flip_rate: Estimate | None
    """Share of rows whose most probable class is another then."""
    drop: Estimate | None
    """Mean loss of the decided class's probability."""
    random_flip_rate: Estimate | None
    """The same of as many random tokens."""
    random_drop: Estimate | None


@dataclass(frozen=True)
class RemovabilityResult:
    """What zeroing the tokens that speak most for the class decided on does."""

    shares: dict[float, RemovabilityAt]
    """By the share of a row's active tokens."""
    tokens: dict[int, RemovabilityAt]
    """By the number of tokens."""
    rows: int
    """Looked at."""
    silent: int
    """Left out, since without any active token there is nothing to remove."""


COLUMNS = {
    "flip_rate": ("flipped", SHARE),
    "random_flip_rate": ("random tokens", SHARE),
    "drop": ("loss of probability", CHANGE),
    "random_drop": ("random tokens", CHANGE),
}


def _table(results: Results) -> Grid | None:
    sizes = [
        (size_name(size), row)
        for key in ("tokens", "shares")
        for size, row in (find(results, f"removability.{key}") or {}).items()
    ]
    rows = [
        [Cell(name), *(estimate_cell(row.get(key), form) for key, (_, form) in COLUMNS.items())] for name, row in sizes
    ]
    return Grid(["removed", *(title for title, _ in COLUMNS.values())], rows)


def _curves(results: Results) -> Curves | None:
    rows = sorted((int(number), row) for number, row in (find(results, "removability.tokens") or {}).items())
    named = {"flip_rate": "those that contribute most", "random_flip_rate": "random ones"}
    lines = [
        Line(name, [(n, 100 * row[key]["mean"]) for n, row in rows if row.get(key)], quiet=key != "flip_rate")
        for key, name in named.items()
    ]
    return Curves("tokens removed", "predictions that change (%)", lines, log_x=True) if rows else None


@MEASURES.register("removability")
class Removability(RemovalMeasure[RemovabilityResult]):
    """Flip rate and loss of probability when the tokens that contribute most are zeroed."""

    title = "Removability"
    about = (
        "The active tokens that speak most for the class decided on are set to 0, and the head decides again"
        "{tagging:, at the words tagged as entities}. If the tokens named are the reasons, predictions change sooner "
        "than when as many random tokens go."
    )
    section = "removability"
    version = 2
    groups = len(SIZES)
    figures = (
        Figure(
            "removability.tokens.3.flip_rate.mean",
            "flipped without 3 tokens",
            "Share of {units} given another class when the three tokens that contribute most are set to 0.",
            better="higher",
            column="flip_rate",
            beside=beside_estimate(
                "removability.tokens.3.flip_rate", SHARE, random="removability.tokens.3.random_flip_rate"
            ),
        ),
        Figure(
            "removability.tokens.10.flip_rate.mean",
            "flipped without 10 tokens",
            "Share of {units} given another class when the ten tokens that contribute most are set to 0, or all where "
            "there are fewer.",
            better="higher",
            brief=False,
            beside=beside_estimate(
                "removability.tokens.10.flip_rate", SHARE, random="removability.tokens.10.random_flip_rate"
            ),
        ),
        Figure(
            "removability.tokens.3.drop.mean",
            "loss of probability without 3 tokens",
            "Mean loss of the decided class's probability when the three tokens that contribute most are set to 0.",
            CHANGE,
            better="higher",
            brief=False,
            beside=beside_estimate("removability.tokens.3.drop", CHANGE, random="removability.tokens.3.random_drop"),
        ),
    )
    tables = (
        Table(
            "removability.tokens",
            "removability.{tokens.<number>,shares.<share>}.{flip_rate,drop,random_flip_rate,random_drop}.{mean,low,high}",
            "Tokens set to 0",
            "{units} whose most probable class is another without that many of their active tokens, and the loss of "
            "the decided class's probability, with 95 % intervals over texts; and those of as many random tokens.",
            _table,
        ),
    )
    drawings = (
        Drawing(
            "removability",
            "Predictions that change without a few tokens",
            "The further above random ones, the more the tokens that are named first hold the prediction up.",
            _curves,
        ),
    )
    keys = (
        Key(
            "removability.{rows,silent}",
            "{units} looked at, and those left out, which have no active token to remove",
        ),
    )

    @staticmethod
    def pair(erased: Erased) -> tuple[Tensor, Tensor]:
        return erased.flipped.double(), erased.comprehensiveness

    def result(self) -> RemovabilityResult:
        sizes = [RemovabilityAt(*each) for each in self.estimated()]
        return RemovabilityResult(
            dict(zip(SHARES, sizes, strict=False)),
            dict(zip(NUMBERS, sizes[len(SHARES) :], strict=True)),
            self.rows,
            self.silent,
        )
