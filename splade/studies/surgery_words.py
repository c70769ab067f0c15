"""Words behind the figures: what carries the gap that is left, what took over, whose predictions changed, and swaps."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from splade.data.identity_terms import EXCHANGEABLE
from splade.data.swaps import TEMPLATES, template_frames
from splade.evaluation.swap import swap
from splade.evaluation.thresholds import best_f1_threshold, fpr_threshold
from splade.explainers import Subject
from splade.studies.conditions import CONDITIONS
from splade.studies.conditions.base import PLAIN, Bench, Ran
from splade.studies.conditions.carriers import Said, carried, said
from splade.studies.conditions.coded import CodedTexts
from splade.surgery.codes import NO_WORD
from splade.surgery.suppressed_model import SuppressedModel

BASELINE, WANTED = "baseline", "suppression_refit"

MOST_WORDS = 15
"""Words of a list."""

MOST_EXAMPLES = 12
"""Texts whose prediction changed that are shown."""

LOUDEST = 4
"""Words of a text that are shown."""


def words_found(bench: Bench, ran: Sequence[Ran], matched_fpr: float, seed: int) -> dict[str, Any]:
    """All that is said of words, as plain values; of the first set."""
    by_name = {each.name: each for each in ran}
    if WANTED not in by_name:
        return {}
    part = next(iter(bench.tests.values()))
    refitted = bench.refit(lambda each: each.codes[PLAIN].without(bench.model, bench.words.removal))
    with bench.head():
        before = said(bench.model, part.codes[PLAIN], bench.positive)
        swaps = {BASELINE: _swaps(bench, seed, removed=False)}
    with bench.head(refitted.weights):
        after = said(bench.model, part.codes[PLAIN].without(bench.model, bench.words.removal), bench.positive)
        swaps[WANTED] = _swaps(bench, seed, removed=True)
    both = {BASELINE: before, WANTED: after}
    return {
        "carriers": {
            name: _carriers(of, by_name[name].scores[part.name], part, matched_fpr) for name, of in both.items()
        },
        "took_over": took_over(before, after, bench.words.words),
        "examples": examples(bench, part, both, by_name),
        "swaps": swaps,
    }


def _carriers(of: Said, scores: np.ndarray, part: CodedTexts, matched_fpr: float) -> dict[str, Any]:
    """The words that carry the largest gap of a condition."""
    flagged = scores > fpr_threshold(scores, part.positive, matched_fpr)
    negative = ~part.positive
    gaps = {
        group: float(flagged[inside & negative].mean() - flagged[negative].mean())
        for group, inside in part.members.items()
        if (inside & negative).sum() >= 50
    }
    if not gaps:
        return {}
    group = max(gaps, key=lambda name: gaps[name])
    words = carried(of, flagged, part.positive, part.members, group)
    named = {word or "(no word)": share for word, share in list(words.items())[:MOST_WORDS]}
    return {"group": group, "gap": gaps[group], "words": named}


def took_over(before: Said, after: Said, removed: Sequence[str]) -> list[dict[str, Any]]:
    """Words that say more for the positive label than before, in the texts where removed words stand."""
    silent = np.array([word in removed for word in before.codes.words])
    having = np.zeros(len(before.codes), dtype=bool)
    having[before.codes.row[silent[before.codes.word]]] = True
    sums: dict[str, list[float]] = {}
    for time, of in enumerate((before, after)):
        inside = having[of.codes.row]
        totals = np.bincount(of.codes.word[inside], of.value[inside], len(of.codes.words))
        for place in np.flatnonzero(totals).tolist():
            sums.setdefault(of.codes.words[place], [0.0, 0.0])[time] += float(totals[place])
    texts = max(int(having.sum()), 1)
    rose = sorted(
        ((word, first / texts, second / texts) for word, (first, second) in sums.items() if word not in removed),
        key=lambda each: each[1] - each[2],
    )
    return [
        {"word": word, "before": first, "after": second}
        for word, first, second in rose[:MOST_WORDS]
        if second > first and word != NO_WORD
    ]


def examples(bench: Bench, part: CodedTexts, both: dict[str, Said], by_name: dict[str, Ran]) -> list[dict[str, Any]]:
    """Texts whose decision changed, those first whose score moved most; half of them changed rightly, if there are."""
    thresholds = {
        name: best_f1_threshold(by_name[name].scores["validation"], bench.validation.positive) for name in both
    }
    margins = {name: by_name[name].scores[part.name] - thresholds[name] for name in both}
    flagged = {name: margin > 0 for name, margin in margins.items()}
    changed = np.flatnonzero(flagged[BASELINE] != flagged[WANTED])
    order = changed[np.argsort(-np.abs(margins[WANTED] - margins[BASELINE])[changed], kind="stable")]
    right = flagged[WANTED][order] == part.positive[order]
    rows = [*order[right][: MOST_EXAMPLES // 2], *order[~right][: MOST_EXAMPLES // 2]]
    return [
        {
            "text": part.texts[row],
            "positive": bool(part.positive[row]),
            "groups": [name for name, inside in part.members.items() if inside[row]],
            "before": float(margins[BASELINE][row]),
            "after": float(margins[WANTED][row]),
            "words": {
                name: [[word or "(no word)", value] for word, value in list(of.by_word(int(row)).items())[:LOUDEST]]
                for name, of in both.items()
            },
        }
        for row in rows
    ] + [{"changed": len(changed), "rightly": int(right.sum()), "texts": len(part)}]


def _swaps(bench: Bench, seed: int, *, removed: bool) -> dict[str, Any]:
    """Words for groups exchanged in templates, by the head as it is now."""
    model: Any = SuppressedModel(bench.model, removal=bench.words.removal) if removed else bench.model
    subject = Subject(model, bench.model.tokenizer, bench.model.max_length)
    found = swap(subject, template_frames(TEMPLATES, EXCHANGEABLE), bench.positive, seed)
    return {
        "title": CONDITIONS.get(WANTED if removed else BASELINE).title,
        "mean": dataclasses.asdict(found.mean),
        "flips": dataclasses.asdict(found.flips),
        "largest": dataclasses.asdict(found.largest),
        "carriers": [dataclasses.asdict(each) for each in found.carriers[:MOST_WORDS]],
        "exchanged": found.exchanged,
    }
