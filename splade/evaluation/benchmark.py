"""Explainers compared in Python, a text or many at a time.

    bench = Benchmark(model)
    bench.explain("a charming film")      # what every explainer says of each word
    bench.evaluate(texts)                 # how faithful, exact, constant and dear each is
    bench.table()                         # the same again

In the spirit of ferret (Attanasio et al. 2023, arXiv:2208.01575), by this project's own definitions: those of the
measure `explainers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from splade.data.given import given_texts, one_text, whole_number
from splade.data.rationales import rationale_texts
from splade.errors import ConfigError, DataError, ModelError, listed, shown
from splade.evaluation.comparison import OF_MODELS, Comparison, ExplainersSettings
from splade.evaluation.explained_texts import ComparedTexts
from splade.evaluation.explainers_table import COLUMNS, DENSE, explainer_title
from splade.evaluation.figure import Column, Form, find, is_number
from splade.evaluation.measure import as_json
from splade.evaluation.number_table import NumberColumn, NumberRow, NumberTable
from splade.explainers import EXPLAINERS, ExplainerParts, Subject, WordText
from splade.inference import check_target
from splade.models.dense import DenseClassifier
from splade.models.lexical_sae import LexicalSAE, check_task
from splade.models.protocol import is_lexical
from splade.tasks import Task

OWN = "own"
PLACES = {OWN: "", DENSE: f"{DENSE}."}
"""By model, what stands before an explainer's name in `results.json`."""

SCORE = Form(3, bounds=(-float("inf"), float("inf")))

LARGEST_SEED = 2**32 - 1_000
"""What LIME's generator can be given, and some below it: explainers that draw are asked again with the next seeds."""

LEAST_SAMPLES = 2
"""LIME's first sample is the text itself, and one point makes no line."""


Classifier = LexicalSAE | DenseClassifier


