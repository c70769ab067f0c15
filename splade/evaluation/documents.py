"""Documents: texts longer than the model reads at once, decided on as a whole by the mean of their windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from splade.evaluation.binomial import interval
from splade.evaluation.estimate import Estimate, beside_estimate
from splade.evaluation.figure import Figure, Form, Key, Results, find, is_number, percent
from splade.evaluation.measure import MEASURES, Measure, Scope
from splade.evaluation.sampling import sampled
from splade.explainers import Subject, WordText
from splade.explainers.windows import document_logits
from splade.models.protocol import Model

MOST = 200
"""Long texts that are read whole; of documents of a thousand words, about a minute on two cores."""

SHARE = Form(1, 100, "%")


@dataclass(frozen=True)
class DocumentScores:
    """Accuracy on the texts that one window does not hold."""

    accuracy: Estimate | None
    """Read whole."""
    cut_accuracy: Estimate | None
    """The same texts, cut."""
    dense_accuracy: Estimate | None
    """Of the dense baseline, read whole; None: it is not at hand."""
    texts: int
    """Measured on."""
    long_texts: int
    """In the split."""


def _beside(results: Results) -> str:
    parts = [
        beside_estimate("documents.accuracy", SHARE)(results),
        *(
            f"{name} {percent(value)}"
            for name, key in (("cut", "cut_accuracy"), ("dense", "dense_accuracy"))
            if is_number(value := find(results, f"documents.{key}.mean"))
        ),
    ]
    return "; ".join(part for part in parts if part)


@MEASURES.register("documents")
class Documents(Measure[DocumentScores]):
    """Long texts in overlapping windows: the mean of their logits, which is a sum of words as well."""

    title = "Whole documents"
    about = (
        "Texts longer than the model reads at once are cut everywhere else. Here they are read whole, in overlapping "
        "windows; the logit of a text is the mean of its windows' logits, and so still the sum of its words' shares."
    )
    section = "documents"
    tasks = ("classification",)
    reads = "nothing"
    figures = (
        Figure(
            "documents.accuracy.mean",
            "accuracy on whole documents",
            "Share of the texts longer than one window that get their label when all their windows decide.",
            SHARE,
            better="higher",
            column="documents_accuracy",
            beside=_beside,
        ),
    )
    keys = (
        Key("documents.{cut_accuracy,dense_accuracy}.mean", "the same texts cut; read whole by the dense baseline"),
        Key("documents.{accuracy,cut_accuracy,dense_accuracy}.{low,high}", "95 %, by Wilson's formula"),
        Key("documents.{texts,long_texts}", "measured on, drawn at random; in the split"),
    )

    @classmethod
    def is_wanted(cls, scope: Scope) -> bool:
        return len(_long(scope)) > 0

    def result(self) -> DocumentScores:
        long = _long(self.scope)
        rows = long[sampled(len(long), MOST)[0]]
        labels = self.scope.task.labels[rows]
        texts = [WordText.of_words(text.split()) for text in self.scope.task.texts(rows)]
        dense = self.scope.references.dense
        with self.scope.progress("reading whole documents", len(rows) * (1 + (dense is not None))) as advance:
            whole = self._right(self.scope.model, texts, labels, advance)
            by_dense = np.zeros(0) if dense is None else self._right(dense, texts, labels, advance)
        cut = self._subject(self.scope.model).logits([text.text for text in texts]).argmax(-1).numpy() == labels
        return DocumentScores(_share(whole), _share(cut), _share(by_dense), len(rows), len(long))

    def _subject(self, model: Model) -> Subject:
        own = self.scope.model
        return Subject(model, own.tokenizer, own.max_length, self.scope.config.batch_size)

    def _right(
        self, model: Model, texts: list[WordText], labels: np.ndarray, advance: Callable[[int], None]
    ) -> np.ndarray:
        """(N,) whether each text gets its label."""
        subject, right = self._subject(model), np.zeros(len(texts))
        for start in range(0, len(texts), subject.batch_size):
            some = slice(start, start + subject.batch_size)
            right[some] = document_logits(subject, texts[some]).argmax(-1).numpy() == labels[some]
            advance(len(texts[some]))
        return right


def _share(right: np.ndarray) -> Estimate | None:
    """Of (N,) texts those that are right; None: of no text. Often there are few, so the interval is Wilson's."""
    if not len(right):
        return None
    ends = interval(int(right.sum()), len(right))
    return Estimate(float(right.mean()), ends.low, ends.high)


def _long(scope: Scope) -> np.ndarray:
    """Texts that were cut, of those that are explained."""
    if not scope.task.encoded.truncated:
        return np.arange(0)
    full = scope.rows[scope.task.encoded.lengths[scope.rows] >= scope.model.max_length]
    texts = scope.task.texts(full)
    lengths = [len(ids) for ids in scope.model.tokenizer(texts, verbose=False)["input_ids"]] if texts else []
    return full[np.array(lengths, dtype=np.int64) > scope.model.max_length]
