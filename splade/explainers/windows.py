"""Texts longer than a model reads, for explainers that know of no windows: each window is explained as a text.

A word that two windows show gets the score of the one in which it stands farther from a cut, as everywhere
(`splade.data.words`); a mean of both would count a reading at the very edge as much as one in full view. Our own models
do the same within one reading, so that the sum stays exact (`splade.tasks.documents`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from splade.attribution.word_text import WordText
from splade.data.text_windows import FIRST_WORD
from splade.data.words import WordWindow, word_windows
from splade.explainers.subject import Subject
from splade.models.protocol import is_lexical
from splade.tasks.documents import WINDOWS_OVERLAP, read_documents


@dataclass(frozen=True)
class DocumentWindows:
    """Documents in parts that a model can read."""

    texts: list[WordText]
    """All windows, document after document."""
    of: list[list[WordWindow]]
    """Those of each document, by its words."""

    @classmethod
    def cut(cls, subject: Subject, documents: Sequence[WordText]) -> DocumentWindows:
        """A document that fits stays as it is."""
        lengths = [len(ids) for ids in subject.tokenizer([one.text for one in documents], verbose=False)["input_ids"]]
        texts, of = [], []
        for document, length in zip(documents, lengths, strict=True):
            windows = [WordWindow(0, len(document), 0, len(document))]
            if length > subject.max_length:
                room = subject.max_length - FIRST_WORD
                windows = word_windows(document.words, subject.tokenizer, room, WINDOWS_OVERLAP)
            texts += [document.part(window.start, window.end) for window in windows]
            of.append(windows)
        return cls(texts, of)

    def repeat(self, values: Sequence[int]) -> list[int]:
        """A value of each document for all its windows."""
        return [value for value, windows in zip(values, self.of, strict=True) for _ in windows]

    def join(self, scores: Sequence[np.ndarray]) -> list[np.ndarray]:
        """(W,) scores of each document's words, from those of its windows: each decides some of the words."""
        joined, place = [], 0
        for windows in self.of:
            own = scores[place : place + len(windows)]
            parts = [each[w.first - w.start : w.last - w.start] for w, each in zip(windows, own, strict=True)]
            joined.append(np.concatenate(parts))
            place += len(windows)
        return joined


def explain_windows(
    subject: Subject,
    documents: Sequence[WordText],
    classes: Sequence[int],
    scores: Callable[[Sequence[WordText], Sequence[int]], Sequence[np.ndarray]],
) -> list[np.ndarray]:
    """(W,) scores of the words of each document for its class, by what scores the words of texts that fit."""
    windows = DocumentWindows.cut(subject, documents)
    return windows.join(scores(windows.texts, windows.repeat(classes)))


@dataclass(frozen=True)
class DocumentScores:
    """What a model that decides by words says of documents, and by which of their words."""

    logits: np.ndarray
    """(N, C)."""
    predicted: list[np.ndarray]
    """(W,) each: the exact scores of the words for the class decided on …"""
    label: list[np.ndarray]
    """… and for the label."""

    @property
    def classes(self) -> np.ndarray:
        """(N,) decided on."""
        return self.logits.argmax(1)


def read_and_explain(subject: Subject, documents: Sequence[WordText], labels: np.ndarray) -> DocumentScores:
    """All of it by reading each document once; `labels` (N,)."""
    assert is_lexical(subject.model)
    nothing: list[np.ndarray] = [np.zeros(0)] * len(documents)
    found = DocumentScores(np.zeros((len(documents), len(subject.model.labels))), [*nothing], [*nothing])
    words = [document.words for document in documents]
    for batch in read_documents(subject.model, words, subject.batch_size, subject.max_length):
        logits = batch.logits
        found.logits[batch.rows] = logits.float().cpu().numpy()
        given = torch.from_numpy(labels[batch.rows]).to(logits.device)
        for scores, classes in ((found.predicted, logits.argmax(-1)), (found.label, given)):
            for row, of_words in zip(batch.rows, batch.word_scores(classes), strict=True):
                scores[row] = of_words
    return found


@torch.no_grad()
def document_logits(subject: Subject, documents: Sequence[WordText]) -> Tensor:
    """(N, C) logits of documents of any length: the mean of those of their windows."""
    out = torch.zeros(len(documents), len(subject.model.labels))
    if is_lexical(subject.model):
        words = [document.words for document in documents]
        for batch in read_documents(subject.model, words, subject.batch_size, subject.max_length):
            out[batch.rows] = batch.logits.float().cpu()
        return out
    windows = DocumentWindows.cut(subject, documents)
    document = torch.tensor(windows.repeat(range(len(documents))))
    total = out.index_add(0, document, subject.logits([text.text for text in windows.texts]))
    return total / document.bincount(minlength=len(documents))[:, None]
