"""Tasks: how rows of a data set become batches and batches become predictions. The loop knows nothing else of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from splade.data.batching import EncodedTexts, LengthBucketedBatches, collate, encode_texts
from splade.data.types import TaggedSplit, TextSplit
from splade.data.words import EncodedWords, encode_words
from splade.models.iob2 import IOB2
from splade.models.lexical_sae import POSITIONS_AT_A_TIME
from splade.registry import Registry

TASKS: Registry[type[Any]] = Registry("task")

Calibration = list[tuple[Tensor, ...]]
"""Batches that `LexicalSAE.calibrate` takes."""

CIRCUIT_WORDS = 256
"""Most words a batch whose circuits are looked at, so that a batch of long sentences full of names does not cost a
multiple of the others. A judgement; no other number was tried."""


@dataclass(frozen=True)
class Batch:
    """A padded batch; a row of its prediction is a text, or in tagging a labelled word."""

    input_ids: Tensor
    """(B, L)."""
    attention_mask: Tensor
    """(B, L)."""
    labels: Tensor
    """(R,)."""
    rows: np.ndarray
    """(B,) which texts (windows) of the task these are."""
    words: Tensor | None = None
    """(B, L) tagging: the row that each position is a piece of, −1 for none, as `LexicalSAE.tag` takes it."""
    place: np.ndarray | None = None
    """(R,) tagging: which of the task's labels each row is of."""

    @property
    def places(self) -> np.ndarray:
        """(R,) which of the task's labels each row is of."""
        return self.rows if self.place is None else self.place

    def to(self, device: torch.device) -> Batch:
        words = None if self.words is None else self.words.to(device)
        ids, mask, labels = (t.to(device) for t in (self.input_ids, self.attention_mask, self.labels))
        return replace(self, input_ids=ids, attention_mask=mask, labels=labels, words=words)


