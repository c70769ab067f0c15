"""From predictions to sums in words: the one way in which tokens, and the words they fired at, get their names."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from splade.attribution.explanation import NO_POSITION, NO_WORD, NOT_A_WORD, Explanation, TokenScore, WordScore
from splade.attribution.span_aggregation import word_spans, words_of_positions
from splade.attribution.tagged import TaggedText
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState
from splade.models.vocabulary import Vocabulary


@dataclass(frozen=True)
class ReadText:
    """One text as a model read it, by which its words are found again."""

    text: str
    offsets: list[tuple[int, int]]
    """(L,) the characters that each position stands for."""
    truncated: bool


class Summands:
    """The logit of one class a row as sums: `classes` (R,) are those of the rows of `state`."""

    def __init__(self, model: LexicalSAE, state: CircuitState, classes: Tensor) -> None:
        self.vocabulary, self.labels, self.state = model.vocabulary, model.labels, state
        self.attribution = compute_attribution_tensor(state, classes)
        self.classes: list[int] = classes.tolist()

    def of_text(self, row: int, read: ReadText) -> Explanation:
        """A row that is a text, as sums over tokens and over the words of the text."""
        start = row * len(read.offsets)
        entries, values = self._entries(row)
        tokens, names = token_scores(self.vocabulary, entries, values, entries.position - start)
        logits, target = self.state.logits[row], self.classes[row]
        return Explanation(
            text=read.text,
            label=self.labels[int(logits.argmax())],
            target=self.labels[target],
            logits=self._by_label(logits),
            probabilities=self._by_label(logits.softmax(-1)),
            bias=float(self.state.b_eff[row, target]),
            tokens=tokens,
            words=_word_scores(read, start, entries, names),
            truncated=read.truncated,
        )

    def of_word(self, row: int, tagged: TaggedText, number: int, length: int) -> Explanation:
        """A row that is word `number` of a text, as a sum over tokens; `length`: L of the batch it was read in."""
        entries, values = self._entries(row)
        tokens, _ = token_scores(self.vocabulary, entries, values, entries.position % length)
        word, target = tagged.words[number], self.classes[row]
        names = [token.token for token in sorted(tokens, key=lambda token: -abs(token.score))]
        return Explanation(
            text=tagged.text,
            label=word.tag,
            target=self.labels[target],
            logits=self._by_label(self.state.logits[row]),
            probabilities=word.probabilities,
            bias=float(self.state.b_eff[row, target]),
            tokens=tokens,
            words=[WordScore(word.word, word.start, word.end, sum(entries.value.tolist()), names)],
        )

    def _entries(self, row: int) -> tuple[SparseRows, Tensor]:
        """A row of the attribution, and the activations behind it."""
        inside = self.attribution.row == row
        return self.attribution.select(inside), self.state.rows.value[inside]

    def _by_label(self, numbers: Tensor) -> dict[str, float]:
        return dict(zip(self.labels, numbers.tolist(), strict=True))


def token_scores(
    vocabulary: Vocabulary, entries: SparseRows, values: Tensor, positions: Tensor
) -> tuple[list[TokenScore], list[str]]:
    """The active tokens of one row, those that are no words summed into one; and the name of every entry."""
    tokens, names, unnamed = [], [], [0.0, 0.0]
    columns = (column.tolist() for column in (entries.token, entries.value, values, positions))
    for j, a, v, p in zip(*columns, strict=True):
        named = bool(vocabulary.starts_word[j]) and not bool(vocabulary.special[j])
        names.append(vocabulary.names[j] if named else NOT_A_WORD)
        if named:
            tokens.append(TokenScore(names[-1], j, a, v, p))
        else:
            unnamed = [unnamed[0] + a, unnamed[1] + v]
    if any(unnamed):
        tokens.append(TokenScore(NOT_A_WORD, NO_POSITION, unnamed[0], unnamed[1], NO_POSITION))
    return tokens, names


def _word_scores(read: ReadText, start: int, entries: SparseRows, names: list[str]) -> list[WordScore]:
    """What arose at each word; `start`: the flat position at which the text begins, `names` of the row's entries."""
    spans = word_spans(read.text)
    word_of = words_of_positions(read.offsets, spans)
    fired: list[list[tuple[float, str]]] = [[] for _ in range(len(spans) + 1)]
    totals = [0.0] * (len(spans) + 1)
    for e, p, a in zip(*(column.tolist() for column in entries.by_position()), strict=True):
        word = word_of[p - start]  # −1, the last, is what belongs to no word
        totals[word] += a
        fired[word].append((abs(a), names[e]))
    words = [WordScore(read.text[a:b], a, b, totals[n], _strongest_first(fired[n])) for n, (a, b) in enumerate(spans)]
    if fired[-1]:
        words.append(WordScore(NO_WORD, 0, 0, totals[-1], _strongest_first(fired[-1])))
    return words


def _strongest_first(fired: list[tuple[float, str]]) -> list[str]:
    """Names of what fired at a word; pieces of it may say the same, and a name is enough once."""
    return list(dict.fromkeys(name for _, name in sorted(fired, reverse=True)))
