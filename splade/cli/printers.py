"""How the answers of each task look in a terminal. Loaded once a model is there: printing sums needs its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from splade.attribution.explanation import Explanation
from splade.attribution.prediction import Prediction
from splade.attribution.tagged import ExplainedText, TaggedText
from splade.cli.console import out
from splade.registry import Registry
from splade.reporting.interaction_terminal import print_interactions
from splade.reporting.tagged_terminal import print_explained_tags, print_tagged
from splade.reporting.terminal import print_explanation
from splade.utils.one_line import one_line


@dataclass(frozen=True)
class Printer:
    """How answers of one task are printed."""

    prediction: Callable[[Any], None]
    explanation: Callable[[Any, int, bool], None]
    """Takes how many summands get a row of their own, and whether one word was asked for."""
    names_cut: bool
    """Whether a printed explanation itself says that a text was cut."""


PRINTERS: Registry[Printer] = Registry("task")


def _print_label(prediction: Prediction) -> None:
    probability = prediction.probabilities[prediction.label]
    print(f"{one_line(prediction.label)}\t{probability:.4f}\t{one_line(prediction.text)}")


def _print_sums(explanation: Explanation, top: int, one_word: bool) -> None:
    print_explanation(explanation, out, top)
    if explanation.interactions is not None:
        out.print()
        print_interactions(explanation.interactions, out)


def _print_entities(tagged: TaggedText) -> None:
    print_tagged(tagged, out)


def _print_tags(explained: ExplainedText, top: int, one_word: bool) -> None:
    print_explained_tags(explained, out, top, whole=one_word)


PRINTERS.register("classification")(Printer(_print_label, _print_sums, names_cut=True))
PRINTERS.register("tagging")(Printer(_print_entities, _print_tags, names_cut=False))
