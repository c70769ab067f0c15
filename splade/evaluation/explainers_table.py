"""How the comparison of explainers is shown: faithfulness, what each has less ours, cost; words first, then tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
AP = NAOPC = Form(3, bounds=(0, 1))

FAITHFULNESS = (
    Column("texts", "texts", COUNT),
    Column("compr.", "comprehensiveness.mean", CHANGE),
    Column("suff.", "sufficiency.mean", CHANGE),
    Column("compr., masked", "masked_comprehensiveness.mean", CHANGE),
    Column("suff., masked", "masked_sufficiency.mean", CHANGE),
    Column("R²", "deletion.r2", R2),
    Column("τ", "deletion.tau", COSINE),
    Column("top word", "deletion.top_word"),
    Column("AP", "agreement.mean", AP),
)

COST = (
    Column("sum error", "sum_error.median", ERROR),
    Column("largest error", "sum_error.max", ERROR),
    Column("stability", "stability", COSINE),
    Column("passes", "passes", MEAN),
    Column("seconds", "seconds", SECONDS),
)

COLUMNS = (*FAITHFULNESS, *COST)
"""All that is measured of an explainer at the words."""

DIFFERENCES = (
    Column("texts", "texts", COUNT),
    Column("compr.", "against_ours.comprehensiveness.mean", CHANGE),
    Column("suff.", "against_ours.sufficiency.mean", CHANGE),
    Column("compr., masked", "against_ours.masked_comprehensiveness.mean", CHANGE),
    Column("suff., masked", "against_ours.masked_sufficiency.mean", CHANGE),
    Column("τ", "against_ours.tau.mean", COSINE),
    Column("AP", "against_ours.agreement.mean", AP),
)

TOKENS = (
    Column("texts", "tokens.naopc_texts", COUNT),
    Column("NAOPC, compr.", "tokens.naopc_comprehensiveness.mean", NAOPC),
    Column("less ours", "against_ours.tokens.naopc_comprehensiveness.mean", NAOPC),
    Column("NAOPC, suff.", "tokens.naopc_sufficiency.mean", NAOPC),
    Column("less ours", "against_ours.tokens.naopc_sufficiency.mean", NAOPC),
    Column("compr.", "tokens.comprehensiveness.mean", CHANGE),
    Column("suff.", "tokens.sufficiency.mean", CHANGE),
    Column("beyond bounds", "tokens.clamped", COUNT),
)

BRIEF = ("texts", "compr.", "suff.", "τ", "AP")
"""Headings of what a terminal shows of faithfulness, and of what each has less ours."""


def explainer_title(name: str) -> str:
    """What a table calls an explainer."""
    return EXPLAINERS.get(name).title or name.replace("_", " ") if name in EXPLAINERS.names() else name


def _own(results: Results) -> dict[str, Mapping[str, Any]]:
    """The rows of our model, by their titles."""
    found = find(results, "explainers") or {}
    return {explainer_title(name): row for name, row in found.items() if name not in (DENSE, COUNTS)}


def _dense(results: Results) -> dict[str, Mapping[str, Any]]:
    """The rows of the dense baseline."""
    return {explainer_title(name): row for name, row in (find(results, f"explainers.{DENSE}") or {}).items()}


def _faithfulness(results: Results) -> Grid:
    return _grid(_own(results), FAITHFULNESS, f"{_note(results)}{_fewer(_own(results))}", BRIEF)


def _differences(results: Results) -> Grid:
    rows = {title: row for title, row in _own(results).items() if row.get("against_ours")}
    note = "Above 0: higher than ours. An interval that holds 0 tells nothing apart."
    return _grid(rows, DIFFERENCES, note, BRIEF)


def _cost(results: Results) -> Grid:
    return _grid(_own(results), COST, _timed(_own(results)), [column.title for column in COST])


def _at_tokens(results: Results) -> Grid:
    """Those that can rank the active tokens of our own model."""
    return _grid({title: row for title, row in _own(results).items() if row.get("tokens")}, TOKENS, "")


def _dense_faithfulness(results: Results) -> Grid:
    return _grid(_dense(results), FAITHFULNESS, _fewer(_dense(results)), BRIEF)


def _dense_cost(results: Results) -> Grid:
    return _grid(_dense(results), COST, _timed(_dense(results)))


def _grid(
    rows: Mapping[str, Mapping[str, Any]], columns: Sequence[Column], note: str, brief: Sequence[str] = ()
) -> Grid:
    having = [column for column in columns if any(is_number(find(row, column.key)) for row in rows.values())]
    cells = [[Cell(title), *(_cell(row, column) for column in having)] for title, row in rows.items()]
    return Grid(["explainer", *(column.title for column in having)], cells, note=note.strip(), brief=brief)


def _cell(row: Mapping[str, Any], column: Column) -> Cell:
    """A figure, with its interval where one points at it; of a difference, the interval beside it."""
    place, value = column.key.removesuffix(".mean"), find(row, column.key)
    if place.startswith("deletion."):
        place = f"deletion.intervals.{place.removeprefix('deletion.')}"
    low, high = find(row, f"{place}.low"), find(row, f"{place}.high")
    ends = is_number(low) and is_number(high)
    if place.startswith("against_ours.") and is_number(value) and ends:
        texts = find(row, f"{place}.texts")
        shown = f"{value:+.{column.form.digits}f} [{column.form.show(low)}, {column.form.show(high)}]"
        return Cell(shown, title=f"on {COUNT.show(texts)} texts")
    return Cell(
        column.form.show(value), title=f"95 %: {column.form.show(low)} to {column.form.show(high)}" if ends else ""
    )


def _note(results: Results) -> str:
    of = find(results, f"explainers.{COUNTS}") or {}
    if not of:
        return ""
    read = f"{of.get('texts', 0):,} texts of {of.get('words', 0):,} words, the same for all from the first on"
    marked = f"; people marked words in {of['marked']:,} of them" if of.get("marked") else ""
    return f"{read}{marked}. Each model is explained for the class that it predicts."


def _timed(rows: Mapping[str, Mapping[str, Any]]) -> str:
    texts, again = (
        sorted({row[key] for row in rows.values() if is_number(row.get(key))})
        for key in ("timed_texts", "stability_texts")
    )
    cost = f"Passes and seconds are of the first {max(texts):,} texts." if texts else ""
    spread = f"{min(again):,} to {max(again):,}" if len(again) > 1 else f"{max(again, default=0):,}"
    return f"{cost} Stability is of {spread} texts." if again else cost


def _fewer(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Which rows are of fewer texts than others, and so not to be read beside them."""
    most = max((row.get("texts") or 0 for row in rows.values()), default=0)
    fewer = [title for title, row in rows.items() if (row.get("texts") or 0) < most]
    if not fewer:
        return ""
    stand = "stands" if len(fewer) == 1 else "stand"
    return f" {', '.join(fewer)} {stand} on fewer texts, easier or harder ones: what each has less ours is on the same."


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
        "silent_effect,texts,words,intervals}, explainers.<name>.texts",
        "Explainers, at the words of the text",
        "Compr(ehensiveness, higher is better) and suff(iciency, lower is better): probability lost without the words "
        "named first, and with them alone, by deleting words and by masking them. R², τ and top word: do the scores "
        "say what deleting a single word does? R² only of scores in the unit of the logit. AP: average precision "
        "against words that people marked. Random words, words in no order and no stop words: mean of five draws.",
        _faithfulness,
        brief=ALL,
    ),
    Table(
        "explainers.against_ours",
        "explainers.<name>.against_ours.<figure>.{mean,low,high,texts}",
        "What each has less ours, on the same texts",
        "The same figures less those of our own sum, text by text, on the very texts that the explainer explained, "
        "with the 95 % interval of that difference by bootstrap over texts.",
        _differences,
        brief=ALL,
    ),
    Table(
        "explainers.cost",
        "explainers.<name>.sum_error.{median,max}, "
        "explainers.<name>.{stability,stability_texts,passes,seconds,timed_texts}",
        "Explainers: exactness, stability and cost",
        "Sum error: |Σ scores + base − logit|, median and largest; a dash where an explainer does not claim to add up "
        "to the logit. Stability: rank correlation of a text's words when it is explained with five seeds, alone and "
        "among others, measured of those too that draw nothing; a dash where words have no ranks. Passes (mean) and "
        "seconds (median): to explain one text by itself, of the texts that all have explained; a pass is a text read "
        "forward or backward.",
        _cost,
        brief=ALL,
    ),
    Table(
        "explainers.tokens",
        "explainers.<name>.tokens.{naopc_comprehensiveness,naopc_sufficiency,comprehensiveness,sufficiency}."
        "{mean,low,high}, explainers.<name>.tokens.{texts,naopc_texts,clamped}",
        "Explainers, at the active vocabulary tokens",
        "The same where tokens are removed from the sum and only the head runs again; NAOPC: between the worst (0) and "
        "the best (1) order that was found, on the texts whose bounds could be looked for; orders beyond these bounds "
        "count as at them. For a ReLU head gradient × input is our sum itself, so that the two are equal here; others "
        "may rank tokens better, since a contribution is that of a token where all the others are there.",
        _at_tokens,
    ),
    Table(
        "explainers.dense",
        "explainers.dense.<name>",
        "Explainers of the dense baseline, at the words of the text",
        "The same explainers on the ordinary head that was trained beside our model, each text for the class that "
        "the dense model predicts: another model, so that its figures are not to be read beside ours.",
        _dense_faithfulness,
        brief=ALL,
    ),
    Table(
        "explainers.dense.cost",
        "explainers.dense.<name>.{sum_error,stability,passes,seconds}",
        "Explainers of the dense baseline: exactness, stability and cost",
        "As above, of the dense baseline.",
        _dense_cost,
    ),
)

KEYS = (Key("explainers.of.{texts,words,marked}", "texts and words compared, and texts of which people marked words"),)