class Task(ABC):
    """Base of all tasks. Its length is what it batches (texts, windows); its predictions have a row a label."""

    figure: ClassVar[str]
    """What checkpoints are ranked by, and `score` computes."""
    split: TextSplit | TaggedSplit
    encoded: EncodedTexts
    labels: np.ndarray
    """(N,) of all rows."""
    pad_id: int

    def __len__(self) -> int:
        return len(self.encoded)

    def batches(self, batch_size: int, seed: int = 0, *, shuffle: bool) -> LengthBucketedBatches:
        return LengthBucketedBatches(self.encoded.lengths, batch_size, seed, shuffle)

    def in_order(self, batch_size: int, device: torch.device, rows: np.ndarray | None = None) -> Iterator[Batch]:
        """Every text once, longest first; `rows` limits it to some. Of long texts a batch has fewer than `batch_size`,
        so that it has no more than POSITIONS_AT_A_TIME positions: a tagger may have hundreds of tokens at each."""
        chosen = np.arange(len(self)) if rows is None else rows
        order = chosen[np.argsort(-self.encoded.lengths[chosen], kind="stable")]
        while len(order):
            longest = max(1, int(self.encoded.lengths[order[0]]))
            texts = min(batch_size, max(1, POSITIONS_AT_A_TIME // longest))
            yield self.batch(order[:texts]).to(device)
            order = order[texts:]

    def predict(self, model, batch: Batch):  # type: ignore[no-untyped-def]
        """The state of each row: something with `logits` (R, C), and for a LexicalSAE all the rest."""
        return self.decide(model, model(batch.input_ids, batch.attention_mask), batch)

    @abstractmethod
    def batch(self, rows: Sequence[int] | np.ndarray) -> Batch:
        """Some texts."""

    @abstractmethod
    def size(self, rows: np.ndarray) -> int:
        """How many rows the prediction of some texts has."""

    @abstractmethod
    def decide(self, model, sequence, batch: Batch):  # type: ignore[no-untyped-def]
        """The second half of `predict`: from what the model encoded."""

    @abstractmethod
    def circuit_rows(self, labels: Tensor) -> Tensor | None:
        """Which rows of a training batch, by their labels (R,), the circuit losses look at, ascending; None: all."""

    @abstractmethod
    def calibration(
        self, rows: np.ndarray, device: torch.device, generator: np.random.Generator
    ) -> list[tuple[Tensor, ...]]:
        """What `LexicalSAE.calibrate` takes, about one row of a prediction for each of these texts."""

    @abstractmethod
    def score(self, logits: Tensor) -> float:
        """The figure of the predictions (N, C) of all rows."""


@TASKS.register("classification")
class ClassificationTask(Task):
    """Texts with one label each; a row of a prediction is a text."""

    figure = "accuracy"

    def __init__(self, split: TextSplit, tokenizer, max_length: int, label_names: Sequence[str] = ()):  # type: ignore[no-untyped-def]
        self.split = split
        self.encoded = encode_texts(split.texts, tokenizer, max_length)
        self.labels = np.asarray(split.labels, dtype=np.int64)
        self.pad_id = tokenizer.pad_token_id or 0

    def batch(self, rows: Sequence[int] | np.ndarray) -> Batch:
        input_ids, mask = collate(self.encoded, rows, self.pad_id)
        return Batch(input_ids, mask, torch.from_numpy(self.labels[rows]), np.asarray(rows))

    def size(self, rows: np.ndarray) -> int:
        return len(rows)

    def decide(self, model, sequence, batch: Batch):  # type: ignore[no-untyped-def]
        return model.classify(sequence, batch.attention_mask)

    def circuit_rows(self, labels: Tensor) -> Tensor | None:
        return None

    def calibration(
        self, rows: np.ndarray, device: torch.device, generator: np.random.Generator
    ) -> list[tuple[Tensor, ...]]:
        return [(b.input_ids, b.attention_mask) for b in self.in_order(64, device, rows)]

    def score(self, logits: Tensor) -> float:
        return float((logits.argmax(-1).cpu().numpy() == self.labels).mean())


@TASKS.register("tagging")
class TaggingTask(Task):
    """Sentences with a tag a word, read in windows; a row of a prediction is a word, `labels` those of all sentences
    end to end."""

    figure = "f1"
    encoded: EncodedWords

    def __init__(self, split: TaggedSplit, tokenizer, max_length: int, label_names: Sequence[str]):  # type: ignore[no-untyped-def]
        self.split, self.iob2 = split, IOB2(label_names)
        self.encoded = encode_words(split.sentences, tokenizer, max_length)
        self.labels = np.asarray([tag for tags in split.tags for tag in tags], dtype=np.int64)
        self.pad_id = tokenizer.pad_token_id or 0
        self.sentence_lengths = np.array([len(tags) for tags in split.tags], dtype=np.int64)  # (S,)
        starts = np.cumsum(self.sentence_lengths) - self.sentence_lengths
        start = np.repeat(starts[self.encoded.sentence], self.encoded.lengths)  # (pieces,)
        self._place = np.where(self.encoded.word >= 0, start + self.encoded.word, -1)  # (pieces,): its word's label
        firsts = np.concatenate([[0], np.cumsum(self.encoded.first)])
        self._sizes = np.diff(firsts[self.encoded.offsets])  # (W,): words that each window decides

    def batch(self, rows: Sequence[int] | np.ndarray) -> Batch:
        return self._batch(rows, self.encoded.first)

    def _batch(self, rows: Sequence[int] | np.ndarray, first: np.ndarray) -> Batch:
        """Windows with the words whose first pieces are marked in `first` (pieces,)."""
        input_ids, mask = collate(self.encoded, rows, self.pad_id)
        inside = mask.numpy() > 0  # (B, L)
        pieces = np.concatenate([np.arange(*self.encoded.offsets[row : row + 2]) for row in np.asarray(rows)])
        place = np.full(inside.shape, -1)
        place[inside] = self._place[pieces]
        begins = np.zeros(inside.shape, dtype=bool)
        begins[inside] = first[pieces]
        wanted = np.isin(place, place[begins]) & (place >= 0)
        words = np.where(wanted, np.cumsum(begins).reshape(begins.shape) - 1, -1)
        labels = torch.from_numpy(self.labels[place[begins]])
        return Batch(input_ids, mask, labels, np.asarray(rows), torch.from_numpy(words), place[begins])

    def size(self, rows: np.ndarray) -> int:
        return int(self._sizes[rows].sum())

    def decide(self, model, sequence, batch: Batch):  # type: ignore[no-untyped-def]
        return model.tag(sequence, batch.words)

    def circuit_rows(self, labels: Tensor) -> Tensor | None:
        """Words of entities, and as many others: most words are O, and their circuits are one. Drawn from torch's own
        generator, which checkpoints keep."""
        order = torch.randperm(len(labels)).to(labels.device)
        entity = labels[order] != self.iob2.outside
        named, others = order[entity][: CIRCUIT_WORDS // 2], order[~entity]
        return torch.cat([named, others[: max(1, len(named))]]).sort().values

    def calibration(
        self, rows: np.ndarray, device: torch.device, generator: np.random.Generator
    ) -> list[tuple[Tensor, ...]]:
        """One word of each window, drawn by `generator`."""
        chosen = np.zeros_like(self.encoded.first)
        for row in rows:
            start, end = self.encoded.offsets[row : row + 2]
            chosen[start + generator.choice(np.flatnonzero(self.encoded.first[start:end]))] = True
        batches = (self._batch(rows[start : start + 64], chosen).to(device) for start in range(0, len(rows), 64))
        return [(b.input_ids, b.attention_mask, b.words) for b in batches if b.words is not None]

    def decode(self, logits: Tensor) -> np.ndarray:
        """(N,) the most probable tags of all words that make possible sentences; `logits` (N, C) of all words."""
        return self.iob2.decode(logits.log_softmax(-1).cpu().numpy(), self.sentence_lengths)

    def names(self, tags: np.ndarray) -> list[list[str]]:
        """Tags (N,) of all words by name, a list a sentence."""
        return self.iob2.names(tags, self.sentence_lengths)

    def score(self, logits: Tensor) -> float:
        """Micro-averaged entity F1 of the decoded tags."""
        from seqeval.metrics import f1_score

        return float(f1_score(self.names(self.labels), self.names(self.decode(logits)), zero_division=0))
