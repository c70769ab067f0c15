"""Using a trained classifier: predict, explain, score. Each for one text, and for many. Taggers: `splade.tagging`.

Many texts are any collection of strings (`splade.data.given`). What is found for them is a list in their order; of a
pandas Series, a Series with its index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import torch
from torch import Tensor

from splade.attribution.explanation import NO_POSITION, NO_WORD, NOT_A_WORD, Explanation, TokenScore, WordScore
from splade.attribution.span_aggregation import check_spans, word_spans, words_of_positions
from splade.config.schema import Task
from splade.data.given import Series, given_labels, given_texts, one_text, whole_number
from splade.errors import DataError, ModelError, nearest
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE, check_task
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState
from splade.models.vocabulary import Vocabulary

BATCH_SIZE = 32


@dataclass(frozen=True)
class Prediction:
    """The predicted label of a text."""

    text: str
    label: str
    probabilities: dict[str, float]
    active_tokens: int
    truncated: bool


@dataclass(frozen=True)
class _Encoded:
    """Some texts through the model, with what is needed to find words again."""

    rows: list[int]
    texts: list[str]
    offsets: list[list[tuple[int, int]]]
    truncated: list[bool]
    length: int
    state: CircuitState


def predict_model(model: LexicalSAE, text: str) -> Prediction:
    """Predict one text; `predict_batch` takes many."""
    return predict_batch(model, [one_text(text, "predict_batch")])[0]


@overload
def predict_batch(model: LexicalSAE, texts: Series, batch_size: int = BATCH_SIZE) -> Series: ...


@overload
def predict_batch(model: LexicalSAE, texts: Iterable[str], batch_size: int = BATCH_SIZE) -> list[Prediction]: ...


def predict_batch(
    model: LexicalSAE, texts: Series | Iterable[str], batch_size: int = BATCH_SIZE
) -> Series | list[Prediction]:
    """Predict many texts, in their order."""
    check_model(model, "classification")
    given = given_texts(texts)
    out: list[Prediction | None] = [None] * len(given.items)
    for encoded in _encode(model, given.items, batch_size):
        probabilities = encoded.state.logits.softmax(-1)
        counts = encoded.state.rows.counts.tolist()
        for i, row in enumerate(encoded.rows):
            out[row] = Prediction(
                encoded.texts[i],
                model.labels[int(probabilities[i].argmax())],
                dict(zip(model.labels, probabilities[i].tolist(), strict=True)),
                counts[i],
                encoded.truncated[i],
            )
    return given.answers(out)


def explain_model(model: LexicalSAE, text: str, target: str | None = None) -> Explanation:
    """Explain one prediction: the predicted label's logit, or that of `target`, as an exact sum of words."""
    return explain_batch(model, [one_text(text, "explain_batch")], target)[0]


@overload
def explain_batch(
    model: LexicalSAE, texts: Series, target: str | None = None, batch_size: int = BATCH_SIZE
) -> Series: ...


@overload
def explain_batch(
    model: LexicalSAE, texts: Iterable[str], target: str | None = None, batch_size: int = BATCH_SIZE
) -> list[Explanation]: ...


def explain_batch(
    model: LexicalSAE, texts: Series | Iterable[str], target: str | None = None, batch_size: int = BATCH_SIZE
) -> Series | list[Explanation]:
    """Explain many predictions, in the order of the texts."""
    check_model(model, "classification")
    given = given_texts(texts)
    check_target(model, target)
    out: list[Explanation | None] = [None] * len(given.items)
    for encoded in _encode(model, given.items, batch_size):
        classes = encoded.state.logits.argmax(-1)
        if target is not None:
            classes = torch.full_like(classes, model.labels.index(target))
        attribution = compute_attribution_tensor(encoded.state, classes)
        for i, row in enumerate(encoded.rows):
            out[row] = _explain_row(model, encoded, i, int(classes[i]), attribution)
    return given.answers(out)


def explain_model_spans(
    model: LexicalSAE,
    text: str,
    spans: Iterable[tuple[int, int]] | None = None,
    target: str | None = None,
) -> list[tuple[str, float]]:
    """Exact scores of whole words, or of given character spans; a word counts to the span that holds its start.

    The last row is what lies in no span (or in no word), so that all rows and the bias together are the logit.
    """
    explanation = explain_model(model, text, target)
    if spans is None:
        words = [(w.word, w.score) for w in explanation.words if w.word != NO_WORD]
        return [*words, (NO_WORD, sum(w.score for w in explanation.words if w.word == NO_WORD))]
    checked = check_spans(spans, explanation.text)
    totals = [0.0] * (len(checked) + 1)
    for word in explanation.words:
        inside = [n for n, (a, b) in enumerate(checked) if a <= word.start < b and word.word != NO_WORD]
        totals[inside[0] if inside else -1] += word.score
    names = [explanation.text[a:b] for a, b in checked]
    return [*zip(names, totals, strict=False), ("(elsewhere)", totals[-1])]


def score_model(
    model: LexicalSAE,
    texts: Series | Iterable[str],
    labels: Series | Iterable[int | str],
    batch_size: int = BATCH_SIZE,
) -> dict[str, float]:
    """Accuracy, macro-F1 and mean active tokens on labelled texts; labels are names, or numbers if the data had them.

    The first label is the first text's, and so on; two pandas Series must have the same index.
    """
    check_model(model, "classification")
    given = given_texts(texts)
    if not given.items:
        raise DataError("There are no texts to score; give at least one text with its label.")
    gold = given_labels(labels, given, model.labels, numbered=model.record.get("numbered_labels") is True)
    from sklearn.metrics import accuracy_score, f1_score  # takes a second to load, and explaining does not need it

    predictions = predict_batch(model, given.items, batch_size)
    found = [model.labels.index(p.label) for p in predictions]
    return {
        "accuracy": float(accuracy_score(gold, found)),
        "macro_f1": float(f1_score(gold, found, average="macro", zero_division=0)),
        "active_tokens": float(np.mean([p.active_tokens for p in predictions])),
    }