class Benchmark:
    """Explainers of a classifier, ours or its dense baseline."""

    def __init__(
        self,
        model: Classifier,
        *,
        dense: DenseClassifier | str | Path | None = None,
        explainers: Sequence[str] = OF_MODELS,
        batch_size: int = 64,
        seed: int = 0,
        lime_samples: int = 5_000,
        steps: int = 50,
    ):
        """`dense`: a second model to compare explainers on, such as the dense baseline of the same run, or its folder,
        `RUN/dense/model`. `lime_samples`, `steps`: texts that LIME, and points that integrated gradients and
        GradientSHAP look at."""
        check_task(_checked(model, "LexicalSAE.from_pretrained(folder) loads one"), "classification")
        batch_size = whole_number(batch_size, "batch_size", 1)
        self.subjects = [Subject(model, model.tokenizer, model.max_length, batch_size, OWN)]
        if dense is not None:
            second = _dense_beside(model, dense)
            self.subjects.append(Subject(second, model.tokenizer, model.max_length, batch_size, DENSE))
        self.explainers = [
            name for name in _names(explainers) if is_lexical(model) or not EXPLAINERS.get(name).by_words
        ]
        if not self.explainers:
            raise ConfigError(f"Only models that decide by words are explained by {listed(explainers)}; name others.")
        if whole_number(seed, "seed", 0) > LARGEST_SEED:
            raise ConfigError(
                f"seed is {shown(seed)}, but LIME draws by seeds to {LARGEST_SEED:,}; give a smaller one."
            )
        self.parts = ExplainerParts(
            int(seed),
            whole_number(lime_samples, "lime_samples", LEAST_SAMPLES),
            whole_number(steps, "steps", 1),
        )
        self._table: NumberTable | None = None

    def __repr__(self) -> str:
        own, parts = self.subjects[0].model, self.parts
        models = [type(subject.model).__name__ for subject in self.subjects]
        return (
            f"Benchmark of {' and '.join(models)} (labels: {', '.join(own.labels)})\n"
            f"explainers: {', '.join(self.explainers)}\n"
            f"seed={parts.seed}, lime_samples={parts.lime_samples}, steps={parts.steps}, "
            f"batch_size={self.subjects[0].batch_size}\n"
            f".explain(text), .evaluate(texts){', .table()' if self._table is not None else ''}"
        )

    def explain(self, text: str, target: str | None = None) -> NumberTable:
        """What each explainer says of each word, for the label that the model predicts, or for `target`; a column an
        explainer, and where there is a dense baseline, `dense.NAME` for the same label there."""
        subject, given = self.subjects[0], WordText.of(one_text(text, "evaluate"))
        labels = list(subject.model.labels)
        check_target(subject.model, target)
        if not (read := ComparedTexts.given(subject, [given]).texts):
            raise DataError(f"The text {shown(text)} has no word that could be explained; give one with a word.")
        [of_text] = read  # what the model reads of it
        logits = [each.logits([of_text.text])[0] for each in self.subjects]
        chosen = int(logits[0].argmax()) if target is None else labels.index(target)
        scores = {
            f"{PLACES[each.name]}{name}": EXPLAINERS.get(name)(self.parts).explain(each, [of_text], [chosen])[0].scores
            for each in self.subjects
            for name in self._of(each)
        }
        rows = [
            NumberRow(word, {name: float(found[n]) for name, found in scores.items()})
            for n, word in enumerate(of_text.words)
        ]
        ends = [f"{prefix}{float(found[chosen]):.3f}" for prefix, found in zip(("", "dense "), logits, strict=False)]
        cut = f"The text is longer than the {subject.max_length} tokens that the model reads: its first "
        notes = [f"{cut}{len(of_text):,} of {len(given):,} words are explained."] if self._cut([given.text]) else []
        columns = [NumberColumn(name, name, SCORE) for name in scores]
        return NumberTable("word", columns, rows, f"{labels[chosen]}: logit {', '.join(ends)}", notes)

    def evaluate(self, texts: Iterable[str] | Task, *, lime_texts: int = 20, stability_texts: int = 5) -> NumberTable:
        """The figures of the measure `explainers` on some texts, or on a task's, where marked words are looked at too.

        LIME explains the first `lime_texts` alone, and explainers that draw are asked again on `stability_texts`.
        Columns and rows are called as in `results.json`; a row of the dense baseline, `dense.NAME`.
        """
        lime_texts = whole_number(lime_texts, "lime_texts", 1)
        stability_texts = whole_number(stability_texts, "stability_texts", 1)
        given, marked = _given(texts)
        compared = ComparedTexts.given(self.subjects[0], given, marked)
        if not compared.texts:
            raise DataError("No text with a word was given to compare explainers on; give at least one.")
        settings = ExplainersSettings(
            explainers=self.explainers,
            explainers_texts=len(compared.texts),
            explainers_lime_texts=lime_texts,
            explainers_stability_texts=stability_texts,
        )
        comparison = Comparison(settings, self.parts, compared)
        found = {subject.name: as_json(comparison.figures(subject)) for subject in self.subjects}
        self._table = _as_table(found, len(compared.texts), self._notes(given, compared))
        return self._table

    def table(self) -> NumberTable:
        """What was evaluated last."""
        if self._table is None:
            raise DataError("Nothing was evaluated yet; call evaluate(texts) first.")
        return self._table

    def _of(self, subject: Subject) -> list[str]:
        """The explainers that can explain a model."""
        return [name for name in self.explainers if is_lexical(subject.model) or not EXPLAINERS.get(name).by_words]

    def _notes(self, given: Sequence[WordText], compared: ComparedTexts) -> list[str]:
        """What happened to texts that could not be compared as they are."""
        limit, notes = self.subjects[0].max_length, []
        if cut := self._cut([text.text for text in given]):
            notes.append(
                f"{cut:,} of {len(given):,} texts are longer than the {limit} tokens that the model reads; "
                "explainers are compared on the beginning."
            )
        if without := len(given) - len(compared.texts):
            notes.append(f"Left out, since they have no word: {without:,} of {len(given):,} texts.")
        return notes

    def _cut(self, texts: Sequence[str]) -> int:
        """How many texts are longer than the model reads."""
        subject = self.subjects[0]
        encoded = (subject.tokenizer(text, truncation=True, max_length=subject.max_length) for text in texts)
        return sum(bool(each.encodings[0].overflowing) for each in encoded if each.encodings)


