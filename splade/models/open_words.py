"""An open vocabulary: words that the tokenizer splits have columns of their own, seen in training or not.

Such a word (*tedious*: ``ted ##ious``) has no embedding, so it could only speak through its fragments or through other
words, which would then learn what it means (the name *Ted*, that it is bad). What it means is read by the untrained
backbone, r = the mean hidden state of its pieces where it stands alone, and two linear maps that are fitted on all
whole words turn a reading into what their tables hold:

    E[w] ≈ [r̂, 1]·M_decoder,    W₁'s row of w ≈ [r̂, 1]·M_head,    r̂ = (r − mean)/‖r − mean‖

so that it is scored by h·E[w] and speaks as words of its meaning do, like any other word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from splade.data.batching import EncodedTexts
from splade.errors import ModelError
from splade.models.vocabulary import Vocabulary
from splade.models.word_reader import Pieces, WordReader, words_in_pieces

if TYPE_CHECKING:
    from splade.models.encoder import LexicalEncoder
    from splade.models.heads import Head

FREE_COLUMNS = 8192
"""Columns for words that training never met, the longest unused given anew when there are no more: 19 MB with 384
dimensions, and more than a batch of the longest texts ordinarily has."""

OFTEN = 10
"""Training texts' occurrences from which a split word has a threshold of its own; rarer ones and those never met have
one together, since a threshold learns nothing from a few steps."""

RIDGE = 5e-4
"""Penalty on the maps, as a share of the number of words they are fitted on: of 21,213 words of MiniLM a tenth was held
out, and their own embedding was the nearest of all to the one read (median) from a hundredth to ten times of this."""

TEXTS_AT_A_TIME = 1024
"""Training texts looked through at a time."""


class OpenWords(nn.Module):
    """Which column each split word has, and what is written there.

    Columns after the tokenizer's tokens: the words of the training texts, the most frequent first; one that never fires
    and has the threshold that rare words share; and free ones for words met later.
    """

    pieces: Tensor
    lengths: Tensor
    centre: Tensor
    to_decoder: Tensor
    to_head: Tensor

    def __init__(self, reader: WordReader, first: int, known: int, often: int, widths: tuple[int, int], free: int):
        """`first`: its first column. `known`: the words of the training texts, `often` of which are frequent. `widths`:
        of the decoder and of the head's table; a head without a table that meanings follow from has 0, and then words
        that training never met have no column."""
        super().__init__()
        self.reader, self.first, self.known, self.often, self.free = reader, first, known, often, free
        width = reader.backbone.hidden_size
        self.register_buffer("pieces", torch.zeros(0, dtype=torch.int))  # (M,) of all known words, end to end
        self.register_buffer("lengths", torch.zeros(known, dtype=torch.int))  # (n,)
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("to_decoder", torch.zeros(width + 1, widths[0]))
        self.register_buffer("to_head", torch.zeros(width + 1, widths[1]))
        self.shut: set[Pieces] = set()
        """Words that never fire; those with a column of their own are shut there too."""
        self._columns: dict[Pieces, int] = {}
        self._met: dict[Pieces, int] = {}  # columns of words that training never met, the longest unused first
        self._owners: tuple[LexicalEncoder, Head, Vocabulary]

    def __len__(self) -> int:
        """Columns."""
        return self.known + 1 + self.free

    @property
    def rare(self) -> int:
        """The column whose threshold rare words share."""
        return self.first + self.known

    def attach(self, encoder: LexicalEncoder, head: Head, vocabulary: Vocabulary) -> None:
        """Where rows and names are written: in tables that are whole, so that nobody else need know of two."""
        self._owners = encoder, head, vocabulary  # a plain tuple: nothing is to be twice among the model's modules
        encoder.open_words = (self,)
        rows = slice(self.first + self.known + 1, self.first + len(self))
        leave_out_rows(encoder, ("weight", "bias", "suppressed"), rows)
        leave_out_rows(encoder.gate, ("raw",), rows)
        leave_out_rows(head, ("words",), rows)
        encoder.gate.share_threshold(slice(self.first + self.often, self.first + len(self)), self.rare)
        self._name(self._columns)

    def begin(self, words: Sequence[Pieces]) -> None:
        """Take over the known words, in the order of their columns."""
        flat = np.array([piece for word in words for piece in word], dtype=np.int32)
        self.pieces = torch.from_numpy(flat).to(self.pieces.device)
        self.lengths = torch.tensor([len(word) for word in words], dtype=torch.int, device=self.lengths.device)
        self._number_known()

    def _number_known(self) -> None:
        ends = self.lengths.cumsum(0).tolist()
        flat, starts = self.pieces.tolist(), [0, *ends[:-1]]
        words = [tuple(flat[start:end]) for start, end in zip(starts, ends, strict=False)]
        self._columns = {word: self.first + number for number, word in enumerate(words)}

    def _load_from_state_dict(self, state_dict, prefix, *args) -> None:  # type: ignore[no-untyped-def]
        self.pieces = torch.empty_like(state_dict[prefix + "pieces"])  # as many as the saved model has
        super()._load_from_state_dict(state_dict, prefix, *args)
        self._number_known()
        self._name(self._columns)
        self._met.clear()  # their rows are not among those loaded

    def _name(self, columns: dict[Pieces, int]) -> None:
        *_, vocabulary = self._owners
        for word, column in columns.items():
            vocabulary.rename(column, vocabulary.name_of(word))

    @torch.no_grad()
    def fit(self, readings: Tensor, decoder: Tensor, table: Tensor | None) -> None:
        """Fit both maps on whole words: their readings (W, d), and their rows of the decoder and of the head's table
        (W, ·). Then write the rows of the known words."""
        self.centre = readings.mean(0)
        design = self._design(readings).double()  # (W, d + 1)
        gram = design.T @ design + RIDGE * len(design) * torch.eye(design.shape[1], device=design.device)
        self.to_decoder = torch.linalg.solve(gram, design.T @ decoder.double()).float()
        if table is not None:
            self.to_head = torch.linalg.solve(gram, design.T @ table.double()).float()
        self._write(self._columns, self.reader.read_once(list(self._columns)))

    def _design(self, readings: Tensor) -> Tensor:
        """(n, d + 1) [r̂, 1]."""
        return F.pad(F.normalize(readings - self.centre, dim=1), (0, 1), value=1.0)

    @torch.no_grad()
    def _write(self, columns: dict[Pieces, int], readings: Tensor) -> None:
        """Fill the rows of some words (n) with these readings (n, d) in the decoder and in the head's table; they are
        as long as whole words' are."""
        if not columns:
            return
        encoder, head, _ = self._owners
        design = self._design(readings)
        place = torch.tensor(list(columns.values()), device=design.device)
        encoder.write_rows(place, _as_long(design @ self.to_decoder, encoder.weight.data[: self.first]))
        encoder.bias.data[place] = encoder.bias.data[self.rare].clone()  # not a free column's, which no saved model has
        if self.to_head.shape[1]:
            rows = self._without_look_alikes(list(columns), design @ self.to_head)
            head.words[place] = _as_long(rows, head.words[: self.first]).to(head.words.dtype)
        encoder.suppressed[place] = torch.tensor([word in self.shut for word in columns], device=place.device)
        self._name(columns)

    def _without_look_alikes(self, words: Sequence[Pieces], rows: Tensor) -> Tensor:
        """Rows (n, ·) of the head's table less their part along the row of the word that is written by the first piece:
        *tedious* must not teach *Ted* anything. Of 1,474 split words that people rated, a regression on the ratings of
        whole words gets the sign of 81 % right after it, of 83 % before."""
        _, head, vocabulary = self._owners
        first = torch.tensor([word[0] for word in words], device=rows.device)
        along = F.normalize(head.words[first], dim=1)  # (n, ·)
        is_word = (vocabulary.whole_word & ~vocabulary.stop).to(rows.device)[first]
        # What a mark follows (*German-owned*) is a word that is meant.
        goes_on = vocabulary.wordlike & ~vocabulary.starts_word
        is_word &= goes_on.to(rows.device)[[word[min(1, len(word) - 1)] for word in words]]
        return rows - is_word[:, None] * (rows * along).sum(1, keepdim=True) * along

    def columns_of(self, words: Sequence[Pieces]) -> list[int]:
        """The column of each word, −1 where it has none or is shut; words met for the first time get a free one."""
        unmet = [word for word in dict.fromkeys(words) if word not in self._columns and word not in self.shut]
        if unmet and self.free:
            self._meet(unmet)
        return [-1 if word in self.shut else self._columns.get(word, self._met.get(word, -1)) for word in words]

    def _meet(self, words: Sequence[Pieces]) -> None:
        if len(words) > self.free:
            raise ModelError(
                f"{len(words):,} different words that the tokenizer splits and training never met stand in one batch, "
                f"and {self.free:,} have room; read fewer texts at a time (a smaller batch size)."
            )
        for word in words:  # words in use move to the end, so that the longest unused stand first
            if word in self._met:
                self._met[word] = self._met.pop(word)
        new = [word for word in words if word not in self._met]
        unused = self.first + self.known + 1 + len(self._met)
        columns = {}
        for word in new:
            if len(self._met) < self.free:
                column, unused = unused, unused + 1
            else:
                column = self._met.pop(next(iter(self._met)))
            columns[word] = self._met[word] = column
        self._write(columns, self.reader.read(list(columns)))

    def train(self, mode: bool = True) -> OpenWords:
        """Between training and evaluation an optimiser moves all rows of a decoder that learns, these too."""
        if mode != self.training and self._owners[0].weight.requires_grad:
            self.forget()
        return super().train(mode)

    def forget(self) -> None:
        """Drop what was met since training."""
        self._met.clear()

    def column_of(self, word: Pieces) -> int | None:
        """The column that a word has now; None: none."""
        return self._columns.get(word, self._met.get(word))

    def word_in(self, column: int) -> Pieces | None:
        """The word that has a column now; None: none."""
        named = {**self._columns, **self._met}
        return next((word for word, its in named.items() if its == column), None)

    def shut_word(self, word: Pieces, shut: bool = True) -> None:
        """Never let it fire, or (`shut` false) let it again."""
        (self.shut.add if shut else self.shut.discard)(word)
        column = self.column_of(word)
        if column is not None:
            self._owners[0].suppressed[column] = shut