def check_model(model: LexicalSAE, task: Task) -> None:
    """Refuse what is no loaded model, or one of the other task."""
    if not isinstance(model, LexicalSAE):
        raise ModelError(
            f"A model was expected first, but {model!r:.60} was given; LexicalSAE.from_pretrained(folder) loads one."
        )
    check_task(model, task)


def check_target(model: LexicalSAE, target: str | None) -> None:
    """Refuse a label that the model does not have."""
    if target is None:
        return
    if not isinstance(target, str):
        raise ModelError(
            f"target is {target!r:.60}, but the name of a label was expected; those are: {', '.join(model.labels)}."
        )
    if target not in model.labels:
        of_type = [f"'{label}'" for label in model.labels if label.lower().endswith(f"-{target}".lower())]
        raise ModelError(
            f"The model has no label '{target}'; its labels are: {', '.join(model.labels)}."
            + (f" Did you mean {' or '.join(of_type)}?" if of_type else nearest(str(target), model.labels))
        )


def check_logits(logits: Tensor) -> None:
    """Refuse logits that are no numbers: of such the first label would be called the most probable."""
    if not bool(torch.isfinite(logits).all()):
        raise ModelError(
            "The model gives logits that are no numbers (NaN or infinite); it is damaged, so train it anew."
        )


@torch.no_grad()
def _encode(model: LexicalSAE, texts: Sequence[str], batch_size: int) -> Iterator[_Encoded]:
    """Texts through the model in batches of similar length, longest first."""
    batch_size = whole_number(batch_size, "batch_size", 1)
    model.eval()
    order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        chosen = [texts[row] for row in rows]
        batch = model.tokenizer(
            chosen,
            padding=True,
            truncation=True,
            max_length=model.max_length,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        ids, mask = batch["input_ids"].to(model.device), batch["attention_mask"].to(model.device)
        state = model.classify(model(ids, mask), mask)
        check_logits(state.logits)
        yield _Encoded(
            rows,
            chosen,
            [[tuple(pair) for pair in offsets] for offsets in batch["offset_mapping"].tolist()],
            [bool(encoding.overflowing) for encoding in batch.encodings],
            ids.shape[1],
            state,
        )


def _explain_row(model: LexicalSAE, encoded: _Encoded, i: int, target: int, attribution: SparseRows) -> Explanation:
    text, start = encoded.texts[i], i * encoded.length
    mine = attribution.select(attribution.row == i)
    value = encoded.state.rows.value[attribution.row == i].tolist()
    token, score, position = (each.tolist() for each in (mine.token, mine.value, mine.position - start))
    entry, place, part = (each.tolist() for each in mine.by_position())
    spans = word_spans(text)
    word_of = words_of_positions(encoded.offsets[i], spans)

    tokens, names = token_scores(model.vocabulary, token, score, value, position)
    fired: list[list[tuple[float, str]]] = [[] for _ in range(len(spans) + 1)]
    totals = [0.0] * (len(spans) + 1)
    for e, p, a in zip(entry, place, part, strict=True):
        word = word_of[p - start]  # −1, the last, is what belongs to no word
        totals[word] += a
        fired[word].append((abs(a), names[e]))
    words = [WordScore(text[a:b], a, b, totals[n], _strongest_first(fired[n])) for n, (a, b) in enumerate(spans)]
    if fired[-1]:
        words.append(WordScore(NO_WORD, 0, 0, totals[-1], _strongest_first(fired[-1])))
    logits, probabilities = encoded.state.logits[i], encoded.state.logits[i].softmax(-1)
    return Explanation(
        text=text,
        label=model.labels[int(logits.argmax())],
        target=model.labels[target],
        logits=dict(zip(model.labels, logits.tolist(), strict=True)),
        probabilities=dict(zip(model.labels, probabilities.tolist(), strict=True)),
        bias=float(encoded.state.b_eff[i, target]),
        tokens=tokens,
        words=words,
        truncated=encoded.truncated[i],
    )


def token_scores(
    vocabulary: Vocabulary, token: list[int], score: list[float], value: list[float], position: list[int]
) -> tuple[list[TokenScore], list[str]]:
    """The active tokens of one row, those that are no words summed into one; and the name of every entry."""
    tokens, names, unnamed = [], [], [0.0, 0.0]
    for j, a, v, p in zip(token, score, value, position, strict=True):
        named = bool(vocabulary.starts_word[j]) and not bool(vocabulary.special[j])
        names.append(vocabulary.names[j] if named else NOT_A_WORD)
        if named:
            tokens.append(TokenScore(names[-1], j, a, v, p))
        else:
            unnamed = [unnamed[0] + a, unnamed[1] + v]
    if any(unnamed):
        tokens.append(TokenScore(NOT_A_WORD, NO_POSITION, unnamed[0], unnamed[1], NO_POSITION))
    return tokens, names


def _strongest_first(fired: list[tuple[float, str]]) -> list[str]:
    """Names of what fired at a word; pieces of it may say the same, and a name is enough once."""
    return list(dict.fromkeys(name for _, name in sorted(fired, reverse=True)))
