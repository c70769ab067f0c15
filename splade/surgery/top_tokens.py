"""The tokens or words that speak loudest for each class, and which columns are fit to be shown as words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from splade.data.given import BATCH_SIZE, whole_number
from splade.errors import ConfigError
from splade.inference import check_target
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.protocol import LexicalModel
from splade.models.state import CircuitState
from splade.models.vocabulary import Vocabulary
from splade.models.word_reader import words_in_pieces
from splade.tasks import TASKS
from splade.tasks.base import Batch
from splade.tasks.reader import read

Of = Literal["tokens", "words"]


@dataclass(frozen=True)
class TopToken:
    """A token, or a word of the texts, and what it adds to the logit of a class."""

    name: str
    mean: float
    """Over all predictions; where it is not active it adds 0."""
    largest: float
    """The contribution of the largest size."""
    rows: int
    """Predictions in which it is active."""


@torch.no_grad()
def get_top_tokens(
    model: LexicalModel,
    texts: Iterable[Any],
    *,
    k: int = 20,
    label: str | None = None,
    of: Of = "tokens",
    batch_size: int = BATCH_SIZE,
) -> dict[str, list[TopToken]]:
    """The k tokens that add most to the logit of each label (or of one) on average over texts, the loudest first.

    `of`: the vocabulary's tokens, or the words of the texts that they fired at.
    """
    check_target(model, label)
    if of not in ("tokens", "words"):
        raise ConfigError(f"of is {of!r:.40}, but 'tokens' or 'words' was expected; choose one.")
    k = whole_number(k, "k", 1)
    kind = TASKS.get(model.task)
    task = kind.from_texts(kind.given(texts).items, model)
    wanted = list(model.labels) if label is None else [label]
    totals: dict[str, dict[str, list[float]]] = {name: {} for name in wanted}
    for batch, state in read(model, task, batch_size):
        words = word_names(model, batch) if of == "words" else None
        for name in wanted:
            for key, value in _contributions(model, state, model.labels.index(name), words):
                found = totals[name].setdefault(key, [0.0, 0.0, 0])
                found[0] += value
                found[1] = max(found[1], value, key=abs)
                found[2] += 1
    count = max(1, len(task.labels))
    return {
        name: sorted(
            (TopToken(key, total / count, largest, int(rows)) for key, (total, largest, rows) in its.items()),
            key=lambda one: (-one.mean, one.name),
        )[:k]
        for name, its in totals.items()
    }


def _contributions(
    model: LexicalModel, state: CircuitState, number: int, words: list[str] | None
) -> Iterator[tuple[str, float]]:
    """Name and contribution of each token of each row; or of each word, whose name is that of its position."""
    classes = torch.full((len(state.logits),), number, device=state.logits.device)
    rows = compute_attribution_tensor(state, classes)
    if words is None:
        vocabulary = model.vocabulary
        named = (vocabulary.starts_word & ~vocabulary.special)[rows.token.cpu()].tolist()  # pieces are not shown
        entries = zip(rows.token.tolist(), rows.value.tolist(), named, strict=True)
        yield from ((vocabulary.names[token], value) for token, value, is_word in entries if is_word)
        return
    entry, position, value = rows.by_position()
    sums: dict[tuple[int, str], float] = {}
    for row, place, part in zip(rows.row[entry].tolist(), position.tolist(), value.tolist(), strict=True):
        key = row, words[place]
        sums[key] = sums.get(key, 0.0) + part
    yield from ((name, total) for (_, name), total in sums.items())


def word_names(model: LexicalModel, batch: Batch) -> list[str]:
    """(B·L,) the word at each position, in lower case; of what belongs to none, the token's name."""
    vocabulary = model.vocabulary
    words = batch.words if model.encoder.context is not None else None
    split, number = words_in_pieces(vocabulary, batch.input_ids, batch.attention_mask.bool(), words)
    named = {each: vocabulary.name_of(pieces) for each, pieces in split.items()}
    tokens = batch.input_ids.flatten().tolist()
    return [named.get(n, vocabulary.names[token]).lower() for n, token in zip(number.tolist(), tokens, strict=True)]


def get_clean_vocab_mask(source: Any) -> Tensor:
    """(V,) bool: columns fit to be shown as words, of a model or of a tokenizer: no special tokens, no pieces that
    continue a word, no debris; of a model also the words that the tokenizer splits, where they have a column."""
    if isinstance(source, PreTrainedTokenizerFast):
        return Vocabulary.from_tokenizer(source, max(source.get_vocab().values()) + 1).whole_word
    vocabulary = getattr(source, "vocabulary", None)
    if not isinstance(vocabulary, Vocabulary):
        raise ConfigError(f"A model or a fast tokenizer was expected, but {source!r:.60} was given.")
    split = torch.tensor([bool(name) for name in vocabulary.names]) & (vocabulary.base >= vocabulary.tokens)
    return (vocabulary.whole_word | split) & ~vocabulary.special
