"""Glass boxes to compare with: linear models on words, every weight readable, fitted in seconds by scikit-learn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from splade.data.types import Dataset, TextSplit

# Inverse regularisation strengths tried; the validation texts choose.
STRENGTHS = (0.1, 1.0, 10.0)
MAX_ITERATIONS = 1000

VECTORIZERS: dict[str, Callable[[], Any]] = {
    # The ordinary strong baseline: words and pairs of words, sublinear counts.
    "TF-IDF + logistic regression": lambda: TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True),
    # The plainest glass box: a word is there or not, and has one weight.
    "words + logistic regression": lambda: CountVectorizer(binary=True, min_df=1),
}


@dataclass(frozen=True)
class LinearModel:
    """A fitted model; a text's logits are Σ_j x_j·w_j + b over its words, as exact as ours, but blind to context."""

    vectorizer: Any
    classifier: Any

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        return self.classifier.predict(self.vectorizer.transform(texts))

    def explain(self, text: str) -> list[tuple[str, float]]:
        """Words of the text with their contribution to the predicted class, strongest first."""
        row = self.vectorizer.transform([text]).tocoo()
        weights = self.classifier.coef_
        if len(weights) > 1:
            weight = weights[int(np.argmax(self.classifier.decision_function(row)[0]))]
        else:  # two classes share one row of weights, which speaks for the second
            weight = weights[0] if self.classifier.decision_function(row)[0] > 0 else -weights[0]
        names = self.vectorizer.get_feature_names_out()
        scores = [(str(names[j]), float(value * weight[j])) for j, value in zip(row.col, row.data, strict=True)]
        return sorted(scores, key=lambda each: -abs(each[1]))

    @property
    def parameters(self) -> int:
        return int(self.classifier.coef_.size + self.classifier.intercept_.size)


def fit_linear(make_vectorizer: Callable[[], Any], dataset: Dataset[TextSplit], seed: int) -> LinearModel:
    """Fit on the training texts with each strength and keep the best on the validation texts."""
    vectorizer = make_vectorizer()
    train, labels = vectorizer.fit_transform(dataset.train.texts), np.asarray(dataset.train.labels)
    gold = np.asarray(dataset.validation.labels)
    best, best_accuracy = None, -1.0
    for strength in STRENGTHS:
        classifier = LogisticRegression(C=strength, max_iter=MAX_ITERATIONS, random_state=seed)
        classifier.fit(train, labels)
        accuracy = float((classifier.predict(vectorizer.transform(dataset.validation.texts)) == gold).mean())
        if accuracy > best_accuracy:
            best, best_accuracy = LinearModel(vectorizer, classifier), accuracy
    assert best is not None
    return best


def measure_linear(
    make_vectorizer: Callable[[], Any], dataset: Dataset[TextSplit], texts: Sequence[str], seed: int
) -> dict[str, Any]:
    """Fit, then measure on the test texts; ``texts`` are explained one by one to take the time."""
    began = time.perf_counter()
    model = fit_linear(make_vectorizer, dataset, seed)
    fitted = time.perf_counter()
    gold, found = np.asarray(dataset.test.labels), model.predict(dataset.test.texts)
    model.explain(texts[0])  # once without the watch, as for the others
    started = time.perf_counter()
    for text in texts:
        model.explain(text)
    return {
        "accuracy": float((found == gold).mean()),
        "macro_f1": float(f1_score(gold, found, average="macro", zero_division=0)),
        "parameters": model.parameters,
        "train_seconds": fitted - began,
        "explain_seconds": (time.perf_counter() - started) / len(texts),
        "explain_passes": 1.0,
        "explanation": "its own weights, exact",
    }
