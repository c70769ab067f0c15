"""TF-IDF regression: a model of its own that knows single words and nothing of what stands around them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from splade.attribution.word_text import WordText
from splade.errors import ConfigError
from splade.explainers.explainer import EXPLAINERS, Explainer, WordScores
from splade.explainers.subject import Subject

MAX_ITERATIONS = 1000
"""More than the regression takes."""


@EXPLAINERS.register("tfidf")
class TfIdf(Explainer):
    """Logistic regression on the words of the training texts, each weighed by (1 + log count)·idf: scikit-learn's own
    settings otherwise. logit[c] = Σ_j x_j·w[c, j] + b[c]; a word that occurs n times gives each place 1/n of its part.

    It explains its own decisions. What people marked agrees with it well where single words decide, so that whoever
    explains a larger model must be held against it.
    """

    title = "TF-IDF regression"

    @cached_property
    def _fitted(self) -> tuple[Any, Any]:
        """The vectoriser and the regression."""
        from sklearn.feature_extraction.text import TfidfVectorizer  # a second to load, which explaining does without
        from sklearn.linear_model import LogisticRegression

        training = self.parts.training()
        if training is None:
            raise ConfigError(
                "The explainer tfidf is fitted to the training texts, which are not at hand; leave it out."
            )
        vectorizer = TfidfVectorizer(token_pattern=r"\S+", sublinear_tf=True)
        features = vectorizer.fit_transform(training.texts(np.arange(len(training))))
        return vectorizer, LogisticRegression(max_iter=MAX_ITERATIONS).fit(features, training.labels)

    def logits(self, texts: Sequence[str]) -> np.ndarray:
        """(N, C) of its own, for the classes that training texts have; −∞ for others."""
        vectorizer, regression = self._fitted
        found = regression.decision_function(vectorizer.transform(texts))
        if found.ndim == 1:  # of two classes, what speaks for the second
            found = np.stack([-found, found], 1) / 2
        logits = np.full((len(texts), int(regression.classes_.max()) + 1), -np.inf)
        logits[:, regression.classes_] = found
        return logits

    def decide(self, texts: Sequence[WordText]) -> np.ndarray:
        return self.logits([" ".join(text.words) for text in texts]).argmax(1)

    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        vectorizer, regression = self._fitted
        weights, bias = regression.coef_, regression.intercept_  # (C, V), (C,)
        if len(weights) == 1:
            weights, bias = np.concatenate([-weights, weights]) / 2, np.concatenate([-bias, bias]) / 2
        row_of = {int(number): row for row, number in enumerate(regression.classes_)}
        features = vectorizer.transform([" ".join(text.words) for text in texts]).tocsr()
        found = []
        for number, (text, class_) in enumerate(zip(texts, classes, strict=True)):
            part = features[number]
            values = dict(zip(part.indices.tolist(), part.data.tolist(), strict=True))
            columns = [vectorizer.vocabulary_.get(word.lower(), -1) for word in text.words]
            counts = {column: columns.count(column) for column in set(columns)}
            row = row_of[class_]
            scores = [values[j] * weights[row, j] / counts[j] if j >= 0 else 0.0 for j in columns]
            found.append(WordScores(np.array(scores), float(bias[row])))
        return found
