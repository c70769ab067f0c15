"""How agreement with people is shown: figures, the table of explainers, and what a reader should not miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from splade.evaluation.agreement_rows import RowAgreement
from splade.evaluation.figure import (
    COUNT,
    MISSING,
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
    percent,
)
from splade.evaluation.paired import FEWEST_TEXTS

AP = Form(3, bounds=(0, 1))

ALL = 100
"""Rows that a terminal shows: all there can be."""

TITLES = {
    "dla": "this model (DLA)",
    "random": "random words",
    "empty": "no word at all",
    "content_words": "no stop words",
    "tfidf": "TF-IDF regression",
    "untrained": "this model before training",
}
"""What the rows are called; others by their names."""

COLUMNS = (
    Column("with equal scores by chance", "ap_chance.mean", AP),
    Column("spread over phrases", "ap_phrase.mean", AP),
    Column("of |score|", "ap_size.mean", AP),
    Column("toward the label", "ap_label.mean", AP),
    Column("F1, as many words as marked", "f1_gold.mean", AP),
    Column("F1, share of training", "f1_training.mean", AP),
    Column("accuracy", "accuracy"),
)

PROTOCOL_COLUMNS = (
    Column("AUPRC", "protocol.auprc", AP),
    Column("token F1", "protocol.token_f1", AP),
    Column("IOU F1, a span a word", "protocol.iou_f1_single", AP),
    Column("IOU F1, spans merged", "protocol.iou_f1_merged", AP),
    Column("texts", "protocol.texts", COUNT),
)


def _with_interval(row: Mapping[str, Any], key: str) -> str:
    """`0.610 [0.580, 0.640]`; a dash where it was not measured."""
    mean, low, high = (AP.show(find(row, f"{key}.{end}")) for end in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]" if mean != MISSING else MISSING


def _table(results: Results) -> Grid | None:
    return _grid(results, COLUMNS, {"ap": "AP [95 %]", "against_ours": "less ours [95 %]"}, _note(results))


def _protocol_table(results: Results) -> Grid | None:
    name = find(results, "agreement.protocol")
    return _grid(results, PROTOCOL_COLUMNS, {}, f"The protocol '{name}'.") if name else None


def _grid(results: Results, columns: Sequence[Column], first: Mapping[str, str], note: str) -> Grid | None:
    """A row an explainer; `first`: headings of the columns with intervals, by key."""
    rows = find(results, "agreement.explainers")
    if not isinstance(rows, Mapping):
        return None
    having = [column for column in columns if any(is_number(find(row, column.key)) for row in rows.values())]
    cells = [
        [
            Cell(TITLES.get(name, str(name))),
            *(Cell(_with_interval(row, key)) for key in first),
            *(Cell(column.form.show(find(row, column.key))) for column in having),
        ]
        for name, row in rows.items()
    ]
    return Grid(["words of", *first.values(), *(column.title for column in having)], cells, note=note)


def _note(results: Results) -> str:
    found = find(results, "agreement") or {}
    windows = ""
    if found.get("long"):
        windows = (
            f" {found['long']:,} texts are longer than the model reads at a time and were read in windows; without "
            f"them it would have seen {percent(found.get('seen_at_once'))} of the marked words."
        )
    return (
        f"{found.get('texts', 0):,} texts; left out are {found.get('without', 0):,} without marked words and "
        f"{found.get('whole', 0):,} in which all are.{windows}"
    )


def _beside(results: Results) -> str:
    low, high = (AP.show(find(results, f"agreement.explainers.dla.ap.{end}")) for end in ("low", "high"))
    others = [
        f"{TITLES[name]} {AP.show(find(results, f'agreement.explainers.{name}.ap.mean'))}"
        for name in ("random", "tfidf", "untrained")
        if is_number(find(results, f"agreement.explainers.{name}.ap.mean"))
    ]
    return ", ".join([f"95 %: {low} to {high}", *others])


FIGURES = (
    Figure(
        "agreement.explainers.dla.ap.mean",
        "agreement with people (AP)",
        "Average precision of this model's words, ranked by what they add to the class predicted, against the words "
        "that people marked as the reason; mean over texts.",
        AP,
        better="higher",
        headline=True,
        column="agreement",
        panel=True,
        beside=_beside,
    ),
    Figure(
        "agreement.explainers.tfidf.ap.mean",
        "the same of TF-IDF regression (AP)",
        "Average precision of a logistic regression on single words, fitted to the same training texts: its own words "
        "for its own predictions.",
        AP,
        column="agreement_tfidf",
        brief=False,
    ),
    Figure(
        "agreement.explainers.dla.f1_gold.mean",
        "F1 with people's words",
        "Of as many words as people marked, the share that is right; mean over texts.",
        AP,
        better="higher",
        column="agreement_f1",
        brief=False,
    ),
)

TABLES = (
    Table(
        "agreement.explainers",
        "agreement.explainers.<name>.{ap,ap_size,ap_label,ap_chance,ap_phrase,f1_gold,f1_training}.{mean,low,high}, "
        "agreement.explainers.<name>.against_ours.{mean,low,high,texts}, agreement.explainers.<name>.accuracy",
        "Whose words are people's",
        "Average precision (AP) of words ranked by their scores toward the class predicted, with its 95 % interval by "
        "bootstrap over texts, and less that of this model, text by text; of the scores' sizes; toward the label; and "
        "with words of the same score in random order, which compares explanations of few words with those that score "
        "every word; and with each score spread over the words around it, since people mark phrases: this helps all "
        "alike. Token F1 of as many words as were marked, and of the share marked in training. The "
        "untrained model's words are those at which it is active: its head says nothing yet. Random words and no stop "
        "words: mean of five draws.",
        _table,
        brief=ALL,
    ),
    Table(
        "agreement.protocol",
        "agreement.explainers.<name>.protocol.{auprc,token_f1,iou_f1_single,iou_f1_merged,texts}",
        "As published",
        "The figures of `evaluation.protocol`, whole texts too, to stand beside those of papers. AUPRC is by the "
        "trapezoid rule, which rewards silence: look at the row of no word at all. IOU F1 depends on what is called a "
        "span.",
        _protocol_table,
        brief=ALL,
    ),
)

KEYS = (
    Key(
        "agreement.{texts,without,whole,long,seen,seen_at_once,share,protocol}",
        "texts compared; texts left out because nobody marked a word, or because all are marked; texts read in "
        "windows; share of the marked words read, and read without windows; mean share of a text's words that is "
        "marked; the published protocol asked for",
    ),
    Key(
        "agreement.training.{share,length}",
        "mean share of a text's words that is marked in the training texts, and mean number of words marked in a row",
    ),
)


AHEAD = {
    "tfidf": "TF-IDF's own words agree more with people than this model's: single words, whatever stands around them, "
    "explain what people marked better",
    "untrained": "This model's words agreed more with people before its training than after: the agreement comes from "
    "which words may speak, not from what was learnt",
    "content_words": "Words that are no stop words, in random order, agree more with people than this model's",
    "random": "Random words agree more with people than this model's: its reasons are not theirs",
}
"""By row, what is said of those that know less than this model and agree more with people."""


def agreement_findings(rows: Mapping[str, RowAgreement]) -> list[str]:
    """On rows that know less than this model: those that agree more with people, beyond chance on the same texts, and
    those that cannot be told apart from it."""
    ours, found = rows["dla"].ap.mean, []
    less = {name: each for name in AHEAD if name in rows and (each := rows[name].against_ours) is not None}
    for name, difference in less.items():
        figures = (
            f"{AP.show(rows[name].ap.mean)} against {AP.show(ours)} on {difference.texts:,} texts, difference "
            f"{AP.show(difference.mean)} (95 %: {AP.show(difference.low)} to {AP.show(difference.high)})"
        )
        if difference.is_above:
            found.append(f"{AHEAD[name]}: {figures}.")
        elif difference.can_be_told and not difference.is_below:
            found.append(f"In agreement with people, {TITLES[name]} cannot be told apart from this model: {figures}.")
    few = [difference.texts for difference in less.values() if not difference.can_be_told]
    if few:
        found.append(
            f"Of {max(few):,} texts with marked words, fewer than {FEWEST_TEXTS}, it cannot be told whose words agree "
            "more with people."
        )
    return found