def _checked(model: Classifier, advice: str) -> Classifier:
    if not hasattr(model, "has_sparse_rows"):  # by what it offers: a wrapper will do (`models.protocol`)
        raise ModelError(f"A model was expected, but {model!r:.60} was given; {advice}.")
    return model


def _dense_beside(model: Classifier, dense: DenseClassifier | str | Path) -> Classifier:
    """The second model, which must decide between the same labels."""
    loaded = DenseClassifier.from_pretrained(dense) if isinstance(dense, str | Path) else dense
    second = _checked(loaded, "give the dense baseline, or its folder, RUN/dense/model")
    check_task(second, "classification")
    if list(second.labels) != list(model.labels):
        raise ModelError(
            f"The dense baseline's labels are {', '.join(second.labels)}, but the model's are "
            f"{', '.join(model.labels)}; give the baseline of the same data."
        )
    return second


def _names(explainers: object) -> list[str]:
    """Names of explainers, each once; an unknown one is said at once."""
    if isinstance(explainers, str) or not isinstance(explainers, Iterable):
        raise ConfigError(
            f"explainers is {shown(explainers)}, but a list of names was expected; give one, such as ['dla', 'lime']."
        )
    names = list(dict.fromkeys(explainers))
    if not names:
        raise ConfigError("explainers is empty, but at least one name was expected; leave it out for all of them.")
    for name in names:
        if not isinstance(name, str):
            raise ConfigError(f"explainers has {shown(name)}, but names were expected; give those, such as 'lime'.")
        EXPLAINERS.get(name)
    return names


def _given(texts: Iterable[str] | Task) -> tuple[list[WordText], list[Any] | None]:
    """Texts with their words and, where people marked some, which."""
    if not isinstance(texts, Task):
        return [WordText.of(text) for text in given_texts(texts).items], None
    split = texts.split
    if (found := rationale_texts(split.texts, split.extra)) is None:
        return [WordText.of(text) for text in split.texts], None
    return [WordText(one.text, tuple(one.words)) for one in found], [one.gold for one in found]


def _as_table(found: Mapping[str, Mapping[str, Any]], texts: int, notes: Sequence[str]) -> NumberTable:
    """The figures of each explainer, by model; the columns that any has, with their intervals."""
    every = [figures for of_model in found.values() for figures in of_model.values()]
    having = [column for column in COLUMNS if any(is_number(find(figures, column.key)) for figures in every)]
    columns = [_column(column, every) for column in having]
    keys = [name for column in columns for name in column.names]
    rows = [
        NumberRow(
            f"{PLACES[model]}{name}",
            {key: float(value) if is_number(value := find(figures, key)) else None for key in keys},
            f"{explainer_title(name)}{', dense' if model == DENSE else ''}",
        )
        for model, of_model in found.items()
        for name, figures in of_model.items()
    ]
    title = f"{texts:,} texts, 95 % intervals below the numbers" if texts > 1 else "1 text"
    return NumberTable("explainer", columns, rows, title, notes)


def _column(column: Column, every: Sequence[Mapping[str, Any]]) -> NumberColumn:
    """A column by its key in `results.json`, with the keys of its interval where there is one."""
    place, _, last = column.key.rpartition(".")
    of_figure = place if last == "mean" else f"{place}.intervals.{last}"
    low, high = f"{of_figure}.low", f"{of_figure}.high"
    has_ends = any(is_number(find(figures, low)) for figures in every)
    return NumberColumn(column.key, column.title, column.form, (low, high) if has_ends else None)
