"""Sentences with a tag a word."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from splade.attribution.deletions import Deletions
from splade.attribution.tagged import ExplainedText, TaggedText
from splade.data.batching import collate
from splade.data.given import BATCH_SIZE, Given, given_sentences, whole_number
from splade.data.iob2 import IOB2
from splade.data.types import TaggedSplit
from splade.data.words import EncodedWords, encode_words
from splade.errors import ConfigError
from splade.models.lexical_sae import LexicalSAE
from splade.task_description import TAGGING
from splade.tasks.base import TASKS, UNLABELLED, Batch, Task
from splade.tasks.sentences import as_sentence, explain_sentences, tag_sentences

CIRCUIT_WORDS = 256
"""Most words a batch whose circuits are looked at, so that a batch of long sentences full of names does not cost a
multiple of the others. A judgement; no other number was tried."""


@TASKS.register("tagging")
class TaggingTask(Task):
    """Sentences with a tag a word, read in windows; a row of a prediction is a word, `labels` those of all sentences
    end to end."""

    description = TAGGING
    decided_at_once = False
    encoded: EncodedWords

    def __init__(self, split: TaggedSplit, tokenizer, max_length: int, label_names: Sequence[str]):  # type: ignore[no-untyped-def]
        self.split: TaggedSplit = split
        self.iob2 = IOB2(label_names)
        self.encoded = encode_words(split.sentences, tokenizer, max_length)
        self.labels = np.asarray([tag for tags in split.tags for tag in tags], dtype=np.int64)
        self.pad_id = tokenizer.pad_token_id or 0
        self.sentence_lengths = np.array([len(tags) for tags in split.tags], dtype=np.int64)  # (S,)
        starts = np.cumsum(self.sentence_lengths) - self.sentence_lengths
        start = np.repeat(starts[self.encoded.sentence], self.encoded.lengths)  # (pieces,)
        self._place = np.where(self.encoded.shown >= 0, start + self.encoded.shown, -1)  # (pieces,): its word's label

    @staticmethod
    def divide(split: TaggedSplit, tokenizer: Any, max_length: int) -> TaggedSplit:
        """Itself: sentences are always read in windows."""
        return split

    @classmethod
    def unlabelled(cls, examples: Sequence[Sequence[str]], model: LexicalSAE) -> TaggingTask:
        split = TaggedSplit([list(words) for words in examples], [[UNLABELLED] * len(words) for words in examples])
        return cls(split, model.tokenizer, model.max_length, model.labels)

    @classmethod
    def from_texts(cls, texts: Sequence[str | list[str]], model: LexicalSAE) -> TaggingTask:
        return cls.unlabelled([as_sentence(text).words for text in texts], model)

    @staticmethod
    def words_of(text: str | list[str]) -> list[str]:
        return as_sentence(text).words

    @staticmethod
    def given(texts: object) -> Given[str | list[str]]:
        return given_sentences(texts)

    @classmethod
    @torch.no_grad()
    def predict_texts(
        cls, model: LexicalSAE, texts: Sequence[str | list[str]], batch_size: int = BATCH_SIZE
    ) -> list[TaggedText]:
        batch_size = whole_number(batch_size, "batch_size", 1)
        sentences = [as_sentence(text) for text in texts]
        task = cls.unlabelled([sentence.words for sentence in sentences], model)
        return tag_sentences(model, task, sentences, batch_size)[0]

    @classmethod
    @torch.no_grad()
    def explain_texts(
        cls,
        model: LexicalSAE,
        texts: Sequence[str | list[str]],
        *,
        target: str | None = None,
        batch_size: int = BATCH_SIZE,
        word: int | None = None,
        context: bool = False,
        deletions: Deletions | None = None,
    ) -> list[ExplainedText]:
        """The words of entities, or word number `word` of every text; see `splade.tagging.explain_tags_batch`."""
        if deletions is not None:
            raise ConfigError(
                f"interactions were asked for, but the model {TAGGING.does}, and what deleting a word does to the tag "
                "of another is asked for by context; say that in its place."
            )
        batch_size = whole_number(batch_size, "batch_size", 1)
        word = None if word is None else whole_number(word, "word", 0)
        sentences = [as_sentence(text) for text in texts]
        task = cls.unlabelled([sentence.words for sentence in sentences], model)
        return explain_sentences(model, task, sentences, batch_size, word=word, target=target, context=context)

    def mistake(self, row: int, answer: ExplainedText) -> str | None:
        """The words with a wrong tag, and those they should have."""
        names = self.iob2.labels
        words = zip(answer.tagged.words, self.split.tags[row], strict=True)
        wrong = [f"{word.word} {names[gold]}" for word, gold in words if gold >= 0 and word.tag != names[gold]]
        return ", ".join(wrong) or None

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
        line = np.arange(len(place))[:, None] * (len(self.labels) + 1)  # two windows of a batch may show a word
        wanted = np.isin(line + place, (line + place)[begins]) & (place >= 0)
        words = np.where(wanted, np.cumsum(begins).reshape(begins.shape) - 1, np.where(place >= 0, -2 - place, -1))
        labels = torch.from_numpy(self.labels[place[begins]])
        return Batch(input_ids, mask, labels, np.asarray(rows), torch.from_numpy(words), place[begins])

    def size(self, rows: np.ndarray) -> int:
        return int(self._sizes[rows].sum())

    @cached_property
    def _sizes(self) -> np.ndarray:
        """(W,) words that each window decides."""
        firsts = np.concatenate([[0], np.cumsum(self.encoded.first)])
        return np.diff(firsts[self.encoded.offsets])

    def deciding(self, places: Sequence[int]) -> TaggingTask:
        """The same sentences, with only some of their words decided: those of these labels."""
        task = copy(self)
        task.__dict__.pop("_sizes", None)
        task.encoded = replace(self.encoded, first=self.encoded.first & np.isin(self._place, places))
        return task

    def deciding_windows(self) -> np.ndarray:
        """Those that decide a word."""
        return np.flatnonzero(self._sizes)

    def decide(self, model, sequence, batch: Batch):  # type: ignore[no-untyped-def]
        return model.tag(sequence, batch.words)

    def sequence(self, model, batch: Batch):  # type: ignore[no-untyped-def]
        return model.by_word(model(batch.input_ids, batch.attention_mask), batch.words)

    def row_of_position(self, batch: Batch) -> Tensor:
        """The word, −1 where a position is no piece of one that the batch decides."""
        assert batch.words is not None, "a batch of words knows where they stand"
        return batch.words.clamp(min=-1)

    def decide_classes(self, logits: Tensor) -> np.ndarray:
        """The most probable tags that make possible sentences; see `decode`."""
        return self.decode(logits)

    @property
    def example_of_row(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.sentence_lengths)), self.sentence_lengths)

    def subsets(self, labels: Tensor) -> dict[str, Tensor]:
        """Words of entities: most words are O, which the bias alone may say."""
        return {"entities": self._named(labels)}

    def reasoned(self, classes: Tensor) -> Tensor | None:
        """Words of entities: there is little to say about why a word is none."""
        return self._named(classes)

    def _named(self, classes: Tensor) -> Tensor:
        return (classes != self.iob2.outside).nonzero(as_tuple=True)[0]

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

    def cut_note(self, name: str, max_length: int) -> list[str]:
        cut = self.encoded.truncated
        return [f"{cut:,} of the {name} words were cut to {max_length} tokens."] if cut else []
