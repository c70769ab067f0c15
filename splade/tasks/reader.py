"""The reader: texts go through a model in batches of similar length, longest first, and their states come out.

Both functions give one batch at a time, so that whoever asks may stop after any of them and has lost nothing; nothing
is learnt on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from splade.attribution.summands import ReadText
from splade.data.batching import longest_first
from splade.data.given import BATCH_SIZE, whole_number
from splade.errors import ModelError
from splade.models.lexical_sae import LexicalSAE
from splade.models.state import CircuitState

if TYPE_CHECKING:
    from splade.tasks.base import Batch, Task


@dataclass(frozen=True)
class TextBatch:
    """Some texts through a classifier."""

    rows: list[int]
    """(R,) which of the texts these are."""
    texts: list[ReadText]
    """(R,)."""
    state: CircuitState


@torch.no_grad()
def read(
    model: Any,
    task: Task,
    batch_size: int = BATCH_SIZE,
    rows: np.ndarray | None = None,
    advance: Callable[[int], None] = lambda texts: None,
) -> Iterator[tuple[Batch, Any]]:
    """The batches of a task with the state of each; `rows` limits it to some texts.

    `model`: any with `classify` or `tag`. `advance` is told of every text that is done, for a progress bar.
    """
    model.eval()
    for batch in task.in_order(batch_size, next(model.parameters()).device, rows):
        yield batch, task.predict(model, batch)
        advance(len(batch.rows))


@torch.no_grad()
def read_texts(
    model: LexicalSAE,
    texts: Sequence[str],
    batch_size: int = BATCH_SIZE,
    spans: Callable[[int], Sequence[tuple[int, int]]] | None = None,
) -> Iterator[TextBatch]:
    """Texts as they come from a user, with what is needed to find their words again.

    `spans`: the characters of the words of each text, by its number, where they are known and need not be found.
    """
    batch_size = whole_number(batch_size, "batch_size", 1)
    model.eval()
    for rows in longest_first([len(text) for text in texts], batch_size):
        chosen = [texts[row] for row in rows]
        batch = model.tokenizer(
            chosen,
            padding=True,
            truncation=True,
            max_length=model.max_length,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        ids, mask = batch["input_ids"].to(model.device), batch["attention_mask"].to(model.device)
        state = model.classify(model(ids, mask), mask)
        check_logits(state.logits)
        offsets = [[(start, end) for start, end in spans] for spans in batch["offset_mapping"].tolist()]
        cut = [bool(encoding.overflowing) for encoding in batch.encodings]
        known = [None if spans is None else spans(int(row)) for row in rows]
        texts_read = [ReadText(*read) for read in zip(chosen, offsets, cut, known, strict=True)]
        yield TextBatch(rows.tolist(), texts_read, state)


def check_logits(logits: Tensor) -> None:
    """Refuse logits that are no numbers: of such the first label would be called the most probable."""
    if not bool(torch.isfinite(logits).all()):
        raise ModelError(
            "The model gives logits that are no numbers (NaN or infinite); it is damaged, so train it anew."
        )
