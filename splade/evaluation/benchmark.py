"""Explainers compared in Python, a text or many at a time.

    bench = Benchmark(model)
    bench.explain("a charming film")      # what every explainer says of each word
    bench.evaluate(texts)                 # how faithful, exact, constant and dear each is
    bench.table()                         # the same again

In the spirit of ferret (Attanasio et al. 2023, arXiv:2208.01575), by this project's own definitions: those of the
measure `explainers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from splade.data.given import given_texts, one_text
from splade.data.rationales import rationale_texts
from splade.errors import DataError, ModelError, nearest
from splade.evaluation.comparison import OF_MODELS, Comparison, ExplainersSettings
from splade.evaluation.explained_texts import ComparedTexts
from splade.evaluation.explainers_table import COLUMNS, DENSE, explainer_title
from splade.evaluation.figure import Form, find, is_number
from splade.evaluation.measure import as_json
from splade.evaluation.number_table import NumberTable
from splade.explainers import EXPLAINERS, ExplainerParts, Subject, WordText
from splade.models.dense import DenseClassifier
from splade.models.lexical_sae import LexicalSAE, check_task
from splade.models.protocol import is_lexical
from splade.tasks import Task

SCORE = Form(3, bounds=(-float("inf"), float("inf")))


class Benchmark:
    """Explainers of a classifier, ours or its dense baseline."""

    def __init__(
        self,
        model: LexicalSAE | DenseClassifier,
        *,
        dense: DenseClassifier | None = None,
        explainers: Sequence[str] = OF_MODELS,
        batch_size: int = 64,
        seed: int = 0,
        lime_samples: int = 5_000,
        steps: int = 50,
    ):
        """`dense`: a second model to compare explainers on. `lime_samples`, `steps`: texts that LIME, and points that
        integrated gradients and GradientSHAP look at."""
        if not hasattr(model, "has_sparse_rows"):  # by what it offers: a wrapper will do (`models.protocol`)
            raise ModelError(
                f"A model was expected, but {model!r:.60} was given; LexicalSAE.from_pretrained(folder) loads one."
            )
        check_task(model, "classification")
        self.subjects = [Subject(model, model.tokenizer, model.max_length, batch_size, "own")]
        if dense is not None:
            self.subjects.append(Subject(dense, model.tokenizer, model.max_length, batch_size, DENSE))
        for name in explainers:
            EXPLAINERS.get(name)  # an unknown one is said at once
        self.explainers = [name for name in explainers if is_lexical(model) or not EXPLAINERS.get(name).by_words]
        self.parts = ExplainerParts(seed, lime_samples, steps)
        self._table: NumberTable | None = None

    def explain(self, text: str, target: str | None = None) -> NumberTable:
        """What each explainer says of each word, for the label that the model predicts, or for `target`."""
        subject, of_text = self.subjects[0], WordText.of(one_text(text, "evaluate"))
        labels = list(subject.model.labels)
        if target is not None and target not in labels:
            raise DataError(
                f"There is no label '{target}'; the labels are: {', '.join(labels)}.{nearest(target, labels)}"
            )
        logits = subject.logits([of_text.text])[0]
        chosen = int(logits.argmax()) if target is None else labels.index(target)
        found = [EXPLAINERS.get(name)(self.parts).explain(subject, [of_text], [chosen])[0] for name in self.explainers]
        scores = np.stack([one.scores for one in found], 1) if found else np.zeros((len(of_text), 0))  # (W, E)
        rows = [(word, [float(score) for score in row]) for word, row in zip(of_text.words, scores, strict=True)]
        title = f"{labels[chosen]}: logit {float(logits[chosen]):.3f}"
        return NumberTable("word", self.explainers, rows, [SCORE] * len(self.explainers), title)

    def evaluate(self, texts: Iterable[str] | Task, *, lime_texts: int = 12, stability_texts: int = 10) -> NumberTable:
        """The figures of the measure `explainers` on some texts, or on a task's, where marked words are looked at too.

        LIME explains the first `lime_texts` alone, and explainers that draw are asked again on `stability_texts`.
        """
        compared = self._compared(texts)
        if not compared.texts:
            raise DataError("No text with a word was given to compare explainers on; give at least one.")
        settings = ExplainersSettings(
            explainers=self.explainers,
            explainers_texts=len(compared.texts),
            explainers_lime_texts=lime_texts,
            explainers_stability_texts=stability_texts,
        )
        comparison = Comparison(settings, self.parts, compared)
        rows: dict[str, Any] = {}
        for subject in self.subjects:
            place = ", dense" if subject.name == DENSE else ""
            found = comparison.figures(subject)
            rows |= {f"{explainer_title(name)}{place}": as_json(figures) for name, figures in found.items()}
        self._table = _as_table(rows, len(compared.texts))
        return self._table

    def table(self) -> NumberTable:
        """What was evaluated last."""
        if self._table is None:
            raise DataError("Nothing was evaluated yet; call evaluate(texts) first.")
        return self._table

    def _compared(self, texts: Iterable[str] | Task) -> ComparedTexts:
        subject = self.subjects[0]
        if not isinstance(texts, Task):
            return ComparedTexts.given(subject, [WordText.of(text) for text in given_texts(texts).items])
        split = texts.split
        if (found := rationale_texts(split.texts, split.extra)) is None:
            return ComparedTexts.given(subject, [WordText.of(text) for text in split.texts])
        words = [WordText(one.text, tuple(one.words)) for one in found]
        return ComparedTexts.given(subject, words, [one.gold for one in found])


def _as_table(rows: dict[str, Any], texts: int) -> NumberTable:
    """The columns that any row has."""
    having = [column for column in COLUMNS if any(is_number(find(row, column.key)) for row in rows.values())]
    values = [
        (name, [value if is_number(value := find(row, column.key)) else None for column in having])
        for name, row in rows.items()
    ]
    forms = [column.form for column in having]
    return NumberTable("explainer", [column.title for column in having], values, forms, f"{texts:,} texts")
