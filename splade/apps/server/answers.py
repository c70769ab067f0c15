"""Answers as JSON: what the models of each task say, in the stable form of the command line with places and parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from splade.apps.server.places import Places
from splade.attribution.explanation import NO_WORD, Explanation, TokenScore, WordScore
from splade.attribution.prediction import Prediction
from splade.attribution.tagged import ExplainedText, ExplainedWord, TaggedText, TaggedWord
from splade.registry import Registry

Json = dict[str, Any]


@dataclass(frozen=True)
class Speech:
    """How the answers of one task are written, and what can be read off them."""

    decides: str
    """What to ask for its predictions."""
    predicted: Callable[[Any], Json]
    explained: Callable[[Any], Json]
    error: Callable[[Any], float]
    """The largest error of the sums of an explanation."""
    labels: Callable[[Any], list[str]]
    """The label of each row of what was explained: of a text, of each word."""
    target: Callable[[Any], str | None]
    """The label that the whole of an explanation is about, if there is one."""


SPEECH: Registry[Speech] = Registry("task")


def prediction(answer: Prediction) -> Json:
    """An entry of `/predict`."""
    found = answer.to_json()
    truncated = found.pop("truncated")
    return found | {"active_tokens": answer.active_tokens, "truncated": truncated}


def explanation(answer: Explanation) -> Json:
    """An entry of `/explain`."""
    places, found = Places(answer.text), answer.to_json()
    number, words = 0, []
    for word in answer.words:
        named = word.word == NO_WORD and word.end == 0
        words.append({"number": None if named else number, **_word(word, places)})
        number += not named
    active = len(answer.tokens)
    return found | {"active_tokens": active, "words": words}


def tagged(answer: TaggedText) -> Json:
    """An entry of `/tag`."""
    places, found = Places(answer.text), answer.to_json()
    entities: Any = found["entities"]
    return {
        "text": answer.text,
        "entities": [one | places.span(one["start"], one["end"]) for one in entities],
        "words": [_tagged_word(number, word, places) for number, word in enumerate(answer.words)],
    }


def explained_text(answer: ExplainedText) -> Json:
    """An entry of `/explain`, of a tagger."""
    places = Places(answer.tagged.text)
    return tagged(answer.tagged) | {"explained": [_explained_word(word, places) for word in answer.explained]}


def _word(word: WordScore, places: Places) -> Json:
    tokens = [{"token": name, "score": float(score)} for name, score in word.parts]
    return {"word": word.word, **places.span(word.start, word.end), "score": float(word.score), "tokens": tokens}


def _tagged_word(number: int, word: TaggedWord, places: Places) -> Json:
    return {
        "number": number,
        "word": word.word,
        **places.span(word.start, word.end),
        "tag": word.tag,
        "probability": word.probability,
        "probabilities": word.probabilities,
        "active_tokens": word.active_tokens,
        "truncated": word.truncated,
    }


def _explained_word(word: ExplainedWord, places: Places) -> Json:
    why = word.explanation
    found = why.to_json()
    kept = {key: found[key] for key in ("label", "target", "logits", "probabilities", "bias", "constant_bias")}
    words = [{"number": word.number + one.offset, "offset": one.offset, **_word(one, places)} for one in why.words]
    return {"number": word.number, **kept, "words": words, "tokens": [_token(one, word.number) for one in why.tokens]}


def _token(token: TokenScore, number: int) -> Json:
    at = None if token.token_id < 0 else number + token.offset
    return {"token": token.token, "score": float(token.score), "value": float(token.value), "number": at}


def _largest(errors: Sequence[float]) -> float:
    return max(errors, default=0.0)


SPEECH.register("classification")(
    Speech(
        "/predict",
        prediction,
        explanation,
        error=Explanation.check,
        labels=lambda answer: [answer.label],
        target=lambda answer: str(answer.label),
    )
)
SPEECH.register("tagging")(
    Speech(
        "/tag",
        tagged,
        explained_text,
        error=lambda answer: _largest([word.explanation.check() for word in answer.explained]),
        labels=lambda answer: [word.tag for word in answer.tagged.words],
        target=lambda answer: None,
    )
)
