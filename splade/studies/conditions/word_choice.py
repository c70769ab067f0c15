"""Ways to choose the words that are removed, behind `WORD_CHOICES`. Nobody looks at test texts.

`gap` grows the list: the words that carry the largest gap are removed and the head is refitted; then the words that
carry what is left (often others that now speak in their place) are added, and so on, until the budget of accuracy is
spent. Of all steps the one with the smallest gap within the budget is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pydantic.dataclasses import dataclass as settings_dataclass

from splade.config.numbers import PositiveInt, Share
from splade.config.texts import FilePath
from splade.config.variants import SETTINGS
from splade.data.identity_terms import IDENTITY, load_terms
from splade.errors import ConfigError, DataError
from splade.evaluation.group_rates import FEWEST
from splade.evaluation.thresholds import fpr_threshold
from splade.models.removal import Removal
from splade.registry import Registry
from splade.studies.conditions.base import PLAIN, Bench, ChosenWords
from splade.studies.conditions.carriers import carried, said
from splade.studies.conditions.coded import CodedTexts
from splade.surgery.codes import NO_WORD
from splade.surgery.concept_file import read_concept
from splade.surgery.targets import find_targets, read_words

WORD_CHOICES: Registry[Callable[[Bench, float], ChosenWords]] = Registry("word choice")
"""From the bench, and the rate of false positives at which groups are compared, to words."""


@settings_dataclass(config=SETTINGS, frozen=True)
class ListSettings:
    """Words that somebody has written down."""

    words_file: FilePath | None = None
    """The words that ``listed`` removes, a file with one a line; null: single words of the list ``identity``."""


@WORD_CHOICES.register("listed", ListSettings)
def listed_words(bench: Bench, matched_fpr: float) -> ChosenWords:
    """The words of a list."""
    file = bench.settings.of(ListSettings).words_file
    terms = read_words(Path(file)) if file is not None else [t for each in load_terms(IDENTITY).values() for t in each]
    words = [term for term in dict.fromkeys(terms) if len(term.split()) == 1]
    if not words:
        raise ConfigError(f"The file {file} has no single words; write one a line.")
    matched = find_targets(bench.model, words=words)
    found = [str(one.asked) for one in matched.found]
    source = "the list of identity terms" if file is None else Path(file).name
    return ChosenWords(found, matched.removal, f"{len(found)} words of {source}.", [])


@settings_dataclass(config=SETTINGS, frozen=True)
class ConceptSettings:
    """A concept that was found."""

    concept_file: FilePath | None = None
    """The file of a concept, as ``lexical-sae concept --report`` writes it, whose names ``concept`` removes."""


@WORD_CHOICES.register("concept", ConceptSettings)
def concept_words(bench: Bench, matched_fpr: float) -> ChosenWords:
    """The names of a concept: words to silence and tokens to shut."""
    file = bench.settings.of(ConceptSettings).concept_file
    if file is None:
        raise ConfigError("surgery.words is concept, but no file of one is named; name it with surgery.concept_file.")
    concept, tokens, words = read_concept(Path(file))
    matched = find_targets(bench.model, tokens, words)
    found = list(dict.fromkeys(str(one.asked) for one in matched.found))
    return ChosenWords(found, matched.removal, f"{len(found)} names of the concept '{concept.name}'.", [])


@settings_dataclass(config=SETTINGS, frozen=True)
class GapSettings:
    """How a list of words grows."""

    gap_steps: PositiveInt = 10
    """Steps in which ``gap`` adds words."""
    gap_words: PositiveInt = 5
    """Words that each step adds."""
    gap_budget: Share = 0.01
    """Accuracy on validation texts, at the matched rate of false positives, that may be lost against a refit alone."""


@WORD_CHOICES.register("gap", GapSettings)
def gap_words(bench: Bench, matched_fpr: float) -> ChosenWords:
    """The words that carry the largest gap, and those that take over from them."""
    settings = bench.settings.of(GapSettings)
    training, validation = bench.training, bench.validation
    powered = _powered_groups(validation)
    words: list[str] = []
    steps: list[dict[str, Any]] = []
    for step in range(settings.gap_steps + 1):
        removal = Removal(words=frozenset(words))

        def left(part: CodedTexts, removal: Removal = removal) -> Any:
            return part.codes[PLAIN].without(bench.model, removal)

        refitted = bench.refit(left)
        scores = {part.name: bench.scores(left(part), None, refitted.weights) for part in (training, validation)}
        threshold = fpr_threshold(scores[validation.name], validation.positive, matched_fpr)
        right = (scores[validation.name] > threshold) == validation.positive
        gaps = _gaps(scores, [training, validation], powered, matched_fpr)
        worst = max(gaps, key=lambda group: gaps[group])
        steps.append({"words": len(words), "gap": gaps[worst], "group": worst, "accuracy": float(right.mean())})
        bench.say(
            f"{len(words)} words removed: largest gap {100 * gaps[worst]:.1f} points ({worst}), accuracy "
            f"{100 * right.mean():.1f} % on validation texts"
        )
        if step == settings.gap_steps or steps[-1]["accuracy"] < steps[0]["accuracy"] - 2 * settings.gap_budget:
            break
        flagged = scores[training.name] > fpr_threshold(scores[training.name], training.positive, matched_fpr)
        with bench.head(refitted.weights):
            parts = carried(
                said(bench.model, left(training), bench.positive), flagged, training.positive, training.members, worst
            )
        new = [word for word, part in parts.items() if part > 0 and word not in (*words, NO_WORD)]
        words = [*words, *new[: settings.gap_words]]
        if not new:
            break
    allowed = [
        each for each in steps if each["words"] and each["accuracy"] >= steps[0]["accuracy"] - settings.gap_budget
    ]
    if not allowed:
        allowed = [each for each in steps if each["words"]][:1]
    if not allowed:
        raise DataError(
            "No word speaks more often for the positive label on harmless texts about a group than on others, so that "
            "there is nothing to remove; name words with surgery.words=listed."
        )
    best = min(allowed, key=lambda each: each["gap"])
    words = words[: best["words"]]
    how = (
        f"{len(words)} words that carry the largest gap of false positives, grown in steps with a refit after each; "
        f"the number is that of the smallest gap on training and validation texts that costs at most "
        f"{100 * settings.gap_budget:g} points of validation accuracy."
    )
    return ChosenWords(words, Removal(words=frozenset(words)), how, steps)


def _powered_groups(validation: CodedTexts) -> set[str]:
    """Groups with negative validation texts enough to be compared: those that are too few there are too few in a test,
    and the largest of many gaps is that of the smallest group."""
    negative = {name: int((inside & ~validation.positive).sum()) for name, inside in validation.members.items()}
    found = {name for name, count in negative.items() if count >= FEWEST}
    if not found:
        raise DataError(
            f"No group has {FEWEST} negative validation texts (the largest has {max(negative.values(), default=0)}), "
            "so that no gap can be told; name words with surgery.words=listed, or other groups."
        )
    return found


def _gaps(
    scores: dict[str, np.ndarray], parts: list[CodedTexts], groups: set[str], matched_fpr: float
) -> dict[str, float]:
    """Of each of some groups, how much more often its negative texts are flagged than all, over several parts
    at the same overall rate in each."""
    wrong: dict[str, list[np.ndarray]] = {}
    for part in parts:
        flagged = scores[part.name] > fpr_threshold(scores[part.name], part.positive, matched_fpr)
        negative = ~part.positive
        wrong.setdefault("", []).append(flagged[negative])
        for group, inside in part.members.items():
            wrong.setdefault(group, []).append(flagged[negative & inside])
    rates = {group: np.concatenate(each) for group, each in wrong.items()}
    overall = rates.pop("").mean()
    return {group: float(rates[group].mean() - overall) for group in sorted(groups)}