def _as_long(rows: Tensor, table: Tensor) -> Tensor:
    """`rows` (n, ·) with the length that the rows of `table` have on average: a map that knows less of a word gives a
    shorter row, and how well a word is known says nothing of how much it says."""
    sample = table[:: max(1, len(table) // 1000)]
    return F.normalize(rows, dim=1) * sample.norm(dim=1).mean()


def split_words_of(texts: EncodedTexts, vocabulary: Vocabulary, given: bool = False) -> tuple[list[Pieces], int]:
    """The words of encoded texts that the tokenizer splits, the most frequent first, and how many are frequent;
    `given`: of the words that the texts were given in, where they were."""
    counts: Counter[Pieces] = Counter()
    order = np.argsort(texts.lengths, kind="stable")
    for start in range(0, len(order), TEXTS_AT_A_TIME):
        rows = order[start : start + TEXTS_AT_A_TIME]
        ids = torch.zeros(len(rows), max(1, int(texts.lengths[rows].max())), dtype=torch.long)
        attended = torch.zeros_like(ids, dtype=torch.bool)
        words = torch.full_like(ids, -1) if given and texts.words_of(rows[0]) is not None else None
        for line, row in enumerate(rows):
            text = texts[row]
            ids[line, : len(text)], attended[line, : len(text)] = torch.from_numpy(text.astype(np.int64)), True
            if words is not None:
                words[line, : len(text)] = torch.from_numpy(texts.words_of(row))
        counts.update(words_in_pieces(vocabulary, ids, attended, words)[0].values())
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    return ordered, sum(count >= OFTEN for count in counts.values())


def leave_out_rows(module: nn.Module, names: Sequence[str], rows: slice) -> None:
    """Keep some rows of a module's tensors out of its state dict; where one is loaded they are as the row before them,
    as they were when the model was made."""
    if rows.start == rows.stop:
        return

    def without(module: nn.Module, state: dict[str, Tensor], prefix: str, _: Any) -> None:
        for name in names:
            whole = state[prefix + name]
            if not whole.is_meta:  # what has only a shape is about to be given memory
                state[prefix + name] = torch.cat([whole[: rows.start], whole[rows.stop :]])

    def put_back(module: nn.Module, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
        for name in names:
            saved = state[prefix + name]
            between = saved[rows.start - 1].expand(rows.stop - rows.start, *saved.shape[1:])
            state[prefix + name] = torch.cat([saved[: rows.start], between, saved[rows.start :]])

    module.register_state_dict_post_hook(without)
    module.register_load_state_dict_pre_hook(put_back)
