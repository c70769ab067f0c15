"""Explainers: each says of every word of a text what it did for a class, by its own lights and at its own cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from torch import Tensor

from splade.attribution.word_text import WordText
from splade.explainers.subject import Subject
from splade.explainers.windows import explain_windows
from splade.models.protocol import LexicalModel
from splade.models.state import CircuitState
from splade.registry import Registered, Registry
from splade.tasks import Task


class ExplainerRegistry(Registry["type[Explainer]"]):
    """The explainers, each of which knows the name it is registered under."""

    def register(self, name: str, settings: type | None = None) -> Callable[[Registered], Registered]:
        remember = super().register(name, settings)

        def named(explainer: Registered) -> Registered:
            explainer.name = name  # type: ignore[attr-defined]
            return remember(explainer)

        return named


EXPLAINERS = ExplainerRegistry("explainer")


@dataclass(frozen=True)
class WordScores:
    """What an explainer says of one text and class."""

    scores: np.ndarray
    """(W,) of its words; above 0: for the class."""
    base: float | None = None
    """What the scores are added to in order to give the logit: a bias, a baseline's logit, an intercept. None: it makes
    no such claim."""
    elsewhere: float = 0.0
    """What fell to no word, such as to `[CLS]`; part of the sum all the same."""

    @property
    def total(self) -> float | None:
        """The logit as the explanation has it; None: it makes no such claim."""
        return None if self.base is None else float(self.scores.sum()) + self.elsewhere + self.base


def in_order(found: Iterable[tuple[int, WordScores]]) -> list[WordScores]:
    """What was found of texts by their number, a subject having read the longest first, in the order of the texts."""
    return [scores for _, scores in sorted(found, key=lambda pair: pair[0])]


@dataclass(frozen=True)
class ExplainerParts:
    """What an explainer may need when it is made."""

    seed: int = 0
    """Of whatever it draws."""
    lime_samples: int = 5_000
    """Perturbed texts a text that LIME fits its line to: its own default."""
    steps: int = 50
    """Points on the path of integrated gradients, and samples of GradientSHAP."""
    training: Callable[[], Task | None] = lambda: None
    """The training texts, for what is fitted to them; None: not at hand."""


class Explainer(ABC):
    """Base of all explainers."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    """How a table calls it; empty: by its name."""
    by_chance: ClassVar[bool] = False
    """Whether its order of words is drawn: what it is worth is then the mean over several draws."""
    in_logits: ClassVar[bool] = False
    """Whether a score is what a word does to the logit explained, in its unit, and not a size of another kind."""
    by_words: ClassVar[bool] = False
    """Whether it explains only models that decide by words: ours."""

    def __init__(self, parts: ExplainerParts):
        self.parts = parts

    def other_seeds(self, seeds: int) -> Iterator[Explainer]:
        """The same explainer with other seeds, one fewer than `seeds`, of which its own is the first."""
        for further in range(1, seeds):
            yield type(self)(replace(self.parts, seed=self.parts.seed + further))

    def readings(self, words: int) -> int:
        """About how often it has a whole text of so many words read, forward or backward: what it costs."""
        return 1

    @abstractmethod
    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        """Scores of the words of each text for its class."""

    def explain_documents(
        self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]
    ) -> list[np.ndarray]:
        """(W,) scores of the words of each text for its class, however long it is; each must have a word."""

        def scores(windows: Sequence[WordText], classes: Sequence[int]) -> list[np.ndarray]:
            return [found.scores for found in self.explain(subject, windows, classes)]

        return explain_windows(subject, texts, classes, scores)

    def decide(self, texts: Sequence[WordText]) -> np.ndarray | None:
        """(N,) the classes of texts as it decides on them itself, where it is a model of its own; None: it is not."""
        return None

    def explain_tokens(self, model: LexicalModel, state: CircuitState, classes: Tensor) -> Tensor | None:
        """(N,) scores of the active vocabulary tokens, the entries of `state.rows`, for the classes (R,) of its rows,
        where only the head is asked; None: it cannot say."""
        return None
