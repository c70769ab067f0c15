"""Using a trained model: predict, explain, score. Each for one text, and for many.

`predict` and `explain` take any model and answer as its task does; the others are for classifiers, and those of
`splade.tagging` for taggers. Many texts are any collection of strings (`splade.data.given`). The answers are a list in
their order; for a pandas Series, a Series with its index.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

import numpy as np

from splade.attribution.deletions import Deletions
from splade.attribution.explanation import NO_WORD, Explanation
from splade.attribution.prediction import Prediction
from splade.attribution.span_aggregation import check_spans
from splade.config.schema import Task
from splade.data.given import BATCH_SIZE, Series, given_labels, given_texts, one_text
from splade.errors import DataError, ModelError, nearest
from splade.models.lexical_sae import LexicalSAE, check_task
from splade.models.protocol import Model
from splade.tasks import TASKS

__all__ = [
    "BATCH_SIZE",
    "Explanation",
    "Prediction",
    "explain",
    "explain_batch",
    "explain_model",
    "explain_model_spans",
    "predict",
    "predict_batch",
    "predict_model",
    "predict_proba",
    "score_model",
]


def predict(model: LexicalSAE, texts: Series | Iterable[Any], batch_size: int = BATCH_SIZE) -> Any:
    """What the model says of each text: a `Prediction`, of a tagger a `TaggedText`."""
    task = TASKS.get(_loaded(model).task)
    given = task.given(texts)
    return given.answers(task.predict_texts(model, given.items, batch_size))


def explain(
    model: LexicalSAE,
    texts: Series | Iterable[Any],
    target: str | None = None,
    batch_size: int = BATCH_SIZE,
    *,
    word: int | None = None,
    context: bool = False,
    interactions: bool = False,
    spans: Iterable[Any] | None = None,
    all_words: bool = False,
) -> Any:
    """Why the model says it: an `Explanation` of each text, of a tagger an `ExplainedText`.

    Args:
        target: the label to explain in the place of the predicted one.
        word, context: for taggers, see `splade.tagging.explain_tags_batch`.
        interactions: also delete words, one at a time, and say what that does and through which other words: a reading
            for each word of a text (`splade.attribution.interactions`).
        spans: words to delete as one: strings such as "not good" or "n't ... good", looked for in every text; or a list
            a text of its characters (start, end), for one text also these alone.
        all_words: delete, and show, every word of a long text, and not those that matter.
    """
    task = TASKS.get(_loaded(model).task)
    given = task.given(texts)
    check_target(model, target)
    deletions = Deletions.asked(interactions, spans, all_words)
    answers = task.explain_texts(
        model, given.items, target=target, batch_size=batch_size, word=word, context=context, deletions=deletions
    )
    return given.answers(answers)


def predict_proba(model: LexicalSAE, texts: Series | Iterable[str], batch_size: int = BATCH_SIZE) -> np.ndarray:
    """(N, C) the probabilities of all labels, in the order of `model.labels`."""
    check_model(model, "classification")
    predictions = TASKS.get(model.task).predict_texts(model, given_texts(texts).items, batch_size)
    probabilities = [[prediction.probabilities[label] for label in model.labels] for prediction in predictions]
    return np.array(probabilities).reshape(-1, len(model.labels))


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
    return predict(model, texts, batch_size)


def explain_model(
    model: LexicalSAE,
    text: str,
    target: str | None = None,
    *,
    interactions: bool = False,
    spans: Iterable[Any] | None = None,
    all_words: bool = False,
) -> Explanation:
    """Explain one prediction: the predicted label's logit, or that of `target`, as an exact sum of words.

    The others as in `explain`.
    """
    texts = [one_text(text, "explain_batch")]
    return explain_batch(model, texts, target, interactions=interactions, spans=spans, all_words=all_words)[0]


@overload
def explain_batch(
    model: LexicalSAE,
    texts: Series,
    target: str | None = None,
    batch_size: int = BATCH_SIZE,
    *,
    interactions: bool = False,
    spans: Iterable[Any] | None = None,
    all_words: bool = False,
) -> Series: ...


@overload
def explain_batch(
    model: LexicalSAE,
    texts: Iterable[str],
    target: str | None = None,
    batch_size: int = BATCH_SIZE,
    *,
    interactions: bool = False,
    spans: Iterable[Any] | None = None,
    all_words: bool = False,
) -> list[Explanation]: ...


def explain_batch(
    model: LexicalSAE,
    texts: Series | Iterable[str],
    target: str | None = None,
    batch_size: int = BATCH_SIZE,
    *,
    interactions: bool = False,
    spans: Iterable[Any] | None = None,
    all_words: bool = False,
) -> Series | list[Explanation]:
    """Explain many predictions, in the order of the texts; arguments as in `explain`."""
    check_model(model, "classification")
    asked = {"interactions": interactions, "spans": spans, "all_words": all_words}
    return explain(model, texts, target, batch_size, **asked)  # type: ignore[arg-type]


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
    predicted = [model.labels.index(prediction.label) for prediction in predictions]
    return {
        "accuracy": float(accuracy_score(gold, predicted)),
        "macro_f1": float(f1_score(gold, predicted, average="macro", zero_division=0)),
        "active_tokens": float(np.mean([prediction.active_tokens for prediction in predictions])),
    }


def check_model(model: LexicalSAE, task: Task) -> None:
    """Refuse what is no loaded model, or one of the other task."""
    check_task(_loaded(model), task)


def _loaded(model: LexicalSAE) -> LexicalSAE:
    if getattr(model, "has_sparse_rows", None) is not True:  # by what it offers: a wrapper will do (`models.protocol`)
        raise ModelError(
            f"A model was expected first, but {model!r:.60} was given; LexicalSAE.from_pretrained(folder) loads one."
        )
    return model


def check_target(model: Model, target: str | None) -> None:
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
