"""From predictions to sums in words: the one way in which tokens, and the words they fired at, get their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from splade.attribution.explanation import NO_POSITION, NO_WORD, NOT_A_WORD, Explanation, TokenScore, WordScore
from splade.attribution.span_aggregation import word_spans, words_of_positions
from splade.attribution.sums import TokenSum, WordSum
from splade.attribution.tagged import TaggedText
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE
from splade.models.state import CircuitState


@dataclass(frozen=True)
class ReadText:
    """One text as a model read it, by which its words are found again."""

    text: str
    offsets: list[tuple[int, int]]
    """(L,) the characters that each position stands for."""
    truncated: bool
    spans: Sequence[tuple[int, int]] | None = None
    """The characters of its words, where they are known; else they are found in the text."""

    @property
    def word_spans(self) -> Sequence[tuple[int, int]]:
        return word_spans(self.text) if self.spans is None else self.spans


class Summands:
    """The logit of one class a row as sums: `classes` (R,) are those of the rows of `state`.

    Tensors of all rows become lists at once: a call for every row would take longer than the sums themselves.
    """

    def __init__(self, model: LexicalSAE, state: CircuitState, classes: Tensor) -> None:
        self.names, self.labels, self.classes = model.vocabulary.names, model.labels, classes.tolist()
        rows, vocabulary = compute_attribution_tensor(state, classes), model.vocabulary
        named = vocabulary.starts_word[rows.token] & ~vocabulary.special[rows.token]  # (N,)
        self.offsets, self._offset_of = sorted({*vocabulary.offsets}), vocabulary.offset_of
        self._columns = len(vocabulary) // len(vocabulary.offsets)  # a word speaks in several when it has aspects
        columns = rows.token, rows.value, state.rows.value, rows.position, named
        self._entries = list(zip(*(column.tolist() for column in columns), strict=True))
        entry, position, value = rows.by_position()  # (M,) each
        self._parts = list(zip(entry.tolist(), position.tolist(), value.tolist(), strict=True))
        firsts = torch.cat([rows.offsets, rows.offsets.new_tensor([len(rows)])])  # (R + 1,)
        self._first_entry: list[int] = firsts.tolist()
        self._first_part: list[int] = torch.searchsorted(entry, firsts).tolist()
        self._logits, self._probabilities = state.logits.tolist(), state.logits.softmax(-1).tolist()
        self._decided: list[int] = state.logits.argmax(-1).tolist()
        self._constant_bias = model.head.constant_bias
        self._bias: list[float] = state.b_eff.gather(1, classes[:, None])[:, 0].tolist()

    def of_text(self, row: int, read: ReadText) -> Explanation:
        """A row that is a text, as sums over tokens and over the words of the text."""
        start = row * len(read.offsets)
        return Explanation(
            text=read.text,
            label=self.labels[self._decided[row]],
            target=self.labels[self.classes[row]],
            logits=self._by_label(self._logits[row]),
            probabilities=self._by_label(self._probabilities[row]),
            bias=self._bias[row],
            tokens=self._token_scores(row, start),
            words=self._word_scores(row, read, start),
            truncated=read.truncated,
            constant_bias=self._constant_bias,
        )

    def of_word(self, row: int, tagged: TaggedText, number: int, length: int) -> Explanation:
        """A row that is word `number` of a text, as sums over tokens and over the words that may speak for it;
        `length`: L of the batch it was read in."""
        entries = self._entries[self._first_entry[row] : self._first_entry[row + 1]]
        start = entries[0][3] // length * length if entries else 0  # all stand in one line of the batch
        fired: dict[int, list[tuple[float, str]]] = {offset: [] for offset in self.offsets}
        for token, score, *_, named in entries:
            fired[self._offset_of(token)].append((score, self.names[token] if named else NOT_A_WORD))
        around = {n: tagged.words[number + n] for n in self.offsets if 0 <= number + n < len(tagged.words)}
        return Explanation(
            text=tagged.text,
            label=tagged.words[number].tag,
            target=self.labels[self.classes[row]],
            logits=self._by_label(self._logits[row]),
            probabilities=tagged.words[number].probabilities,
            bias=self._bias[row],
            tokens=self._token_scores(row, start),
            words=[
                WordScore(
                    word.word,
                    word.start,
                    word.end,
                    sum(score for score, _ in fired[offset]),
                    _strongest_first(fired[offset]),
                    offset,
                    _by_name(fired[offset]),
                )
                for offset, word in around.items()
            ],
            constant_bias=self._constant_bias,
        )

    def word_sum(self, row: int, read: ReadText) -> WordSum:
        """A row that is a text, as a sum over its words alone."""
        spans = read.word_spans
        word_of = words_of_positions(read.offsets, spans)
        shares = self._word_totals(row, len(spans), word_of, row * len(read.offsets))
        return WordSum(self.labels[self._decided[row]], self._target_logit(row), self._bias[row], shares)

    def token_sum(self, row: int) -> TokenSum:
        """Any row as a sum over tokens alone; their positions are those of the whole batch."""
        return TokenSum(self._target_logit(row), self._bias[row], self._token_scores(row, 0))

    def _target_logit(self, row: int) -> float:
        logit: float = self._logits[row][self.classes[row]]
        return logit

    def _by_label(self, numbers: list[float]) -> dict[str, float]:
        return dict(zip(self.labels, numbers, strict=True))

    def _token_scores(self, row: int, start: int) -> list[TokenScore]:
        """The active tokens of a row, all aspects of one as one, those that are no words summed into one; `start`:
        where its line begins."""
        tokens: dict[tuple[int, int], TokenScore] = {}
        unnamed = [0.0, 0.0]
        for token, score, value, position, named in self._entries[self._first_entry[row] : self._first_entry[row + 1]]:
            if not named:
                unnamed = [unnamed[0] + score, unnamed[1] + value]
                continue
            offset = self._offset_of(token)
            key = offset, token % self._columns
            if key in tokens:
                heard = tokens[key]
                tokens[key] = replace(heard, score=heard.score + score, value=heard.value + value)
            else:
                tokens[key] = TokenScore(self.names[token], token, score, value, position - start, offset)
        if any(unnamed):
            tokens[NO_POSITION, 0] = TokenScore(NOT_A_WORD, NO_POSITION, unnamed[0], unnamed[1], NO_POSITION)
        return list(tokens.values())

    def _word_totals(self, row: int, words: int, word_of: list[int], start: int) -> list[float]:
        """(W + 1,) what arose at each of `words` words, and last what arose at none; `word_of` (L,) of each position,
        `start` as in `_word_scores`."""
        totals = [0.0] * (words + 1)
        for _, position, score in self._parts[self._first_part[row] : self._first_part[row + 1]]:
            totals[word_of[position - start]] += score  # −1, the last, is what belongs to no word
        return totals

    def _word_scores(self, row: int, read: ReadText, start: int) -> list[WordScore]:
        """What arose at each word; `start`: the flat position at which the text begins."""
        spans = read.word_spans
        word_of = words_of_positions(read.offsets, spans)
        totals = self._word_totals(row, len(spans), word_of, start)
        fired: list[list[tuple[float, str]]] = [[] for _ in totals]
        for entry, position, score in self._parts[self._first_part[row] : self._first_part[row + 1]]:
            token, *_, named = self._entries[entry]
            fired[word_of[position - start]].append((score, self.names[token] if named else NOT_A_WORD))
        named_spans = [(read.text[a:b], a, b) for a, b in spans] + ([(NO_WORD, 0, 0)] if fired[-1] else [])
        return [
            WordScore(*place, total, _strongest_first(spoke), parts=_by_name(spoke))
            for place, total, spoke in zip(named_spans, totals, fired, strict=False)  # the last may be of no word
        ]


def _strongest_first(fired: list[tuple[float, str]]) -> list[str]:
    """Names of what fired at a word; pieces of it may say the same, and a name is enough once."""
    if len(fired) < 2:
        return [name for _, name in fired]
    by_size = sorted(((abs(score), name) for score, name in fired), reverse=True)
    return list(dict.fromkeys(name for _, name in by_size))


def _by_name(fired: list[tuple[float, str]]) -> list[tuple[str, float]]:
    """What fired at a word, each name once with all that it adds, the largest first."""
    if len(fired) < 2:
        return [(name, score) for score, name in fired]
    totals: dict[str, float] = {}
    for score, name in fired:
        totals[name] = totals.get(name, 0.0) + score
    return sorted(totals.items(), key=lambda part: -abs(part[1]))
