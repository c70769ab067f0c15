"""Look-alikes: does a word, perhaps a name, suffer for another that is written with it? *Ted* for *tedious*."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from splade.evaluation.binomial import Interval, interval
from splade.evaluation.estimate import Estimate, estimate
from splade.evaluation.figure import Cell, Figure, Form, Grid, Key, Results, Table, find
from splade.evaluation.measure import MEASURES, Measure, Scope
from splade.explainers import Subject
from splade.models.open_words import split_words_of
from splade.models.word_reader import Pieces

LOGITS = Form(3, bounds=(-float("inf"), float("inf")))

MOST_PAIRS = 200
"""Split words looked at, the most frequent of the training texts: each is read with two other words, alone."""

SELDOM = 3
"""Occurrences of a word in the training texts from which it has been taught by texts of its own."""

SHOWN = 10
"""Pairs in the table, those that differ most."""


@dataclass(frozen=True)
class Pair:
    """A word and a control, and how far each leans to the label that the split word speaks for."""

    split_word: str
    word: str
    """What its first piece writes."""
    control: str
    label: str
    lean: float
    """Logit of the label where the word stands alone, less that of an empty text …"""
    control_lean: float
    """… and the same of the control."""


@dataclass(frozen=True)
class LookAlikesResult:
    """How words fare that other words are written with."""

    higher: float | None
    """Share of pairs in which the word leans more to the split word's label than its control; chance: a half."""
    interval: Interval
    difference: Estimate | None
    """Mean of lean less control's lean, of a logit."""
    pairs: int
    strongest: list[Pair]


def matched_pairs(words: Sequence[Pieces], counts: np.ndarray, content: np.ndarray) -> list[tuple[Pieces, int, int]]:
    """Split words with the whole word that their first piece writes and a control: the nearest token in the vocabulary,
    which most tokenizers order by frequency, that no split word begins with. Both are content words that training has
    met fewer than `SELDOM` times; none occurs twice.

    `counts` (V,): of tokens standing for themselves in the training texts; `content` (V,) bool.
    """
    begins = {word[0] for word in words}
    fit = content & (counts < SELDOM)
    controls = [token for token in np.flatnonzero(fit).tolist() if token not in begins]
    pairs: list[tuple[Pieces, int, int]] = []
    seen: set[int] = set()
    for word in words:
        first = word[0]
        if first >= len(fit) or not fit[first] or first in seen or not controls or len(pairs) == MOST_PAIRS:
            continue
        seen.add(first)
        nearest = min(range(len(controls)), key=lambda place: abs(controls[place] - first))
        pairs.append((word, first, controls.pop(nearest)))
    return pairs


def _pairs(results: Results) -> Grid | None:
    rows = [
        [
            Cell(pair["word"]),
            Cell(LOGITS.show(pair["lean"])),
            Cell(pair["control"]),
            Cell(LOGITS.show(pair["control_lean"])),
            Cell(pair["split_word"]),
            Cell(pair["label"]),
        ]
        for pair in find(results, "look_alikes.strongest") or []
    ]
    return Grid(["word", "leans by", "control", "leans by", "toward what is said by", "label"], rows)


@MEASURES.register("look_alikes")
class LookAlikes(Measure[LookAlikesResult]):
    """Words that split words begin with, beside others that nothing begins with, each standing alone."""

    reads = "nothing"
    on_request = True
    title = "Look-alikes"
    about = (
        "A word that the tokenizer splits begins with another (tedious: ted). Does that other, which training has "
        "hardly met, lean to the label that the split word speaks for, more than a word that nothing begins with?"
    )
    section = "look_alikes"
    tasks = ("classification",)
    figures = (
        Figure(
            "look_alikes.higher",
            "look-alikes lean with the split word",
            "Share of words that lean more to the label of a split word that begins with them than a control does; a "
            "half is chance.",
        ),
        Figure(
            "look_alikes.difference.mean",
            "… by so much of a logit",
            "How much more, on average over the pairs.",
            form=LOGITS,
            brief=False,
        ),
    )
    tables = (
        Table(
            "look_alikes.strongest",
            "look_alikes.strongest.{split_word,word,control,label,lean,control_lean}",
            "Words that lean with their look-alike",
            "The pairs that differ most: logit of the label where the word, or its control, is the whole text, less "
            "that of an empty text.",
            _pairs,
        ),
    )
    keys = (
        Key("look_alikes.interval.{low,high}", "of the share, 95 %, by Wilson"),
        Key("look_alikes.difference.{low,high}", "of the mean, 95 %, by bootstrap over pairs"),
        Key("look_alikes.pairs", "pairs of a word and its control"),
    )

    @classmethod
    def is_wanted(cls, scope: Scope) -> bool:
        return scope.references.training is not None

    def result(self) -> LookAlikesResult:
        scope, training = self.scope, self.scope.references.training
        assert training is not None, "is_wanted"
        vocabulary = scope.model.vocabulary
        words, _ = split_words_of(training.encoded, vocabulary)
        counts = np.bincount(training.encoded.ids, minlength=vocabulary.tokens)
        content = np.zeros(vocabulary.tokens, dtype=bool)
        content[vocabulary.content.numpy()] = True
        pairs = self._read(matched_pairs(words, counts, content))
        differences = np.array([pair.lean - pair.control_lean for pair in pairs])
        higher, number = int((differences > 0).sum()), len(pairs)
        strongest = [pairs[place] for place in np.argsort(-np.abs(differences), kind="stable")[:SHOWN].tolist()]
        mean = estimate(differences, np.arange(number), scope.seed) if number else None
        return LookAlikesResult(higher / number if number else None, interval(higher, number), mean, number, strongest)

    @torch.no_grad()
    def _read(self, matched: Sequence[tuple[Pieces, int, int]]) -> list[Pair]:
        model = self.scope.model
        names, name_of = model.vocabulary.names, model.vocabulary.name_of
        subject = Subject(model, model.tokenizer, model.max_length, self.scope.config.batch_size)
        texts = [text for word, first, control in matched for text in (name_of(word), names[first], names[control])]
        logits = subject.logits(["", *texts])
        leans = (logits[1:] - logits[:1]).view(len(matched), 3, len(model.labels))  # (P, 3, C)
        labels = leans[:, 0].argmax(-1).tolist()  # (P,)
        return [
            Pair(name_of(word), names[first], names[control], model.labels[label], *lean[1:, label].tolist())
            for (word, first, control), label, lean in zip(matched, labels, leans, strict=True)
        ]

    def findings(self, result: LookAlikesResult) -> list[str]:
        if result.pairs == 0 or result.interval.low <= 0.5:
            return []
        return [
            f"Words that split words begin with lean to these words' labels in {result.higher:.0%} of {result.pairs} "
            "pairs: they suffer for how others are written."
        ]
