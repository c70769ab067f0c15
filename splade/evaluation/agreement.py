"""Agreement with people: are the words that explain a prediction those that people gave as the reason?

Agreement is no proof of faithfulness: a model may be right for reasons nobody named. What it can show is whether the
words are ones a person would accept, and whether that takes more than leaving out stop words.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass as settings_dataclass
from torch import Tensor

from splade.config.texts import FilePath
from splade.config.variants import SETTINGS, Choice, Choices
from splade.data.rationales import (
    Marked,
    Marking,
    RationaleText,
    marking,
    mean_share,
    rationale_hash,
    rationale_texts,
    runs,
)
from splade.errors import ConfigError
from splade.evaluation.agreement_rows import AgreementResult, RowAgreement, protocol_row, row_agreement
from splade.evaluation.agreement_table import FIGURES, KEYS, TABLES, agreement_findings
from splade.evaluation.eraser_format import PREDICTIONS, EraserPrediction, unique_names, write_eraser
from splade.evaluation.measure import MEASURES, Measure, Scope
from splade.evaluation.rationale_protocols import Reading, highest
from splade.evaluation.rationale_scores import share_of_words
from splade.evaluation.rationale_split import RationaleSplit
from splade.explainers import CHANCE_DRAWS, EXPLAINERS, Explainer, ExplainerParts, Subject, WordText
from splade.explainers.windows import DocumentScores, document_logits, read_and_explain
from splade.models.protocol import LexicalModel

OURS, FITTED, UNTRAINED = "dla", "tfidf", "untrained"
ACTIVATIONS = "activations"
"""What a model names before its training, when its head says nothing of any word."""
ROWS = (OURS, "random", "empty", "content_words", FITTED, UNTRAINED)
"""Ours, and what it must be held against."""
DECIDING = (OURS, FITTED)
"""Rows of models of their own, whose accuracy stands beside; they are cheap, and asked for the label too."""


@settings_dataclass(config=SETTINGS, frozen=True)
class AgreementSettings:
    """Whose words are compared with whose."""

    agreement_explainers: Annotated[list[str], Choices("explainer", UNTRAINED)] | None = None
    """Explainers whose words are compared with those that people marked, beside ours (``dla``), and ``untrained``, this
    model before its training; null: those that it must be held against, which are cheap. ``dla`` alone is quickest."""
    agreement_marked: Marked = "any"
    """Where several people marked the words of a text: what ``any`` of them marked, as in published figures, or what
    the column ``rationale`` says ``most`` did."""
    protocol: Annotated[str, Choice("protocol")] | None = None
    """Also give the figures of a published protocol: ``eraser``, or ``hatexplain`` (word pieces, the five highest)."""
    eraser_folder: FilePath | None = None
    """Folder to write our words to, as ERASER's own scorer reads them: documents, marked words, predictions."""


