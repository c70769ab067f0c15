"""`lexical-sae explain`."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from splade.cli.answers import SHORTENED_AT_A_TIME, TEXTS_AT_A_TIME, answers, load_model, say_cut, texts_for
from splade.cli.console import out, say
from splade.cli.errors import reports_errors
from splade.cli.options import (
    AsJson,
    Column,
    Encoding,
    File,
    ModelFolder,
    Texts,
    TopK,
    flag,
)
from splade.errors import ConfigError, DataError
from splade.utils.one_line import one_line

if TYPE_CHECKING:
    from splade.attribution.explanation import Explanation
    from splade.attribution.tagged import ExplainedText


Target = Annotated[str | None, typer.Option("--target", help="Explain this label (tag) instead of the predicted one.")]
Top = Annotated[int, typer.Option("--top", min=1, help="Summands named in each sum; the others share one.")]
Word = Annotated[
    int | None,
    typer.Option(
        "--word", min=0, help="Taggers: explain this word of each text, counted from 0, instead of its entities."
    ),
]
WithContext = Annotated[
    bool, flag("--context", "Taggers: also delete each other word, and show what that takes from the tag's logit.")
]
WithInteractions = Annotated[
    bool, flag("--interactions", "Classifiers: also delete words, and show what each does and through which others.")
]
Spans = Annotated[
    list[str] | None,
    typer.Option(
        "--span", help="With --interactions: delete these words as one ('not good', 'not ... good'). May be repeated."
    ),
]
AllWords = Annotated[
    bool, flag("--all-words", "With --interactions: delete and show every word, and not those that matter.")
]


@reports_errors
def explain(
    model: ModelFolder,
    texts: Texts = None,
    file: File = None,
    column: Column = None,
    encoding: Encoding = None,
    target: Target = None,
    as_json: AsJson = False,
    top: Top = 12,
    word: Word = None,
    context: WithContext = False,
    interactions: WithInteractions = False,
    span: Spans = None,
    all_words: AllWords = False,
    topk: TopK = None,
) -> None:
    """Show why: every prediction as a sum of vocabulary words that gives its logit.

    A tagger is explained word by word: each word of an entity, or the one that --word asks for.
    """
    if not interactions and (span or all_words):
        raise ConfigError(f"{'--span' if span else '--all-words'} says what --interactions are of; add that option.")
    loaded = load_model(model, topk, for_tagger=word is not None or context)
    from splade import inference  # after the model: loading it is what takes the time
    from splade.cli.printers import PRINTERS

    printer, cut, without_word = PRINTERS.get(loaded.task), 0, 0
    given = texts_for(loaded, texts, file, column, encoding)
    asked = partial(
        inference.explain,
        loaded,
        target=target,
        word=word,
        context=context,
        interactions=interactions,
        spans=span or None,
        all_words=all_words,
    )
    for number, answer in enumerate(
        answers(given, asked, SHORTENED_AT_A_TIME if interactions or context else TEXTS_AT_A_TIME)
    ):
        cut += answer.cut
        if interactions:
            _say_not_found(answer, number, alone=len(given) == 1)
        if word is not None and not answer.explained:
            without_word += 1
            _say_no_such_word(answer, word, number, alone=len(given) == 1)
        if as_json:
            print(json.dumps(answer.to_json()))  # ASCII: some readers end lines at other characters too
            continue
        if number:
            out.print()
        printer.explanation(answer, top, word is not None)
    if as_json or not printer.names_cut:
        say_cut(cut, loaded)
    if without_word and without_word == len(given):
        raise DataError(f"None of the {without_word} texts has a word {word}, counted from 0; choose another.")


def _say_no_such_word(answer: ExplainedText, word: int, number: int, *, alone: bool) -> None:
    """Where a text has fewer words than one asked for: an error if there is no other text, else a sentence."""
    from splade.tagging import no_such_word

    sentence = no_such_word(answer.tagged, word)
    if alone:
        raise DataError(sentence)
    say(f"Text {number + 1}: {one_line(sentence)}")


def _say_not_found(answer: Explanation, number: int, *, alone: bool) -> None:
    """A sentence for each span that does not stand in a text."""
    for span in answer.interactions.not_found if answer.interactions else ():
        text = "The text" if alone else f"Text {number + 1}"
        say(f"{text} does not have the words '{one_line(span)}', so they were not deleted.")
