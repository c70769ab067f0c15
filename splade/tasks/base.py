"""What a task is: how rows of a data set become batches, batches predictions, and predictions answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from splade.attribution.deletions import Deletions
from splade.data.batching import EncodedTexts, LengthBucketedBatches, longest_first
from splade.data.given import BATCH_SIZE, Given
from splade.data.types import TaggedSplit, TextSplit
from splade.models.lexical_sae import POSITIONS_AT_A_TIME, LexicalSAE
from splade.registry import Registry
from splade.task_description import TaskDescription

TASKS: Registry[type[Any]] = Registry("task")

UNLABELLED = -100
"""The label of a row that has none, which PyTorch's cross-entropy ignores."""


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
    """(B, L) tagging: the row that each position is a piece of, −1 for none, −2 − its number for a word that the batch
    only shows; as `LexicalSAE.tag_words` takes it."""
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

    description: ClassVar[TaskDescription]
    """Its name, and the words to speak of it."""
    decided_at_once: ClassVar[bool]
    """Whether a batch's logits decide on its rows; else `decide_classes` needs those of all rows."""
    split: TextSplit | TaggedSplit
    encoded: EncodedTexts
    labels: np.ndarray
    """(N,) of all rows; `UNLABELLED` where there are none."""
    pad_id: int

    def __len__(self) -> int:
        return len(self.encoded)

    @property
    def name(self) -> str:
        return self.description.name

    @property
    def unit(self) -> str:
        """What one prediction is made for: a text, a word."""
        return self.description.unit

    @property
    def units(self) -> str:
        return self.description.units

    @property
    def figure(self) -> str:
        """What checkpoints are ranked by, and `score` computes."""
        return self.description.figure

    def batches(self, batch_size: int, seed: int = 0, *, shuffle: bool) -> LengthBucketedBatches:
        return LengthBucketedBatches(self.encoded.lengths, batch_size, seed, shuffle)

    def in_order(self, batch_size: int, device: torch.device, rows: np.ndarray | None = None) -> Iterator[Batch]:
        """Every text once, longest first; `rows` limits it to some. Of long texts a batch has fewer than `batch_size`,
        so that it has no more than POSITIONS_AT_A_TIME positions: a tagger may have hundreds of tokens at each."""
        chosen = np.arange(len(self)) if rows is None else rows
        for part in longest_first(self.encoded.lengths[chosen], batch_size, POSITIONS_AT_A_TIME):
            yield self.batch(chosen[part]).to(device)

    def predict(self, model, batch: Batch):  # type: ignore[no-untyped-def]
        """The state of each row: something with `logits` (R, C), and for a LexicalSAE all the rest."""
        return self.decide(model, model(batch.input_ids, batch.attention_mask), batch)

    def explain_rows(self, model: LexicalSAE, rows: Sequence[int] | np.ndarray) -> list[Any]:
        """Explanations of some examples of the split, in the order of `rows`."""
        return self.explain_texts(model, [self.split.examples[row] for row in rows])

    @abstractmethod
    def mistake(self, row: int, answer: Any) -> str | None:
        """What the data say of an example whose answer, as `explain_rows` gives it, is wrong; None: it is right, or the
        data say nothing."""

    @staticmethod
    @abstractmethod
    def divide(split: Any, tokenizer: Any, max_length: int) -> Any:
        """A split whose long examples train in windows, as `data.long_texts` asks for."""

    @classmethod
    @abstractmethod
    def unlabelled(cls, examples: Sequence[Any], model: LexicalSAE) -> Task:
        """Examples without labels, as a model reads them."""

    @classmethod
    @abstractmethod
    def from_texts(cls, texts: Sequence[Any], model: LexicalSAE) -> Task:
        """Texts, as `given` has checked them, without labels."""

    @staticmethod
    @abstractmethod
    def words_of(text: Any) -> list[str]:
        """The words of one text, as `given` has checked it."""

    @staticmethod
    @abstractmethod
    def given(texts: object) -> Given[Any]:
        """Texts as people have them in Python, checked."""

    @classmethod
    @abstractmethod
    def predict_texts(cls, model: LexicalSAE, texts: Sequence[Any], batch_size: int = BATCH_SIZE) -> list[Any]:
        """What the model says of each text: a value with `to_json()`, and with `cut`, the number of its units that were
        too long to be read whole."""

    @classmethod
    @abstractmethod
    def explain_texts(
        cls,
        model: LexicalSAE,
        texts: Sequence[Any],
        *,
        target: str | None = None,
        batch_size: int = BATCH_SIZE,
        word: int | None = None,
        context: bool = False,
        deletions: Deletions | None = None,
    ) -> list[Any]:
        """Why the model says it of each text, or what speaks for the label `target`: a value as `predict_texts` gives,
        with the sums behind it. A task that does not explain single words refuses `word` and `context`, and one that
        does not explain whole texts `deletions`, which ask for interactions."""

    @classmethod
    def with_largest_interactions(cls, model: LexicalSAE, answers: Sequence[Any]) -> list[Any]:
        """Answers of `explain_texts`, some of them with interactions: those in which words act through others most. As
        they are, where a task has none."""
        return list(answers)

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
    def sequence(self, model, batch: Batch):  # type: ignore[no-untyped-def]
        """What the model encoded, with the task's rows in the place of a row a text."""

    @abstractmethod
    def row_of_position(self, batch: Batch) -> Tensor:
        """(B, L) the row of the prediction that each position belongs to, −1 for none."""

    @abstractmethod
    def decide_classes(self, logits: Tensor) -> np.ndarray:
        """(N,) the classes of all rows, from all their logits (N, C)."""

    def texts(self, rows: np.ndarray) -> list[str]:
        """The texts of some rows, where a row is a whole text; else none."""
        return []

    @property
    @abstractmethod
    def example_of_row(self) -> np.ndarray:
        """(N,) the example of the split that each row belongs to; intervals are drawn over examples, since the rows of
        one are not independent."""

    @abstractmethod
    def subsets(self, labels: Tensor) -> dict[str, Tensor]:
        """Rows of a batch, by their labels (R,), that are also measured apart from the others: ascending numbers (K,),
        by the name of each such subset."""

    @abstractmethod
    def reasoned(self, classes: Tensor) -> Tensor | None:
        """Rows, by their classes (R,), whose class there is a reason for that is worth naming; None: all."""

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

    @abstractmethod
    def cut_note(self, name: str, max_length: int) -> list[str]:
        """A sentence on what of the split called `name` was cut to `max_length` tokens, if anything."""