@MEASURES.register("agreement")
class Agreement(Measure[AgreementResult]):
    """Average precision of explainers' words against those that people marked."""

    Settings = AgreementSettings
    title = "Agreement with people"
    about = (
        "People marked the words that are the reason for a text's label; an explainer's words are ranked by what they "
        "add to the class predicted. Read ours beside the rows that know little: random words, words that are no stop "
        "words, a regression on single words, and this very model before its training."
    )
    section = "agreement"
    tasks = ("classification",)
    reads = "nothing"
    version = 4
    on_request = True
    figures, tables, keys = FIGURES, TABLES, KEYS

    @classmethod
    def check(cls, scope: Scope) -> None:
        split = scope.task.split
        found = rationale_texts(split.texts, split.extra, _settings(scope).agreement_marked) or []
        if not any(text.gold is not None and not text.is_whole for text in found):
            raise ConfigError(
                "evaluation.measures names 'agreement', but no test text has some words that people marked and some "
                "that they did not (a column 'rationale' with a 0 or 1 for each word between white space, or spans of "
                "words); leave it out, or name other data."
            )

    @classmethod
    def sources(cls, scope: Scope) -> list[str]:
        settings = _settings(scope)
        written = settings.eraser_folder is None or (Path(settings.eraser_folder) / PREDICTIONS).exists()
        return [rationale_hash(scope.task.split.extra), str(written)]

    def __init__(self, scope: Scope):
        super().__init__(scope)
        self._settings = _settings(scope)

    def result(self) -> AgreementResult:
        rationales, names = self._split.rationales, self._names
        rows = {}
        with self.scope.progress("agreement with people", len(names)) as advance:
            for name in names:
                rows[name] = self._remembered(name)
                advance(1)
        if self._settings.eraser_folder is not None:
            self._write_eraser(Path(self._settings.eraser_folder))
        seen_at_once, long = self._read_at_once()
        partial = [text for text in rationales if not text.is_whole]
        return AgreementResult(
            explainers=rows,
            texts=len(partial),
            without=len(self.scope.rows) - len(rationales),
            whole=len(rationales) - len(partial),
            long=long,
            seen=1.0,  # windows show every word
            seen_at_once=seen_at_once,
            share=mean_share(partial) or 0.0,
            training=self._training,
            protocol=self._settings.protocol,
        )

    def findings(self, result: AgreementResult) -> list[str]:
        return agreement_findings(result.explainers)

    @property
    def _names(self) -> list[str]:
        """The explainers asked, ours first; nothing is fitted, or built as before training, where there are no training
        texts."""
        asked, references = self._settings.agreement_explainers or ROWS, self.scope.references
        lacking = set() if references.training is not None else {FITTED}
        if UNTRAINED in asked and references.untrained is None:
            lacking.add(UNTRAINED)
        return [name for name in dict.fromkeys([OURS, *asked]) if name not in lacking]

    def _explainer(self, name: str) -> Explainer:
        return EXPLAINERS.get(name)(ExplainerParts(self.scope.seed, training=lambda: self.scope.references.training))

    def _subject(self, model: LexicalModel) -> Subject:
        return Subject(model, model.tokenizer, model.max_length, self.scope.config.batch_size)

    @cached_property
    def _split(self) -> RationaleSplit:
        return RationaleSplit(self.scope, self._settings.agreement_marked)

    @cached_property
    def _training(self) -> Marking | None:
        """How people mark the training texts."""
        training = self.scope.references.training
        if training is None:
            return None
        marked = self._settings.agreement_marked
        return marking(rationale_texts(training.split.texts, training.split.extra, marked) or [])

    def _remembered(self, name: str) -> RowAgreement:
        """A row, unless an interrupted measurement has left it behind."""
        adapter = TypeAdapter(RowAgreement)
        if (kept := self.parts.recall(name)) is not None:
            return adapter.validate_python(kept)
        row = self._row(name)
        self.parts.keep(name, adapter.dump_python(row, mode="json"))
        return row

    def _row(self, name: str) -> RowAgreement:
        split, protocol, ours = self._split, self._settings.protocol, self._ours
        texts, toward_label, draws = split.marked_texts, None, list[list[np.ndarray]]()
        if name == OURS:
            classes, scores = ours.classes, [ours.predicted[n] for n in split.places]
            toward_label = [ours.label[n] for n in split.places]
        elif name == UNTRAINED:
            untrained = self.scope.references.untrained
            assert untrained is not None
            classes = split.labels  # whichever: a word fires for all alike
            scores = self._explainer(ACTIVATIONS).explain_documents(
                self._subject(untrained), texts, split.marked_labels
            )
        else:
            explainer, subject = self._explainer(name), self._subject(self.scope.model)
            own = explainer.decide(split.texts)
            classes = ours.classes if own is None else own
            of_texts = classes[split.places].tolist()
            scores = explainer.explain_documents(subject, texts, of_texts)
            others = explainer.other_seeds(CHANCE_DRAWS) if explainer.by_chance else ()
            draws = [other.explain_documents(subject, texts, of_texts) for other in others]
            if name in DECIDING:
                toward_label = explainer.explain_documents(subject, texts, split.marked_labels)
        return row_agreement(
            split.rationales,
            scores,
            toward_label,
            training=self._training,
            seed=self.scope.seed,
            ours=None if name == OURS else [ours.predicted[n] for n in split.places],
            draws=draws,
            accuracy=float((classes == split.labels).mean()) if name in DECIDING else None,
            protocol=protocol_row(protocol, split.rationales, scores, self._reading) if protocol else None,
        )

    @cached_property
    def _ours(self) -> DocumentScores:
        """What this model says of the texts looked at."""
        return read_and_explain(self._subject(self.scope.model), self._split.texts, self._split.labels)

    @cached_property
    def _reading(self) -> Reading:
        tokenizer = self.scope.model.tokenizer

        def pieces(text: RationaleText) -> np.ndarray:
            words = tokenizer([text.text[start:end] for start, end in text.words], add_special_tokens=False)
            return np.array([max(1, len(ids)) for ids in words["input_ids"]])

        return Reading(pieces, self._chosen_share)

    @cached_property
    def _chosen_share(self) -> float:
        """Of a text's words that make a predicted rationale: as many as people mark, in training if that is known."""
        return self._training.share if self._training else mean_share(self._split.rationales) or 0.0

    def _read_at_once(self) -> tuple[float, int]:
        """Share of the marked words in what the model reads without windows, and how many texts are longer."""
        model, rationales = self.scope.model, self._split.rationales
        encoded = model.tokenizer([text.text for text in rationales], truncation=True, max_length=model.max_length)
        seen = total = long = 0
        for text, encoding in zip(rationales, encoded.encodings, strict=True):
            assert text.gold is not None
            end = max((end for _, end in encoding.offsets), default=0) if encoding.overflowing else len(text.text)
            seen += int(text.gold[[start < end for start, _ in text.words]].sum())
            total, long = total + int(text.gold.sum()), long + bool(encoding.overflowing)
        return seen / total, long

    def _write_eraser(self, folder: Path) -> None:
        """Our words for the classes predicted, and the predictions without them and with them alone."""
        model, split = self.scope.model, self._split
        subject, labels = self._subject(model), list(model.labels)
        logits, texts = self._ours.logits[split.places], split.marked_texts
        scores = [self._ours.predicted[n] for n in split.places]
        chosen = [highest(of_text, share_of_words(self._chosen_share, len(of_text))) for of_text in scores]
        without, only = (
            document_logits(subject, [_kept(*one) for one in zip(texts, kept, strict=True)])
            for kept in ([~of_text for of_text in chosen], chosen)
        )
        predictions = [
            EraserPrediction(name, of_words.tolist(), runs(picked), labels[int(found.argmax())], *probabilities)
            for name, of_words, picked, found, *probabilities in zip(
                unique_names(split.rationales),
                scores,
                chosen,
                logits,
                *(_probabilities(each, labels) for each in (logits, without.numpy(), only.numpy())),
                strict=True,
            )
        ]
        write_eraser(folder, split.rationales, [labels[label] for label in split.marked_labels], predictions)


def _settings(scope: Scope) -> AgreementSettings:
    return scope.config.of(AgreementSettings)


def _kept(text: WordText, kept: np.ndarray) -> WordText:
    """Some words of a text alone; of none, the first, since a document has a word."""
    words = [word for word, keep in zip(text.words, kept, strict=True) if keep]
    return WordText.of_words(words or text.words[:1])


def _probabilities(logits: np.ndarray, labels: list[str]) -> list[dict[str, float]]:
    """Of each row, by label."""
    found = Tensor(logits).softmax(-1).tolist()
    return [dict(zip(labels, row, strict=True)) for row in found]
