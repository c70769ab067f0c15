"""Using a trained tagger: find entities and explain them. Each for one text, and for many.

A text is a string, which is split into words as CoNLL is (`splade.attribution.conll_words`), or a list of words. It is
read as one sentence, line breaks being spaces, in overlapping windows where it is longer than the model reads; every
word gets a tag, also a blank one of a list, which is read as an unknown word. Many texts are any collection of these
(`splade.data.given`); what is found for them is a list in their order, of a pandas Series a Series with its index.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
import torch
from torch import Tensor

from splade.attribution.conll_words import split_words
from splade.attribution.context_estimate import estimate_contexts
from splade.attribution.explanation import Explanation, WordScore
from splade.attribution.tagged import ExplainedText, ExplainedWord, TaggedText, TaggedWord
from splade.data.given import Sentence, Series, given_sentences, one_sentence, whole_number
from splade.data.types import TaggedSplit
from splade.errors import DataError
from splade.inference import BATCH_SIZE, check_logits, check_model, check_target, token_scores
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState
from splade.tasks import TaggingTask


@dataclass(frozen=True)
class _Read:
    """Texts through the model; the words of all texts are numbered end to end."""

    texts: list[str]
    sentences: list[list[str]]
    starts: np.ndarray
    """(N + 1,) number of each text's first word."""
    tagged: list[TaggedText]
    states: list[tuple[np.ndarray, int, CircuitState]]
    """Of each batch: which word (R,) each row is, the length L of its windows, and its state; empty unless they are to
    explain something."""


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
    given = given_sentences(texts)
    return given.answers(_read(model, given.items, batch_size, to_explain=False).tagged)


def explain_tags(
    model: LexicalSAE, text: Sentence, *, word: int | None = None, target: str | None = None, context: bool = False
) -> ExplainedText:
    """Explain the entities of one text; see `explain_tags_batch`. Here a word that the text has not is an error."""
    texts = [one_sentence(text, "explain_tags_batch")]
    found = explain_tags_batch(model, texts, word=word, target=target, context=context)[0]
    if word is not None and not found.explained:
        raise DataError(no_such_word(found.tagged, word))
    return found


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
        context: also estimate which other words moved each decision; a forward pass for each word of a text.
    """
    check_model(model, "tagging")
    given = given_sentences(texts)
    check_target(model, target)
    word = None if word is None else whole_number(word, "word", 0)
    read = _read(model, given.items, batch_size, to_explain=True)
    wanted = [_wanted(tagged, word) for tagged in read.tagged]
    owners = {int(start) + n: (text, n) for text, start in enumerate(read.starts[:-1]) for n in wanted[text]}
    explained: list[dict[int, ExplainedWord]] = [{} for _ in given.items]
    for places, length, state in read.states:
        rows = [row for row, place in enumerate(places.tolist()) if place in owners]
        if not rows:
            continue
        part = state.take(torch.tensor(rows, device=state.logits.device))
        tags = [read.tagged[text].words[n].tag for text, n in (owners[int(places[row])] for row in rows)]
        classes = torch.tensor([model.labels.index(target or tag) for tag in tags], device=part.logits.device)
        attribution = compute_attribution_tensor(part, classes)
        for i, row in enumerate(rows):
            text, n = owners[int(places[row])]
            explanation = _explain(model, part, attribution, i, int(classes[i]), length, read.tagged[text], n)
            explained[text][n] = ExplainedWord(n, explanation)
    if context:
        for sentence, found in zip(read.sentences, explained, strict=True):
            asked = {n: word.explanation.target for n, word in found.items()}
            for n, estimate in estimate_contexts(model, sentence, asked).items():
                found[n] = replace(found[n], context=estimate)
    return given.answers(
        [
            ExplainedText(tagged, [found[n] for n in sorted(found)])
            for tagged, found in zip(read.tagged, explained, strict=True)
        ]
    )


def _explain(
    model: LexicalSAE,
    state: CircuitState,
    attribution: SparseRows,
    i: int,
    target: int,
    length: int,
    tagged: TaggedText,
    n: int,
) -> Explanation:
    """Row i of the attribution, which is word n of the text."""
    inside = attribution.row == i
    mine, value = attribution.select(inside), state.rows.value[inside].tolist()
    token, score, position = (each.tolist() for each in (mine.token, mine.value, mine.position % length))
    tokens, _ = token_scores(model.vocabulary, token, score, value, position)
    word = tagged.words[n]
    names = [each.token for each in sorted(tokens, key=lambda each: -abs(each.score))]
    return Explanation(
        text=tagged.text,
        label=word.tag,
        target=model.labels[target],
        logits=dict(zip(model.labels, state.logits[i].tolist(), strict=True)),
        probabilities=word.probabilities,
        bias=float(state.b_eff[i, target]),
        tokens=tokens,
        words=[WordScore(word.word, word.start, word.end, sum(score), names)],
    )


def _wanted(tagged: TaggedText, word: int | None) -> list[int]:
    if word is None:
        return [n for entity in tagged.entities for n in entity.words]
    return [word] if word < len(tagged.words) else []


@torch.no_grad()
def _read(model: LexicalSAE, texts: Sequence[str | list[str]], batch_size: int, *, to_explain: bool) -> _Read:
    batch_size = whole_number(batch_size, "batch_size", 1)
    model.eval()
    plain = [text if isinstance(text, str) else " ".join(text) for text in texts]
    spans = [
        split_words(shown) if isinstance(text, str) else _spans(text) for text, shown in zip(texts, plain, strict=True)
    ]
    sentences = [[text[a:b] for a, b in own] for text, own in zip(plain, spans, strict=True)]
    starts = np.cumsum([0, *map(len, sentences)])
    split = TaggedSplit(sentences, [[0] * len(words) for words in sentences])
    task = TaggingTask(split, model.tokenizer, model.max_length, model.labels)
    logits = torch.zeros(len(task.labels), len(model.labels))
    active = torch.zeros(len(task.labels), dtype=torch.long)
    states = []
    for batch in task.in_order(batch_size, model.device):
        state, places = task.predict(model, batch), torch.from_numpy(batch.places)
        check_logits(state.logits)
        logits[places], active[places] = state.logits.cpu(), state.rows.counts.cpu()
        if to_explain:  # without the hidden states, which nobody asks for again
            kept = CircuitState(state.logits, state.rows, state.scores, state.region)
            states.append((batch.places, batch.input_ids.shape[1], kept))
    tags, counts, cut = task.decode(logits).tolist(), active.tolist(), set(task.encoded.cut.tolist())
    tagged = []
    for text, own, start in zip(plain, spans, starts.tolist(), strict=False):
        probabilities: Tensor = logits[start : start + len(own)].softmax(-1)
        words = [
            TaggedWord(
                text[a:b],
                a,
                b,
                model.labels[tags[start + n]],
                dict(zip(model.labels, probabilities[n].tolist(), strict=True)),
                counts[start + n],
                start + n in cut,
            )
            for n, (a, b) in enumerate(own)
        ]
        tagged.append(TaggedText(text, words))
    return _Read(plain, sentences, starts, tagged, states)


def _spans(words: Sequence[str]) -> list[tuple[int, int]]:
    """Where words stand in the text they make when joined by spaces."""
    ends = np.cumsum([len(word) + 1 for word in words]).tolist()
    return [(end - len(word) - 1, end - 1) for word, end in zip(words, ends, strict=True)]
