"""Findings: sentences on what a reader of the figures should not miss: what was found, why it matters, what to do."""

from __future__ import annotations

from collections.abc import Sequence

from scipy.stats import binom

from splade.evaluation.artefacts import Artefact
from splade.evaluation.binomial import Interval, interval
from splade.evaluation.entities import EntityScores
from splade.evaluation.per_class import ClassScores
from splade.evaluation.registers import Heaviest
from splade.evaluation.word_weights import WordWeight
from splade.training.anchors import LARGEST_SHARE

CHANCE = 0.025
"""The largest probability at which a difference in one direction is taken for chance no longer."""

NAMED = 3
"""Labels or words that a sentence names; of more it says how many."""

WIDEST = 0.1
"""The widest 95 % interval of a split that is large enough: ±5 points. Models that are compared differ by less."""

LARGEST_SHARE_OF_CLASS = 0.5
"""The largest share of a class's |contribution| that one token may carry. Higher than `LARGEST_SHARE`, since a label
may well have a word of its own: *pin* has 23 % of Banking77's `get_physical_card`."""

ENOUGH_ROWS = 20
"""Below so many rows of a class, one token may carry it by chance."""

HEAVIEST_WORD = 0.25
"""The largest share of all |contribution| that may arise at one word of the texts. Ordinary are 3 % (*not*, SST-2) to
14 % (*card*, Banking77); the placeholder of HateXplain's account names has 47 %."""


def class_findings(scores: ClassScores) -> list[str]:
    """On labels that are given too often, too seldom or never, and on too few texts to say."""
    texts = sum(map(sum, scores.confusion))
    return [
        *_only(scores, texts),
        *_majority(scores, texts),
        *_never_given(scores),
        *_seldom_found(scores),
        *_too_few(f"{texts:,} test texts", "accuracy", scores.accuracy_interval),
    ]


def entity_findings(scores: EntityScores) -> list[str]:
    """On types that are never found, and on too few entities to say."""
    missed = [f"{name} ({of.support:,})" for name, of in scores.per_type.items() if of.support and not of.recall]
    total = sum(of.support for of in scores.per_type.values())
    notes = [f"No entity of the type {_listed(missed)} was found: train longer or on more of them."] if missed else []
    return [
        *notes,
        *_too_few(f"{total:,} entities in the test split", "recall", interval(round(scores.recall * total), total)),
    ]


def contribution_findings(
    heaviest: Heaviest | None, words: Sequence[WordWeight] = (), artefacts: Sequence[Artefact] = ()
) -> list[str]:
    """On tokens that store a class, and on words of the texts that decide without being reasons; `words` and
    `artefacts` the heaviest first."""
    return [*_registers(heaviest), *_heavy_word(words, artefacts), *_artefacts(artefacts)]


def _only(scores: ClassScores, texts: int) -> list[str]:
    only = [name for name, of in scores.per_class.items() if of.support == texts > 0]
    if not only:
        return []
    return [f"All test texts have the label '{only[0]}', so that accuracy says nothing of the other labels."]


def _majority(scores: ClassScores, texts: int) -> list[str]:
    """Whether the model beats always answering the most frequent label, by a sign test: where just one of the two is
    right, it must be the model more often than not."""
    label, figures = max(scores.per_class.items(), key=lambda item: item[1].support)
    number = list(scores.per_class).index(label)
    right, right_of_label = sum(row[i] for i, row in enumerate(scores.confusion)), scores.confusion[number][number]
    won, lost = right - right_of_label, figures.support - right_of_label
    if figures.support == texts or binom.sf(won - 1, won + lost, 0.5) <= CHANCE:
        return []
    more = "no more" if won <= lost else "not clearly more"
    return [
        f"Accuracy is {_percent(scores.accuracy)}, {more} than the {_percent(figures.support / max(1, texts))} of "
        f"always answering '{label}', so it does not show that anything was learned: read macro-F1 "
        f"({_percent(scores.macro_f1)}) and the figures a label, and train longer or on more texts of the other labels."
    ]


