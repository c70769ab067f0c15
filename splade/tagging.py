"""Using a trained tagger: find entities and explain them. Each for one text, and for many.

A text is a string, which is split into words as CoNLL is (`splade.attribution.conll_words`), or a list of words. It is
read as one sentence, line breaks being spaces, in overlapping windows where it is longer than the model reads; every
word gets a tag, also a blank one of a list, which is read as an unknown word. Many texts are any collection of these
(`splade.data.given`); the answers are a list in their order, for a pandas Series a Series with its index.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload

from splade.attribution.tagged import ExplainedText, TaggedText
from splade.data.given import Sentence, Series, one_sentence
from splade.errors import DataError
from splade.inference import BATCH_SIZE, check_model, explain, predict
from splade.models.lexical_sae import LexicalSAE


def tag_model(model: LexicalSAE, text: Sentence) -> TaggedText:
    """Find the entities of one text, a string or a list of words; `tag_batch` takes many."""
    return tag_batch(model, [one_sentence(text, "tag_batch")])[0]


@overload
def tag_batch(model: LexicalSAE, texts: Series, batch_size: int = BATCH_SIZE) -> Series: ...


@overload
def tag_batch(model: LexicalSAE, texts: Iterable[Sentence], batch_size: int = BATCH_SIZE) -> list[TaggedText]: ...


def tag_batch(
    model: LexicalSAE, texts: Series | Iterable[Sentence], batch_size: int = BATCH_SIZE
) -> Series | list[TaggedText]:
    """Find the entities of many texts, in their order."""
    check_model(model, "tagging")
    return predict(model, texts, batch_size)


def explain_tags(
    model: LexicalSAE, text: Sentence, *, word: int | None = None, target: str | None = None, context: bool = False
) -> ExplainedText:
    """Explain the entities of one text; see `explain_tags_batch`. Here a word that the text has not is an error."""
    texts = [one_sentence(text, "explain_tags_batch")]
    explained = explain_tags_batch(model, texts, word=word, target=target, context=context)[0]
    if word is not None and not explained.explained:
        raise DataError(no_such_word(explained.tagged, word))
    return explained


def no_such_word(tagged: TaggedText, word: int) -> str:
    """The sentence to say where a text has fewer words than one asked for."""
    shown = tagged.text if len(tagged.text) <= 40 else f"{tagged.text[:40]}..."
    return f"Word {word} was asked for, but '{shown}' has {len(tagged.words)} word(s), counted from 0; choose another."


@overload
def explain_tags_batch(
    model: LexicalSAE,
    texts: Series,
    *,
    word: int | None = None,
    target: str | None = None,
    context: bool = False,
    batch_size: int = BATCH_SIZE,
) -> Series: ...


@overload
def explain_tags_batch(
    model: LexicalSAE,
    texts: Iterable[Sentence],
    *,
    word: int | None = None,
    target: str | None = None,
    context: bool = False,
    batch_size: int = BATCH_SIZE,
) -> list[ExplainedText]: ...


def explain_tags_batch(
    model: LexicalSAE,
    texts: Series | Iterable[Sentence],
    *,
    word: int | None = None,
    target: str | None = None,
    context: bool = False,
    batch_size: int = BATCH_SIZE,
) -> Series | list[ExplainedText]:
    """Explain the words of entities, in the order of the texts: the logit of each word's tag as an exact sum.

    Args:
        word: explain this word of every text instead, counted from 0, whatever its tag; of a text that has fewer words,
            nothing.
        target: explain the logit of this tag instead of the one decoded.
        context: also delete each other word, and say what that does to each decision and through which tokens; a
            reading for each word of a text.
    """
    check_model(model, "tagging")
    return explain(model, texts, target, batch_size, word=word, context=context)
