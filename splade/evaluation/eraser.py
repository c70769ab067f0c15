"""ERASER at the bottleneck: does a prediction need the tokens that are named first, and are they enough for it?

The measures of DeYoung et al. 2020 (arXiv:1911.03429) with vocabulary tokens in the place of words: a token is removed
by setting its activation to 0, and only the head runs again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from splade.evaluation.estimate import Estimate, beside_estimate, estimate_cell
from splade.evaluation.figure import (
    COUNT,
    Cell,
    Curves,
    Drawing,
    Figure,
    Form,
    Grid,
    Key,
    Line,
    Results,
    Table,
    find,
    is_number,
)
from splade.evaluation.measure import MEASURES, Scope
from splade.evaluation.naopc import NAOPC, NAOPCMeter
from splade.evaluation.removal import NUMBERS, SHARES, SIZES, Erased, SpeakingRows
from splade.evaluation.removal_measure import RemovalMeasure

CHANGE = Form(3, bounds=(-1, 1))
"""A difference of two probabilities."""

BETWEEN = Form(3, bounds=(0, 1))
"""A place between two bounds."""


@dataclass(frozen=True)
class Changes:
    """What removing, and what keeping alone, the tokens that are named first takes from a class's probability.

    None: there are no rows.
    """

    comprehensiveness: Estimate | None
    """p(all) − p(all but the first k): high if they were needed."""
    sufficiency: Estimate | None
    """p(all) − p(the first k): low if they are enough."""
    random_comprehensiveness: Estimate | None
    """The same of as many random tokens."""
    random_sufficiency: Estimate | None


@dataclass(frozen=True)
class EraserResult:
    """Comprehensiveness and sufficiency of the tokens that speak most for the class decided on."""

    aopc: Changes
    """Mean over the shares, those that come to the same number of tokens counting once."""
    naopc: NAOPC
    shares: dict[float, Changes]
    """By the share of a row's active tokens."""
    tokens: dict[int, Changes]
    """By the number of tokens."""
    rows: int
    """Looked at."""
    silent: int
    """Left out, since without any active token there is nothing to remove."""


def size_name(size: str) -> str:
    """`0.1` is 10 %, `3` is 3 tokens."""
    if "." in size:
        return f"{100 * float(size):g} %"
    return f"{size} token{'s' if size != '1' else ''}"


def _table(results: Results) -> Grid | None:
    found = find(results, "eraser") or {}
    rows = {"AOPC": found.get("aopc") or {}}
    rows |= {size_name(size): row for key in ("shares", "tokens") for size, row in (found.get(key) or {}).items()}
    columns = {
        "comprehensiveness": "comprehensiveness",
        "random_comprehensiveness": "random tokens",
        "sufficiency": "sufficiency",
        "random_sufficiency": "random tokens",
    }
    cells = [
        [Cell(name), *(estimate_cell(row.get(key), CHANGE) for key in columns)] for name, row in rows.items() if row
    ]
    return Grid(["removed or kept", *columns.values()], cells)


def _curves(kind: str, done: str) -> Callable[[Results], Curves | None]:
    def read(results: Results) -> Curves | None:
        rows = sorted((100 * float(share), row) for share, row in (find(results, "eraser.shares") or {}).items())
        named = {kind: "those that contribute most", f"random_{kind}": "random ones"}
        lines = [
            Line(name, [(share, row[key]["mean"]) for share, row in rows if row.get(key)], quiet=key != kind)
            for key, name in named.items()
        ]
        return Curves(f"% of active tokens {done}", f"{kind} (probability)", lines, log_x=True) if rows else None

    return read


def _beside_naopc(kind: str) -> Callable[[Results], str]:
    """The interval, chance, and on how many texts it stands."""
    key = f"eraser.naopc.{kind}"
    interval = beside_estimate(key, BETWEEN, random=f"eraser.naopc.random_{kind}")

    def said(results: Results) -> str:
        rows, level, clamped = (find(results, f"eraser.naopc.{count}") for count in ("rows", "level", "clamped"))
        parts = [interval(results)]
        if is_number(rows) and is_number(level):
            parts.append(f"{COUNT.show(rows - level)} looked at")
        if is_number(clamped) and clamped:
            parts.append(f"{COUNT.show(clamped)} of them beyond the bounds found")
        return "; ".join(part for part in parts if part)

    return said