def _never_given(scores: ClassScores) -> list[str]:
    never = [(of.support, name) for name, of in scores.per_class.items() if of.support and not of.predicted]
    named = [f"'{name}' ({support:,} test texts)" for support, name in sorted(never, key=lambda each: -each[0])]
    if not named:
        return []
    return [f"Never given to any text: the label {_listed(named)}; train longer or on more texts with it."]


def _seldom_found(scores: ClassScores) -> list[str]:
    """Labels that are given, and whose recall is, beyond chance, below half of the mean of the others'."""
    known = {name: of for name, of in scores.per_class.items() if of.support}
    total = sum(of.recall for of in known.values())
    seldom = []
    for name, of in known.items():
        others = (total - of.recall) / max(1, len(known) - 1)
        if of.predicted and interval(round(of.recall * of.support), of.support).high < others / 2:
            seldom.append((of.recall, f"'{name}' ({_percent(of.recall)})"))
    if not seldom:
        return []
    named, mean = [text for _, text in sorted(seldom)], _percent(total / len(known))
    return [
        f"Recall is less than half of the others' for the label {_listed(named)}, where the mean of all labels is "
        f"{mean}, which accuracy may hide: train on more texts with it, and see what they are taken for."
    ]


def _too_few(counted: str, figure: str, within: Interval) -> list[str]:
    if within.high - within.low <= WIDEST:
        return []
    return [
        f"With {counted}, {figure} is only known to lie between {_percent(within.low)} and {_percent(within.high)} "
        "(95 % interval): use more before you compare models by it."
    ]


def _registers(heaviest: Heaviest | None) -> list[str]:
    """The token that carries too much of all; if none does, those that carry too much of a class."""
    if heaviest is None:
        return []
    if heaviest.share > LARGEST_SHARE:
        found = [f"'{heaviest.token}' carries {_percent(heaviest.share)} of all contribution"]
    else:
        heavy = [
            (of.share, f"'{of.token}' carries {_percent(of.share)} of the contribution to '{label}'")
            for label, of in heaviest.by_class.items()
            if of.share > LARGEST_SHARE_OF_CLASS and of.rows >= ENOUGH_ROWS
        ]
        found = [text for _, text in sorted(heavy, reverse=True)]
    if not found:
        return []
    return [
        f"The token {_listed(found)}, so that it may stand for a label instead of its meaning: read explanations that "
        "name it; if it is no reason, train with training.anchor=register or shut it out with suppress."
    ]


def _heavy_word(words: Sequence[WordWeight], artefacts: Sequence[Artefact]) -> list[str]:
    """The word that carries too much, if it is not among the artefacts anyway."""
    if not words or words[0].share <= HEAVIEST_WORD or words[0].word in {one.word for one in artefacts}:
        return []
    word = words[0]
    return [
        f"The word '{word.word}' of the texts carries {_percent(word.share)} of all contribution{_mostly_for(word)}, "
        "so that little else decides: if it is no reason, remove it from the texts and train again."
    ]


def _artefacts(artefacts: Sequence[Artefact]) -> list[str]:
    if not artefacts:
        return []
    named = [f"'{one.word}' ({one.kind}; {_percent(one.share)}{_mostly_for(one)})" for one in artefacts]
    return [
        f"Contribution comes from what is hardly a reason: {_listed(named)}; the model may tell where texts come from "
        "instead of what they say: remove these from the texts and train again."
    ]


def _mostly_for(word: WordWeight) -> str:
    return f", most of it for '{word.label}'" if word.label is not None else ""


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _listed(names: Sequence[str]) -> str:
    """The first few, and how many more."""
    more = len(names) - NAMED
    first = [*names[:NAMED], *([f"{more} more"] if more > 0 else [])]
    return first[0] if len(first) == 1 else f"{', '.join(first[:-1])} and {first[-1]}"
