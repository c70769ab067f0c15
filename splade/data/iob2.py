"""IOB2 tags: B-X begins an entity of type X, I-X goes on with it, O is outside; and the best sequence that is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from splade.errors import DataError

# Sentences decoded together, of similar length: 1,024 of 100 words and 9 tags are 7 MB.
TOGETHER = 1024


class IOB2:
    """Which tag may follow which: I-X only after B-X or I-X of the same type, everything else after anything."""

    def __init__(self, labels: Sequence[str]):
        self.labels = list(labels)
        if "O" not in self.labels:
            raise DataError(f"The tags {', '.join(self.labels)} have no O, which words outside any entity need.")
        self.outside = self.labels.index("O")
        inside = np.array([label.startswith("I-") for label in self.labels])  # (C,)
        same = np.array([[a != "O" and a[2:] == b[2:] for b in self.labels] for a in self.labels])  # (C, C)
        self.starts = ~inside
        """(C,) bool: tags a sentence may begin with."""
        self.follows = ~inside | same
        """(C, C) bool: [i, j] whether tag j may follow tag i."""

    def decode(self, scores: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """(N,) the possible tags of the words of sentences end to end whose scores have the highest sum (Viterbi).

        `scores` (N, C) logits, or log-probabilities: that all tags of a word share a constant changes no choice.
        `lengths` (S,) words of each sentence, which add up to N.
        """
        out = np.zeros(len(scores), dtype=np.int64)
        starts, order = np.cumsum(lengths) - lengths, np.argsort(lengths, kind="stable")
        for begin in range(0, len(order), TOGETHER):
            some = order[begin : begin + TOGETHER]
            longest = int(lengths[some].max())
            inside = np.arange(longest) < lengths[some, None]  # (s, T)
            index = (starts[some, None] + np.arange(longest))[inside]
            padded = np.zeros((len(some), longest, scores.shape[1]), dtype=np.float64)  # (s, T, C)
            padded[inside] = scores[index]
            out[index] = self._best_paths(padded, inside)[inside]
        return out

    def _best_paths(self, scores: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """(s, T) from scores (s, T, C) of the words where `inside` (s, T)."""
        count, length, _ = scores.shape
        path = np.zeros((count, length), dtype=np.int64)
        if length == 0:
            return path
        best = np.where(self.starts, scores[:, 0], -np.inf)  # (s, C): of the paths that end in each tag so far
        came_from = np.zeros(scores.shape, dtype=np.int64)  # (s, T, C)
        for t in range(1, length):
            step = np.where(self.follows, best[:, :, None], -np.inf)  # (s, C before, C)
            came_from[:, t] = step.argmax(1)
            # A sentence that has ended stays where it was.
            best = np.where(inside[:, t, None], step.max(1) + scores[:, t], best)
        tag = best.argmax(1)  # (s,)
        for t in range(length - 1, -1, -1):
            path[:, t] = tag
            before = np.take_along_axis(came_from[:, t], tag[:, None], 1)[:, 0]
            tag = np.where(inside[:, t], before, tag)
        return path

    def names(self, tags: np.ndarray, lengths: np.ndarray) -> list[list[str]]:
        """The tags (N,) of sentences end to end by name, a list a sentence."""
        return [[self.labels[tag] for tag in part] for part in np.split(tags, np.cumsum(lengths)[:-1])]
