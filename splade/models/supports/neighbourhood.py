"""The support `neighbourhood`."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from pydantic.dataclasses import dataclass
from torch import Tensor

from splade.config.numbers import PositiveInt
from splade.config.variants import SETTINGS
from splade.errors import ConfigError
from splade.models.projection import PAIR_CHUNK
from splade.models.supports.base import SUPPORTS, Scene, Support, SupportParts
from splade.models.supports.split_words import SplitWordReader, words_in_pieces
from splade.models.vocabulary import BLANK, is_stop

# Tokens whose neighbours are looked for at a time: their cosines to a vocabulary of 30,522 are 8 MB.
TOKENS_AT_A_TIME = 64


@dataclass(config=SETTINGS, frozen=True)
class NeighbourhoodSettings:
    """How many words."""

    neighbours: PositiveInt = 8
    """Nearest whole words of each token in the frozen input embeddings, itself among them, that ``neighbourhood`` lets
    fire. Fewer: shorter sums, of the words themselves; more: more synonyms."""


@SUPPORTS.register("neighbourhood")
class NeighbourhoodSupport(Support):
    """A word and its k nearest whole words in the frozen input embeddings; nothing else can fire there.

    A word the tokenizer splits never surfaces as fragments: all its pieces propose the same k whole words, those that
    the untrained backbone reads in the word standing alone (*snooze* → nap, sleepy); the mean of its pieces' embeddings
    says little about it.
    """

    Settings = NeighbourhoodSettings

    neighbours: Tensor

    def __init__(self, parts: SupportParts, settings: NeighbourhoodSettings):
        super().__init__(parts)
        vocabulary, backbone, neighbours = parts.vocabulary, parts.backbone, settings.neighbours
        clean = vocabulary.whole_word & ~self.excluded
        words = clean.nonzero(as_tuple=True)[0]
        if len(words) < neighbours:
            raise ConfigError(
                f"model.neighbours is {neighbours}, but the vocabulary has only {len(words)} whole words; choose fewer."
            )
        self.reader = SplitWordReader(backbone, vocabulary, words, neighbours)  # for words of several pieces
        size = len(vocabulary.pieces)
        table = (
            torch.full((size, neighbours), -1, dtype=torch.int)  # no token: to use it before it is filled in fails
            if parts.blank
            else _nearest_words(backbone.frozen_embeddings(), clean, neighbours)
        )
        self.register_buffer("neighbours", table)  # (V, k): for words of one piece

    def _is_silent(self, pieces: tuple[int, ...]) -> bool:
        """Whether a split word is a stop word, a number or a mark ("1987" in pieces), when such are excluded."""
        return bool(self.excluded.any()) and is_stop("".join(self.vocabulary.names[p] for p in pieces).strip(BLANK))

    def candidates(self, input_ids: Tensor, attended: Tensor, asked: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Live positions (P,) as flat indices and the tokens (P, k) that may fire there."""
        split, word = words_in_pieces(self.vocabulary, input_ids, attended)
        ids = input_ids.flatten()
        tokens = self.neighbours.index_select(0, ids).long()  # (B·L, k)
        live = (word >= 0) & self.live(input_ids, attended, asked).flatten()
        for number in [number for number, p in split.items() if asked is None and self._is_silent(p)]:
            live &= word != number
            del split[number]
        if split:
            row_of = torch.full((len(ids),), -1, dtype=torch.long)
            row_of[list(split)] = torch.arange(len(split))
            row = torch.where(word >= 0, row_of.to(ids.device)[word], -1)  # (B·L,): which split word, or −1
            read = self.reader.read(list(split.values()))  # (S, k)
            tokens = torch.where((row >= 0)[:, None], read[row], tokens)
            live |= row >= 0
        if asked is not None:
            live &= asked.flatten()
        position = live.nonzero(as_tuple=True)[0]
        return position, tokens[position]

    def propose(self, scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
        position, tokens = self.candidates(scene.input_ids, scene.attended, scene.asked)  # (P,), (P, k)
        hidden = scene.hidden.reshape(-1, scene.hidden.shape[-1])  # (B·L, d)
        score = hidden.new_empty(tokens.shape)  # (P, k)
        step = max(1, PAIR_CHUNK // tokens.shape[1])
        for start in range(0, len(position), step):
            part = slice(start, start + step)
            near = F.embedding(tokens[part], scene.decoder)  # (n, k, d)
            score[part] = torch.bmm(near, hidden[position[part], :, None]).squeeze(-1)
        place, slot = (score > scene.floor[tokens]).nonzero(as_tuple=True)
        return position[place], tokens[place, slot], score[place, slot]

    def allows(self, input_ids: Tensor, attended: Tensor, asked: Tensor | None = None) -> Tensor:
        allowed = torch.zeros(input_ids.numel(), len(self.excluded), dtype=torch.bool, device=input_ids.device)
        position, tokens = self.candidates(input_ids, attended, asked)
        allowed[position[:, None], tokens] = True
        return allowed.view(*input_ids.shape, -1)


def _nearest_words(embeddings: Tensor, words: Tensor, k: int) -> Tensor:
    """(V, k) tokens among `words` (V,) bool nearest to each by cosine of embeddings (V, d); each word has itself."""
    embeddings = F.normalize(embeddings, dim=1)
    table, itself = torch.empty(len(embeddings), k, dtype=torch.int), torch.arange(len(embeddings))
    for rows in itself.split(TOKENS_AT_A_TIME):
        cosine = embeddings[rows] @ embeddings.T  # (n, V)
        table[rows] = cosine.masked_fill_(~words, -torch.inf).topk(k, dim=1).indices.int()
    lacks_itself = words & ~(table == itself[:, None]).any(1)
    table[:, -1] = torch.where(lacks_itself, itself, table[:, -1])
    return table
