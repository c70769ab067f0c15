"""Texts with one label each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from splade.attribution.deletions import Deletions
from splade.attribution.explanation import Explanation
from splade.attribution.prediction import Prediction
from splade.attribution.summands import Summands
from splade.attribution.word_text import WordText
from splade.data.batching import collate, encode_texts
from splade.data.given import BATCH_SIZE, Given, given_texts
from splade.data.text_windows import divide_texts
from splade.data.types import TextSplit
from splade.errors import ConfigError
from splade.models.lexical_sae import LexicalSAE
from splade.task_description import CLASSIFICATION
from splade.tasks.base import TASKS, UNLABELLED, Batch, Task
from splade.tasks.interactions import with_interactions, with_largest_interactions
from splade.tasks.reader import read_texts


@TASKS.register("classification")
class ClassificationTask(Task):
    """Texts with one label each; a row of a prediction is a text."""

    description = CLASSIFICATION
    decided_at_once = True

    def __init__(self, split: TextSplit, tokenizer, max_length: int, label_names: Sequence[str] = ()):  # type: ignore[no-untyped-def]
        self.split = split
        self.encoded = encode_texts(split.texts, tokenizer, max_length)
        self.labels = np.asarray(split.labels, dtype=np.int64)
        self.label_names = list(label_names)
        self.pad_id = tokenizer.pad_token_id or 0

    @staticmethod
    def divide(split: TextSplit, tokenizer: Any, max_length: int) -> TextSplit:
        return divide_texts(split, tokenizer, max_length)

    @classmethod
    def unlabelled(cls, examples: Sequence[str], model: LexicalSAE) -> ClassificationTask:
        split = TextSplit(list(examples), [UNLABELLED] * len(examples))
        return cls(split, model.tokenizer, model.max_length, model.labels)

    @classmethod
    def from_texts(cls, texts: Sequence[str], model: LexicalSAE) -> ClassificationTask:
        return cls.unlabelled(texts, model)

    @staticmethod
    def words_of(text: str) -> list[str]:
        return WordText.of(text).words

    @staticmethod
    def given(texts: object) -> Given[str]:
        return given_texts(texts)

    @classmethod
    @torch.no_grad()
    def predict_texts(cls, model: LexicalSAE, texts: Sequence[str], batch_size: int = BATCH_SIZE) -> list[Prediction]:
        answers: dict[int, Prediction] = {}
        for batch in read_texts(model, texts, batch_size):
            probabilities, counts = batch.state.logits.softmax(-1), batch.state.rows.counts.tolist()
            for i, row in enumerate(batch.rows):
                answers[row] = Prediction(
                    batch.texts[i].text,
                    model.labels[int(probabilities[i].argmax())],
                    dict(zip(model.labels, probabilities[i].tolist(), strict=True)),
                    counts[i],
                    batch.texts[i].truncated,
                )
        return [answers[row] for row in range(len(texts))]

    @classmethod
    @torch.no_grad()
    def explain_texts(
        cls,
        model: LexicalSAE,
        texts: Sequence[str],
        *,
        target: str | None = None,
        batch_size: int = BATCH_SIZE,
        word: int | None = None,
        context: bool = False,
        deletions: Deletions | None = None,
    ) -> list[Explanation]:
        """Whole texts: `word` and `context` are refused."""
        if word is not None or context:
            raise ConfigError(
                f"{'context' if word is None else 'word'} was given, but the model {CLASSIFICATION.does}, and only a "
                "tagger explains single words and their context; leave it out."
            )
        answers: dict[int, Explanation] = {}
        for batch in read_texts(model, texts, batch_size):
            classes = batch.state.logits.argmax(-1)
            if target is not None:
                classes = torch.full_like(classes, model.labels.index(target))
            summands = Summands(model, batch.state, classes)
            for i, row in enumerate(batch.rows):
                answers[row] = summands.of_text(i, batch.texts[i])
        explanations = [answers[row] for row in range(len(texts))]
        return explanations if deletions is None else with_interactions(model, explanations, deletions, batch_size)

    @classmethod
    def with_largest_interactions(cls, model: LexicalSAE, answers: Sequence[Explanation]) -> list[Explanation]:
        return with_largest_interactions(model, answers)

    def mistake(self, row: int, answer: Explanation) -> str | None:
        gold = int(self.labels[row])
        if gold == UNLABELLED or not self.label_names or answer.label == self.label_names[gold]:
            return None
        return self.label_names[gold]

    def batch(self, rows: Sequence[int] | np.ndarray) -> Batch:
        input_ids, mask = collate(self.encoded, rows, self.pad_id)
        return Batch(input_ids, mask, torch.from_numpy(self.labels[rows]), np.asarray(rows))

    def size(self, rows: np.ndarray) -> int:
        return len(rows)

    def decide(self, model, sequence, batch: Batch):  # type: ignore[no-untyped-def]
        return model.classify(sequence, batch.attention_mask)

    def sequence(self, model, batch: Batch):  # type: ignore[no-untyped-def]
        return model(batch.input_ids, batch.attention_mask)

    def row_of_position(self, batch: Batch) -> Tensor:
        """The text, padding included."""
        return torch.arange(len(batch.input_ids), device=batch.input_ids.device)[:, None].expand_as(batch.input_ids)

    def decide_classes(self, logits: Tensor) -> np.ndarray:
        """Each text's most probable class."""
        return logits.argmax(-1).cpu().numpy()

    def texts(self, rows: np.ndarray) -> list[str]:
        return [self.split.texts[row] for row in rows]

    @property
    def example_of_row(self) -> np.ndarray:
        return np.arange(len(self.labels))

    def subsets(self, labels: Tensor) -> dict[str, Tensor]:
        return {}

    def reasoned(self, classes: Tensor) -> Tensor | None:
        return None

    def circuit_rows(self, labels: Tensor) -> Tensor | None:
        return None

    def calibration(
        self, rows: np.ndarray, device: torch.device, generator: np.random.Generator
    ) -> list[tuple[Tensor, ...]]:
        return [(b.input_ids, b.attention_mask) for b in self.in_order(64, device, rows)]

    def score(self, logits: Tensor) -> float:
        return float((self.decide_classes(logits) == self.labels).mean())

    def cut_note(self, name: str, max_length: int) -> list[str]:
        cut = self.encoded.truncated
        return [f"{cut:,} of {len(self):,} {name} texts were cut to {max_length} tokens."] if cut else []
