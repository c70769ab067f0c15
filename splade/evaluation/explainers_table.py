"""How the comparison of explainers is shown: one table with cost, one of the bottleneck, and where a rival wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from splade.evaluation.estimate import Estimate
from splade.evaluation.explainer_figures import ExplainerFigures
from splade.evaluation.figure import (
    COSINE,
    COUNT,
    ERROR,
    MEAN,
    Cell,
    Column,
    Figure,
    Form,
    Grid,
    Key,
    Results,
    Table,
    find,
    is_number,
)
from splade.explainers import EXPLAINERS

ALL = 100
"""Rows that a terminal shows: all there can be."""

DENSE, COUNTS = "dense", "of"
"""Keys beside the explainers' names: the rows of the dense baseline, and what was compared."""

CHANGE = Form(3, bounds=(-1, 1))
SECONDS = Form(4)
R2 = Form(2, bounds=(-float("inf"), 1))

COLUMNS = (
    Column("texts", "texts", COUNT),
    Column("compr.", "comprehensiveness.mean", CHANGE),
    Column("suff.", "sufficiency.mean", CHANGE),
    Column("compr., masked", "masked_comprehensiveness.mean", CHANGE),
    Column("suff., masked", "masked_sufficiency.mean", CHANGE),
    Column("R²", "deletion.r2", R2),
    Column("τ", "deletion.tau", COSINE),
    Column("top word", "deletion.top_word"),
    Column("AP", "agreement.mean", Form(3, bounds=(0, 1))),
    Column("sum error", "sum_error.median", ERROR),
    Column("largest error", "sum_error.max", ERROR),
    Column("stability", "stability", COSINE),
    Column("passes", "passes", MEAN),
    Column("seconds", "seconds", SECONDS),
)

TOKEN_COLUMNS = (
    Column("texts", "texts", COUNT),
    Column("NAOPC, compr.", "tokens.naopc_comprehensiveness.mean", Form(3, bounds=(0, 1))),
    Column("NAOPC, suff.", "tokens.naopc_sufficiency.mean", Form(3, bounds=(0, 1))),
    Column("compr.", "tokens.comprehensiveness.mean", CHANGE),
    Column("suff.", "tokens.sufficiency.mean", CHANGE),
)


BRIEF = ("texts", "compr.", "suff.", "τ", "AP", "sum error", "passes", "seconds")
"""Headings of what a terminal shows of it."""


def explainer_title(name: str) -> str:
    """What a table calls an explainer."""
    return EXPLAINERS.get(name).title or name.replace("_", " ") if name in EXPLAINERS.names() else name


def _rows(results: Results) -> dict[str, Mapping[str, Any]]:
    """The rows by their titles: of our model, then of the dense baseline."""
    found = find(results, "explainers") or {}
    own = {explainer_title(name): row for name, row in found.items() if name not in (DENSE, COUNTS)}
    return own | {f"{explainer_title(name)}, dense": row for name, row in (found.get(DENSE) or {}).items()}


def comparison_grid(results: Results) -> Grid:
    """All explainers at the words, with what they cost."""
    return replace(_grid(_rows(results), COLUMNS, _note(results)), brief=BRIEF)


def token_grid(results: Results) -> Grid:
    """Those that can rank the active tokens of our own model."""
    return _grid({title: row for title, row in _rows(results).items() if row.get("tokens")}, TOKEN_COLUMNS, "")


def _grid(rows: Mapping[str, Mapping[str, Any]], columns: Sequence[Column], note: str) -> Grid:
    having = [column for column in columns if any(is_number(find(row, column.key)) for row in rows.values())]
    cells = [[Cell(title), *(_cell(row, column) for column in having)] for title, row in rows.items()]
    return Grid(["explainer", *(column.title for column in having)], cells, note=note)


def _cell(row: Mapping[str, Any], column: Column) -> Cell:
    place = column.key.removesuffix(".mean")
    low, high = find(row, f"{place}.low"), find(row, f"{place}.high")
    if place.startswith("deletion."):
        low, high = (
            find(row, f"deletion.intervals.{place.removeprefix('deletion.')}.{end}") for end in ("low", "high")
        )
    within = f"95 %: {column.form.show(low)} to {column.form.show(high)}" if is_number(low) and is_number(high) else ""
    return Cell(column.form.show(find(row, column.key)), title=within)


def _note(results: Results) -> str:
    of = find(results, f"explainers.{COUNTS}") or {}
    if not of:
        return ""
    read = f"{of.get('texts', 0):,} texts of {of.get('words', 0):,} words, the same for all from the first on"
    marked = f"; people marked words in {of['marked']:,} of them" if of.get("marked") else ""
    explained = "Each model is explained for the class that it predicts. A pass is a text read forward or backward."
    return f"{read}{marked}. {explained}"


