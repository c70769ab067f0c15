"""A text and its words: what explainers score, and what is deleted or hidden to see whether they are right."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from splade.attribution.span_aggregation import word_spans


@dataclass(frozen=True)
class WordText:
    """A text with the character spans of its words, in order and apart."""

    text: str
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str) -> WordText:
        """The words that our own explanations have: words and marks of punctuation."""
        return cls(text, tuple(word_spans(text)))

    @classmethod
    def of_words(cls, words: Sequence[str]) -> WordText:
        """Words given one by one, as data sets with human rationales have them, joined by spaces."""
        spans, start = [], 0
        for word in words:
            spans.append((start, start + len(word)))
            start += len(word) + 1
        return cls(" ".join(words), tuple(spans))

    def __len__(self) -> int:
        return len(self.spans)

    @cached_property
    def words(self) -> list[str]:
        return [self.text[start:end] for start, end in self.spans]

    @cached_property
    def _gaps(self) -> list[str]:
        """What stands before each word, and after the last."""
        ends, starts = [0, *(end for _, end in self.spans)], [*(start for start, _ in self.spans), len(self.text)]
        return [self.text[end:start] for end, start in zip(ends, starts, strict=True)]

    def part(self, start: int, end: int) -> WordText:
        """The words from number `start` to before `end`, with what stands between them."""
        begin = self.spans[start][0]
        spans = tuple((low - begin, high - begin) for low, high in self.spans[start:end])
        return WordText(self.text[begin : self.spans[end - 1][1]], spans)

    def shortened(self, words: Collection[int]) -> WordText:
        """The text without some words, by number, and where the words left now stand; each goes with the space before
        it."""
        gone = frozenset(words)
        if not gone:
            return self
        parts, spans, length = [], [], 0
        for n, word in enumerate(self.words):
            if n not in gone:
                parts += [self._gaps[n], word]
                start = length + len(self._gaps[n])
                length = start + len(word)
                spans.append((start, length))
        joined = "".join([*parts, self._gaps[-1]])
        text, lead = joined.strip(), len(joined) - len(joined.lstrip())
        within = [[min(max(place - lead, 0), len(text)) for place in span] for span in spans]
        return WordText(text, tuple((start, end) for start, end in within))

    def without(self, words: Collection[int]) -> str:
        """The text without some words, by number; each goes with the space before it."""
        return self.shortened(words).text

    def only(self, words: Collection[int]) -> str:
        """The text with some words alone."""
        return self.without(frozenset(range(len(self))).difference(words))

    def hiding(self, words: Collection[int], mask: str) -> str:
        """The text with `mask` in the place of some words."""
        hidden = frozenset(words)
        shown = [self._gaps[n] + (mask if n in hidden else word) for n, word in enumerate(self.words)]
        return "".join([*shown, self._gaps[-1]])
