"""Heaviest words: which words of the texts decide, and are they reasons?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from splade.evaluation.artefacts import Artefact, artefacts
from splade.evaluation.figure import Figure, Key, Results, find, is_number, percent
from splade.evaluation.findings import first_few
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen
from splade.evaluation.registers import RegisterMeter
from splade.evaluation.word_weights import WordMeter, WordWeight

HEAVIEST_WORD = 0.25
"""The largest share of all |contribution| that may arise at one word of the texts. Ordinary are 3 % (*not*, SST-2) to
14 % (*card*, Banking77); the placeholder of HateXplain's account names has 47 %."""


@dataclass(frozen=True)
class HeaviestWordsResult:
    """Words of the texts that carry much."""

    heaviest_word: WordWeight | None
    """The word of the texts at which most contribution arises; None: at none, or of a tagger."""
    artefacts: list[Artefact]
    """Heavy words of the texts that are no reasons; of a tagger none are looked for: there a word explains itself."""


def _shown(results: Results) -> str | None:
    word = find(results, "grounding.heaviest_word") or {}
    if not is_number(word.get("share")):
        return None
    for_label = f", most of it for {word['label']}" if word.get("label") is not None else ""
    return f"{word.get('word')}, {percent(word['share'])}{for_label}"


@MEASURES.register("heaviest_words")
class HeaviestWords(Measure[HeaviestWordsResult]):
    """The word that carries most, and the heavy ones that are hardly reasons."""

    title = "Grounding"
    section = "grounding"
    figures = (
        Figure(
            "grounding.heaviest_word.share",
            "heaviest word",
            "The word of the texts that most contribution comes from; is it a good reason?",
            better="lower",
            text=_shown,
        ),
    )
    keys = (
        Key(
            "grounding.heaviest_word.{word,share,label}",
            "the word of the texts, in lower case, at which most |contribution| arises, whichever vocabulary "
            "tokens speak there; `label` is the one that more than half of what it adds goes to, null if there is "
            "none",
        ),
        Key(
            "grounding.artefacts[].{word,share,label,kind}",
            "words of the texts, and vocabulary tokens, with 2 % of all |contribution| or more that are hardly "
            "reasons, and what they are instead: markup (most of their places are in a tag, a placeholder, an "
            "address, an account), a sign of the tokenizer, punctuation, a number, a stop word, a word that "
            "stands in nearly all texts",
        ),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        labels, vocabulary = scope.model.labels, scope.model.vocabulary
        self._texts = scope.task.texts(scope.rows)
        self._words, self._tokens = WordMeter(labels, vocabulary), RegisterMeter(labels, vocabulary)

    def update(self, seen: Seen) -> None:
        if self._texts:
            self._words.add(seen.batch, seen.attribution, seen.classes)
            self._tokens.add(seen.attribution, seen.classes)

    def result(self) -> HeaviestWordsResult:
        words = self._words.result()
        suspects = artefacts(words, self._texts, self._tokens.heavy_tokens(), self.scope.model.vocabulary)
        return HeaviestWordsResult(words[0] if words else None, suspects)

    def findings(self, result: HeaviestWordsResult) -> list[str]:
        return word_findings(result.heaviest_word, result.artefacts)


def word_findings(heaviest: WordWeight | None, artefacts: Sequence[Artefact]) -> list[str]:
    """On words of the texts that decide without being reasons; `artefacts` the heaviest first."""
    return [*_heavy_word(heaviest, artefacts), *_artefacts(artefacts)]


def _heavy_word(word: WordWeight | None, artefacts: Sequence[Artefact]) -> list[str]:
    """The word that carries too much, if it is not among the artefacts anyway."""
    if word is None or word.share <= HEAVIEST_WORD or word.word in {artefact.word for artefact in artefacts}:
        return []
    return [
        f"The word '{word.word}' of the texts carries {percent(word.share)} of all contribution{_mostly_for(word)}, "
        "so that little else decides: if it is no reason, remove it from the texts and train again."
    ]


def _artefacts(artefacts: Sequence[Artefact]) -> list[str]:
    if not artefacts:
        return []
    named = [f"'{one.word}' ({one.kind}; {percent(one.share)}{_mostly_for(one)})" for one in artefacts]
    return [
        f"Contribution comes from what is hardly a reason: {first_few(named)}; the model may tell where texts come "
        "from instead of what they say: remove these from the texts and train again."
    ]


def _mostly_for(word: WordWeight) -> str:
    return f", most of it for '{word.label}'" if word.label is not None else ""