def _chance(name: str) -> Callable[[Results], str]:
    def said(results: Results) -> str:
        low, high, chance = (
            find(results, f"explainers.{key}") for key in (f"dla.{name}.low", f"dla.{name}.high", f"random.{name}.mean")
        )
        parts = [f"95 % interval {CHANGE.show(low)} to {CHANGE.show(high)}"] if is_number(low) else []
        return "; ".join([*parts, *([f"random words {CHANGE.show(chance)}"] if is_number(chance) else [])])

    return said


FIGURES = (
    Figure(
        "explainers.dla.comprehensiveness.mean",
        "comprehensiveness of words",
        "Loss of the predicted label's probability when the words that our sum names first are deleted from the text, "
        "mean over 1, 5, 10, 20 and 50 % of the words.",
        CHANGE,
        better="higher",
        beside=_chance("comprehensiveness"),
    ),
    Figure(
        "explainers.dla.sufficiency.mean",
        "sufficiency of words",
        "Loss of the predicted label's probability when those words alone are left.",
        CHANGE,
        better="lower",
        beside=_chance("sufficiency"),
    ),
)

ESTIMATES = "{comprehensiveness,sufficiency,masked_comprehensiveness,masked_sufficiency,agreement}.{mean,low,high}"

TABLES = (
    Table(
        "explainers",
        f"explainers.<name>.{ESTIMATES}, explainers.<name>.deletion.{{pearson,r2,tau,top_word,right_sign,"
        "silent_effect,texts,words,intervals}, explainers.<name>.sum_error.{median,max}, "
        "explainers.<name>.{stability,stability_texts,passes,seconds,texts}",
        "Explainers, at the words of the text",
        "Compr(ehensiveness, higher is better) and suff(iciency, lower is better): probability lost without the words "
        "named first, and with them alone, by deleting words and by masking them. R², τ and top word: do the scores "
        "say what deleting a single word does? AP: average precision against words that people marked. Sum error: "
        "|Σ scores + base − logit|, median and largest; a dash where an explainer does not claim to add up. Stability: "
        "rank correlation over five seeds, 1 where nothing is drawn. Passes and seconds: to explain one text.",
        comparison_grid,
        brief=ALL,
    ),
    Table(
        "explainers.tokens",
        "explainers.<name>.tokens.{naopc_comprehensiveness,naopc_sufficiency,comprehensiveness,sufficiency}."
        "{mean,low,high}",
        "Explainers, at the active vocabulary tokens",
        "The same where tokens are removed from the sum and only the head runs again; NAOPC: between the worst (0) and "
        "the best (1) order. For a ReLU head gradient × input is our sum, so that to be best here is nearly a "
        "tautology.",
        token_grid,
    ),
)

KEYS = (
    Key("explainers.dense.<name>", "the same of the dense baseline, where one was trained"),
    Key(
        "explainers.<name>.against_ours.<figure>.{mean,low,high}",
        "what an explainer has less what our own sums have, on the same texts of our model, with its 95 % interval",
    ),
    Key("explainers.of.{texts,words,marked}", "texts and words compared, and texts of which people marked words"),
)

CLAIMS = {
    "tau": ("deletion.tau", "By deletion, {} better than our sum does (Kendall's τ with deleting single words)", True),
    "comprehensiveness": (
        "comprehensiveness.mean",
        "By comprehensiveness, {} better than our sum does (probability lost without the first words)",
        True,
    ),
    "sufficiency": (
        "sufficiency.mean",
        "By sufficiency, {} better than our sum does (probability lost with the first words alone)",
        False,
    ),
    "agreement": ("agreement.mean", "By agreement with people, {} better than our sum does (average precision)", True),
}
"""By figure: where it stands, what a finding says of rivals that are ahead, and whether more is better."""


FEWEST = 6
"""Texts from which on a finding is made: with fewer, a rival ahead in every one of them may be chance, 1 in 2⁵."""


def explainer_findings(rows: Mapping[str, ExplainerFigures]) -> list[str]:
    """Where a rival ranks the words of our own model better than our sum, beyond chance on the same texts."""
    found = []
    for figure, (place, claim, higher) in CLAIMS.items():
        ahead = [(name, row.against_ours[figure]) for name, row in rows.items() if _is_ahead(row, figure, higher)]
        if ahead:
            verb = "ranks" if len(ahead) == 1 else "rank"
            names = [f"{explainer_title(name)}" for name, _ in ahead]
            listed = ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]
            figures = ", ".join(_difference(name, rows[name], difference, place) for name, difference in ahead)
            found.append(f"{claim.format(f'{listed} {verb} words')}: {figures}.")
    return found


def _is_ahead(row: ExplainerFigures, figure: str, higher: bool) -> bool:
    difference = row.against_ours.get(figure)
    if difference is None or row.texts < FEWEST:
        return False
    return difference.low > 0 if higher else difference.high < 0


def _difference(name: str, row: ExplainerFigures, difference: Estimate, place: str) -> str:
    value: Any = row
    for part in place.split("."):
        value = getattr(value, part)
    ours = value - difference.mean
    return f"{explainer_title(name)} {value:.3f} against {ours:.3f} on {row.texts:,} texts"
