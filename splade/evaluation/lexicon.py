"""Lexicon: do words speak for what people say they mean?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import torch
from pydantic.dataclasses import dataclass as settings_dataclass

from splade.config.texts import Text
from splade.config.variants import SETTINGS
from splade.errors import ConfigError
from splade.evaluation.figure import Figure, Key, beside
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.folder import file_hash
from splade.models.sparse import SparseRows
from splade.models.vocabulary import Vocabulary

SMALLEST_RATING = 1.0
"""Words people rate nearer to zero than this are not clearly good or bad."""


@dataclass(frozen=True)
class LexiconAgreement:
    """Contributions against people's ratings of the words."""

    name: str
    coverage: float
    """Share of all |contribution| that falls on rated words."""
    right_sign: float
    """Share of that whose sign is the rating's."""
    heaviest_token: str
    """The token with the largest share of all |contribution| over the data …"""
    heaviest_share: float
    """… and that share: one token must not become the class."""


@dataclass(frozen=True)
class LexiconResult:
    """Agreement with the lexicon asked for."""

    lexicon: LexiconAgreement


def load_lexicon(source: str) -> dict[str, float]:
    """Ratings of words: `vader` (the package vaderSentiment), or a file of word<TAB>rating lines."""
    path, ratings = _lexicon_file(source), {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        parts = line.split("\t")
        try:
            ratings[parts[0]] = float(parts[1])
        except (IndexError, ValueError) as error:
            raise ConfigError(
                f"{path.name}, line {number} is not a word, a tab and a rating: '{line[:40]}'."
            ) from error
    return ratings


def _lexicon_file(source: str) -> Path:
    """Where the ratings are."""
    if source == "vader":
        try:
            place = metadata.distribution("vaderSentiment").locate_file("vaderSentiment/vader_lexicon.txt")
        except metadata.PackageNotFoundError as error:
            raise ConfigError(
                "evaluation.lexicon is 'vader', but the package vaderSentiment is not installed; install it with pip "
                "or name a file of word<TAB>rating lines."
            ) from error
        return Path(str(place))
    path = Path(source)
    if not path.is_file():
        raise ConfigError(f"evaluation.lexicon names '{source}', which is no file; name one, or 'vader'.")
    return path


def positive_class(labels: Sequence[str]) -> int | None:
    """The class that positively rated words should speak for: the one named positive, of two; None if there is none."""
    if len(labels) != 2:
        return None
    names = [label.lower() for label in labels]
    for word in ("positive", "pos", "good"):
        if word in names:
            return names.index(word)
    return None


class LexiconMeter:
    """Gathers agreement with a lexicon, on attributions to the class that good words should speak for."""

    def __init__(self, name: str, ratings: dict[str, float], vocabulary: Vocabulary):
        strong = {word: rating for word, rating in ratings.items() if abs(rating) >= SMALLEST_RATING}
        whole, names = vocabulary.starts_word.tolist(), [vocabulary.names[token] for token in vocabulary.base.tolist()]
        self.rated = torch.tensor([strong.get(n, 0.0) if w else 0.0 for n, w in zip(names, whole, strict=True)])
        self.name, self.vocabulary, self._ratings = name, vocabulary, strong
        self._by_token = torch.zeros(len(self.rated), dtype=torch.float64)
        self._rated = self._right = 0.0

    def add(self, attribution: SparseRows) -> None:
        for token in attribution.token.unique().tolist():
            if token >= self.vocabulary.tokens and token not in self.vocabulary.sense_of:  # a split word, maybe new
                self.rated[token] = self._ratings.get(self.vocabulary.names[token], 0.0)
        size, rating = attribution.value.abs().double().cpu(), self.rated[attribution.token.cpu()]
        self._by_token.index_add_(0, attribution.token.cpu(), size)
        self._rated += float(size[rating != 0].sum())
        self._right += float(size[(rating * attribution.value.cpu()) > 0].sum())

    def result(self) -> LexiconAgreement:
        total, rated = float(self._by_token.sum()), self._rated
        heaviest = int(self._by_token.argmax())
        return LexiconAgreement(
            self.name,
            rated / total if total else 0.0,
            self._right / rated if rated else 0.0,
            self.vocabulary.names[heaviest],
            float(self._by_token[heaviest]) / total if total else 0.0,
        )


@settings_dataclass(config=SETTINGS, frozen=True)
class LexiconSettings:
    """Which ratings."""

    lexicon: Text | None = None
    """People's word ratings to compare signs with: a file of word, tab, rating lines, or ``vader``; null: none."""


@MEASURES.register("lexicon")
class Lexicon(Measure[LexiconResult]):
    """Agreement with people's ratings of words, where `evaluation.lexicon` names some."""

    Settings = LexiconSettings
    title = "Grounding"
    section = "grounding"
    figures = (
        Figure(
            "grounding.lexicon.coverage",
            "on rated words",
            "Share of the contribution on words that people have rated clearly good or bad.",
            headline=True,
            column="rated_share",
            panel=True,
            beside=beside("{} of it of the right sign", "grounding.lexicon.right_sign"),
        ),
        Figure(
            "grounding.lexicon.right_sign",
            "of that right sign",
            "How much of it agrees with what people say of the word.",
            column="right_sign",
            better="higher",
            brief=False,
        ),
        Figure(
            "grounding.lexicon.heaviest_share",
            "heaviest token, for the positive class",
            "Share of all contribution to the positive class that one token carries.",
            column="heaviest_share",
            better="lower",
            brief=False,
        ),
    )
    keys = (
        Key(
            "grounding.lexicon.{name,heaviest_token}",
            "the ratings, and the token that carries most (when `evaluation.lexicon` is set and one of two "
            "classes is called positive)",
        ),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        name, positive = str(_source(scope)), positive_class(scope.model.labels)
        assert positive is not None  # as `check` has made sure
        self._positive = positive
        self._meter = LexiconMeter(name, load_lexicon(name), scope.model.vocabulary)

    @classmethod
    def sources(cls, scope: Scope) -> list[str]:
        source = _source(scope)
        return [] if source is None else [file_hash(_lexicon_file(source))]

    @classmethod
    def is_wanted(cls, scope: Scope) -> bool:
        return _source(scope) is not None

    @classmethod
    def check(cls, scope: Scope) -> None:
        source = _source(scope)
        if source is None:
            return
        if not scope.task.description.has_polarity:
            raise ConfigError(
                f"evaluation.lexicon is set, but a model that {scope.task.description.does} has no good and bad words; "
                "leave it null."
            )
        if positive_class(scope.model.labels) is None:
            raise ConfigError(
                f"evaluation.lexicon is set, but none of the labels {', '.join(scope.model.labels)} is called "
                "positive; leave it null for data without good and bad."
            )
        load_lexicon(source)

    def update(self, seen: Seen) -> None:
        self._meter.add(compute_attribution_tensor(seen.state, torch.full_like(seen.classes, self._positive)))

    def result(self) -> LexiconResult:
        return LexiconResult(self._meter.result())


def _source(scope: Scope) -> str | None:
    return scope.config.of(LexiconSettings).lexicon
