"""Deletion: does a word's share of the sum equal what deleting the word from the text does?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic.dataclasses import dataclass as settings_dataclass

from splade.config.numbers import PositiveInt
from splade.config.variants import SETTINGS
from splade.evaluation.deletion_fidelity import (
    DeletionFidelity,
    WordEffects,
    chance_fidelity,
    deletion_effects,
    deletion_fidelity,
    read_words,
)
from splade.evaluation.figure import (
    COSINE,
    SHARE,
    Cell,
    Drawing,
    Figure,
    Form,
    Grid,
    Key,
    Results,
    Scatter,
    Table,
    find,
    is_number,
)
from splade.evaluation.measure import MEASURES, Measure, as_json
from splade.explainers import DLA, ExplainerParts, Subject, WordText

WORDS_A_TEXT = 40
"""Words deleted of a text, drawn at random of those of a longer one; the ranks of forty words are known well enough."""

POSITIONS = 500_000
"""Positions that the backbone reads in all, about a minute on two cores. Of long texts, fewer are taken."""

LONG = 512
"""Positions of a text from which on attention, which grows with their square, takes as long as all the rest."""

DOTS = 400
"""Words kept for the drawing; more cannot be told apart."""

WORST = 8
"""Words kept of those whose deletion does least what the sum says."""

CONTEXT = 4
"""Words shown on either side of such a word."""

SCORE = Form(2, bounds=(-np.inf, np.inf))


@dataclass(frozen=True)
class Gap:
    """A word whose deletion does something else than the sum says."""

    text: str
    """The word among its neighbours, in brackets."""
    share: float
    effect: float


@dataclass(frozen=True)
class DeletionResult:
    """Fidelity to deletion, and some of the words it was seen on."""

    fidelity: DeletionFidelity
    chance: DeletionFidelity
    """The same with the shares of each text given to its words by chance."""
    dots: list[tuple[float, float]]
    """(share, effect) of some words, drawn at random."""
    worst: list[Gap]


def _beside(name: str) -> Callable[[Results], str]:
    """The interval of a figure, and what it is by chance."""
    form = SHARE if name in ("top_word", "right_sign", "silent_effect") else COSINE

    def said(results: Results) -> str:
        ends = find(results, f"deletion.intervals.{name}") or {}
        chance = find(results, f"deletion.chance.{name}")
        parts = [f"{form.show(ends['low'])} to {form.show(ends['high'])}"] if {"low", "high"} <= ends.keys() else []
        return "; ".join([*parts, *([f"shares shuffled {form.show(chance)}"] if is_number(chance) else [])])

    return said


def _worst(results: Results) -> Grid | None:
    rows = [
        [Cell(gap["text"]), Cell(SCORE.show(gap["share"])), Cell(SCORE.show(gap["effect"]))]
        for gap in find(results, "deletion.worst") or []
    ]
    return Grid(["[word] in its place", "the sum gives it", "deleting it takes"], rows)


def _dots(results: Results) -> Scatter | None:
    dots = [(float(share), float(effect)) for share, effect in find(results, "deletion.dots") or []]
    labels = "share: what the sum gives the word (logit)", "effect: what deleting it takes (logit)"
    return Scatter(*labels, dots, "the sum is right") if dots else None


@settings_dataclass(config=SETTINGS, frozen=True)
class DeletionSettings:
    """How many texts."""

    deletion_texts: PositiveInt = 200
    """Texts whose words are deleted one at a time; of long texts fewer, and the results say how many."""


@MEASURES.register("deletion")
class Deletion(Measure[DeletionResult]):
    """Words deleted one at a time, and the text read again, against their shares of the sum."""

    Settings = DeletionSettings
    title = "Deletion"
    about = (
        "A share of the sum is exact, but it is what the head summed. Here each word is deleted from the text, the "
        "whole model reads again, and the change of the predicted label's logit is held against the word's share. "
        "Words interact (without “n't”, “good” speaks up), so no sum of words reaches 1; the nearer, the truer. "
        "Each figure is to be held against the same with the shares of a text shuffled among its words."
    )
    section = "deletion"
    tasks = ("classification",)
    reads = "sample"
    version = 2
    figures = (
        Figure(
            "deletion.r2",
            "deletion explained by the sum, R²",
            "1 − Σ(effect − share)²/Σ(effect − mean)² over all words: 1 if deleting a word does exactly what its share "
            "says, below 0 if shares say less than the mean effect would.",
            Form(2, bounds=(-np.inf, 1)),
            better="higher",
            headline=True,
            column="deletion_r2",
            beside=_beside("r2"),
        ),
        Figure(
            "deletion.pearson",
            "correlation of share and deletion",
            "Pearson's correlation over all words of their share of the sum and what deleting them does.",
            COSINE,
            better="higher",
            beside=_beside("pearson"),
        ),
        Figure(
            "deletion.tau",
            "ranks of words, Kendall's τ",
            "Mean over texts of Kendall's τ between the words' ranks by share and by what deleting them does.",
            COSINE,
            better="higher",
            column="deletion_tau",
            beside=_beside("tau"),
        ),
        Figure(
            "deletion.top_word",
            "the strongest word is the same",
            "How often the word with the highest share is the one whose deletion lowers the logit most.",
            better="higher",
            beside=_beside("top_word"),
        ),
        Figure(
            "deletion.right_sign",
            "right sign of words that are heard",
            "Among words with |share| above 0.3: how often deleting them moves the logit the way the share says.",
            better="higher",
            beside=_beside("right_sign"),
        ),
        Figure(
            "deletion.silent_effect",
            "effect of words that say nothing",
            "Share of all |effect| of deletion on words whose share is 0: reasons that the sum does not show.",
            better="lower",
            beside=_beside("silent_effect"),
        ),
    )
    tables = (
        Table(
            "deletion.worst",
            "deletion.worst[].{text,share,effect}",
            "Where the sum says least what deletion does",
            "The words whose share is furthest from the effect of deleting them; most are words that turn others.",
            _worst,
        ),
    )
    drawings = (
        Drawing(
            "deletion",
            "What the sum gives a word, and what deleting it takes",
            "One dot a word. On the dashed line, deleting the word does exactly what its share says; dots above 0 on "
            "the left edge of the cloud are words that mattered and say nothing.",
            _dots,
        ),
    )
    keys = (
        Key("deletion.{texts,words}", "how many texts and words that was measured on"),
        Key("deletion.intervals.<figure>.{low,high}", "95 % intervals by bootstrap over texts"),
        Key(
            "deletion.chance.<figure>",
            "the same figures when the shares of each text are shuffled among its words, mean of five draws",
        ),
        Key("deletion.dots", "[share, effect] of some words, drawn at random, for the drawing"),
    )

    def result(self) -> DeletionResult:
        scope = self.scope
        generator = np.random.default_rng(scope.seed)
        subject = Subject(scope.model, scope.model.tokenizer, scope.model.max_length, scope.config.batch_size)
        most = scope.config.of(DeletionSettings).deletion_texts
        texts = [WordText.of(text) for text in scope.task.texts(scope.sample[:most])]
        texts, words = _affordable(texts, read_words(subject, texts), generator)
        classes = subject.logits([text.text for text in texts]).argmax(-1).tolist()
        shares = DLA(ExplainerParts(scope.seed)).explain(subject, texts, classes)
        with scope.progress("deleting words", len(texts)) as advance:
            effects = deletion_effects(subject, texts, classes, words, advance)
        of_texts = [
            WordEffects(share.scores[chosen], effect)
            for share, chosen, effect in zip(shares, words, effects, strict=True)
        ]
        return DeletionResult(
            deletion_fidelity(of_texts, scope.seed),
            chance_fidelity(of_texts, scope.seed),
            _some_dots(of_texts, generator),
            _gaps(texts, words, of_texts),
        )

    @staticmethod
    def to_json(result: DeletionResult) -> dict[str, Any]:
        others = {"chance": result.chance, "dots": result.dots, "worst": result.worst}
        found: dict[str, Any] = as_json(result.fidelity) | as_json(others)
        return found


def _affordable(
    texts: list[WordText], words: list[np.ndarray], generator: np.random.Generator
) -> tuple[list[WordText], list[np.ndarray]]:
    """The texts that can be read as often as it takes, and the words of each to delete.

    They are cut to what the model reads, so that no word comes into view where another goes.
    """
    kept: list[WordText] = []
    chosen: list[np.ndarray] = []
    positions = 0.0
    for text, read in zip(texts, words, strict=True):
        some = np.sort(generator.permutation(read)[:WORDS_A_TEXT])
        length = len(read) + 2  # about a piece a word, and the special tokens
        positions += (len(some) + 1) * length * (1 + length / LONG)
        if kept and positions > POSITIONS:
            break
        kept.append(text if not len(read) else text.part(0, int(read[-1]) + 1))
        chosen.append(some)
    return kept, chosen


def _some_dots(texts: list[WordEffects], generator: np.random.Generator) -> list[tuple[float, float]]:
    pairs = [pair for text in texts for pair in zip(text.shares.tolist(), text.effects.tolist(), strict=True)]
    chosen = np.sort(generator.permutation(len(pairs))[:DOTS])
    return [(round(pairs[n][0], 4), round(pairs[n][1], 4)) for n in chosen]


def _gaps(texts: list[WordText], words: list[np.ndarray], effects: list[WordEffects]) -> list[Gap]:
    """The words whose effect is furthest from their share, one a text at the most."""
    furthest = []
    for text, chosen, found in zip(texts, words, effects, strict=True):
        if len(chosen):
            n = int(np.abs(found.effects - found.shares).argmax())
            share, effect = float(found.shares[n]), float(found.effects[n])
            furthest.append((abs(effect - share), Gap(_in_place(text, int(chosen[n])), share, effect)))
    return [gap for _, gap in sorted(furthest, key=lambda pair: -pair[0])[:WORST]]


def _in_place(text: WordText, word: int) -> str:
    """A word in brackets among its neighbours."""
    first, last = max(0, word - CONTEXT), min(len(text), word + CONTEXT + 1)
    shown = [f"[{text.words[n]}]" if n == word else text.words[n] for n in range(first, last)]
    return " ".join(["…"] * (first > 0) + shown + ["…"] * (last < len(text)))