@MEASURES.register("eraser")
class Eraser(RemovalMeasure[EraserResult]):
    """Change of the decided class's probability when the tokens named first are removed, or alone kept."""

    title = "ERASER"
    about = (
        "Active tokens are removed, or alone kept, in the order of their contribution to the class decided on, and the "
        "class's probability is read again{tagging:, at the words tagged as entities}. Comprehensiveness should be "
        "high and sufficiency low, far from those of random tokens. NAOPC puts comprehensiveness between the worst (0) "
        "and the best (1) order of the same tokens. These are questions to the head alone. A contribution is exact "
        "where the head is, while removing tokens moves it: for a ReLU head gradient × input is the very same "
        "contribution, and others, such as integrated gradients, may rank tokens better (`explainers`). "
        "It says that the sum is told truly, not that the words of the text were read truly. Random tokens: mean of "
        "five draws."
    )
    section = "eraser"
    version = 2
    groups = 1 + len(SIZES)
    figures = (
        Figure(
            "eraser.naopc.comprehensiveness.mean",
            "NAOPC of comprehensiveness",
            "Where the loss of probability lies when tokens are removed by their contribution: 0 as with the worst "
            "order of the same tokens, 1 as with the best; on a sample.",
            BETWEEN,
            better="higher",
            column="naopc",
            panel=True,
            beside=_beside_naopc("comprehensiveness"),
        ),
        Figure(
            "eraser.naopc.sufficiency.mean",
            "NAOPC of sufficiency",
            "The same when tokens are kept by their contribution: 0 as with the order that loses least.",
            BETWEEN,
            better="lower",
            brief=False,
            beside=_beside_naopc("sufficiency"),
        ),
        Figure(
            "eraser.aopc.comprehensiveness.mean",
            "comprehensiveness",
            "Loss of the decided class's probability without the tokens that contribute most, mean over 1, 5, 10, 20 "
            "and 50 % of the active ones.",
            CHANGE,
            better="higher",
            column="comprehensiveness",
            beside=beside_estimate(
                "eraser.aopc.comprehensiveness", CHANGE, random="eraser.aopc.random_comprehensiveness"
            ),
        ),
        Figure(
            "eraser.aopc.sufficiency.mean",
            "sufficiency",
            "Loss of the decided class's probability with the tokens alone that contribute most, mean over the same "
            "shares.",
            CHANGE,
            better="lower",
            column="sufficiency",
            beside=beside_estimate("eraser.aopc.sufficiency", CHANGE, random="eraser.aopc.random_sufficiency"),
        ),
    )
    tables = (
        Table(
            "eraser.aopc",
            "eraser.{aopc,shares.<share>,tokens.<number>}.{comprehensiveness,sufficiency,random_comprehensiveness,"
            "random_sufficiency}.{mean,low,high}",
            "Tokens removed or kept",
            "Change of the decided class's probability, with its 95 % interval over texts: removing that share or "
            "number of each {unit}'s active tokens (comprehensiveness) or alone keeping it (sufficiency), and as many "
            "random ones. AOPC is the mean over the shares, those that come to as many tokens counting once.",
            _table,
        ),
    )
    drawings = (
        Drawing(
            "comprehensiveness",
            "Probability lost without a share of the active tokens",
            "The higher the line and the further above that of random tokens, the more the prediction needed the "
            "tokens that are named first.",
            _curves("comprehensiveness", "removed"),
        ),
        Drawing(
            "sufficiency",
            "Probability lost with a share of the active tokens alone",
            "The lower the line and the further below that of random tokens, the sooner the tokens that are named "
            "first are enough.",
            _curves("sufficiency", "kept"),
        ),
    )
    keys = (
        Key(
            "eraser.{rows,silent}", "{units} looked at, and those left out because they have no active token to remove"
        ),
        Key(
            "eraser.naopc.{comprehensiveness,sufficiency,random_comprehensiveness,random_sufficiency}.{mean,low,high}",
            "(AOPC − lower)/(upper − lower), mean over {units} with its 95 % interval; the bounds are those of all "
            "orders of removal for at most 12 active tokens, and for more those that a beam search of 5 finds",
        ),
        Key(
            "eraser.naopc.{rows,exact,coarse,level,clamped}",
            "{units} of that sample; those of them with the bounds of all orders; those with more than 200 tokens, "
            "whose bounds are of the order of what each token does alone; those left out because all orders "
            "are alike (one token, or a probability that nothing moves); those in which our order lay beyond the "
            "bounds that the search had found, and was put at the bound",
        ),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        self._naopc = NAOPCMeter(scope.model, len(scope.task.labels), scope.seed)

    @staticmethod
    def pair(erased: Erased) -> tuple[Tensor, Tensor]:
        """Comprehensiveness and sufficiency: their AOPC, then those of each of SIZES."""
        kinds = (erased.comprehensiveness, erased.sufficiency)  # (R, K) each
        first, second = (torch.cat([erased.aopc(changes)[:, None], changes], 1) for changes in kinds)
        return first, second

    def look_at(self, rows: SpeakingRows, texts: np.ndarray) -> None:
        self._naopc.add(rows.state.rows, rows.attribution.value, rows.classes, texts, rows.places)

    def result(self) -> EraserResult:
        aopc, *sizes = (Changes(*each) for each in self.estimated())
        return EraserResult(
            aopc,
            self._naopc.result(),
            dict(zip(SHARES, sizes, strict=False)),
            dict(zip(NUMBERS, sizes[len(SHARES) :], strict=True)),
            self.rows,
            self.silent,
        )
