"""Explanations as notebooks show them, drawn as in the report: no script, all escaped, on a background of their own."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import Environment, PackageLoader

from splade.attribution.explanation import Explanation
from splade.attribution.tagged import ExplainedText, ExplainedWord, TaggedText
from splade.reporting.sentences import Explained, TaggedSentence, explained, tagged_sentence

SCALE = 1.0
"""Score from which on a word has the strongest colour: one unit of logit, odds times e. The same for every explanation,
so that those of several cells can be compared."""


def explanation_html(explanation: Explanation) -> str:
    """The text with its words shaded by what they add, and the sum."""
    return _render(explained(explanation, SCALE), tagged=False)


def tagged_html(tagged: TaggedText, words: Sequence[ExplainedWord] = ()) -> str:
    """The text with its entities marked, and the sums behind the `words` explained."""
    return _render(tagged_sentence(ExplainedText(tagged, list(words))), tagged=True)


def _render(shown: Explained | TaggedSentence, *, tagged: bool) -> str:
    environment = Environment(
        loader=PackageLoader("splade.reporting"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("notebook.html.j2").render(shown=shown, tagged=tagged)
