"""The support `neighbourhood`."""

from __future__ import annotations

from typing import Annotated

import torch
import torch.nn.functional as F
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor

from splade.config.numbers import Number, PositiveInt
from splade.config.variants import SETTINGS
from splade.models.projection import PAIR_CHUNK
from splade.models.supports.base import SUPPORTS, Scene, Support, SupportParts
from splade.models.vocabulary import BLANK, is_stop
from splade.models.word_reader import Pieces, WordReader, words_in_pieces

# Words whose neighbours are looked for at a time: their cosines to 21,000 others are 5 MB.
WORDS_AT_A_TIME = 64


@dataclass(config=SETTINGS, frozen=True)
class NeighbourhoodSettings:
    """How many words, and how near."""

    neighbours: PositiveInt = 8
    """The most words, itself among them, that ``neighbourhood`` lets fire where a word stands. Fewer: shorter sums, of
    the words themselves; more: more synonyms."""
    neighbour_similarity: Annotated[Number, Field(ge=-1, le=1)] = 0.5
    """How near a neighbour must be to the word: the smaller of two cosines, of their embeddings and of what the
    untrained backbone reads in each standing alone. Lower: more words that look alike and mean something else."""


@SUPPORTS.register("neighbourhood")
class NeighbourhoodSupport(Support):
    """Every word speaks for itself, and through the few words nearest to it in meaning; nothing else can fire there.

    Near is what is near twice, in the frozen input embeddings and in the readings of the untrained backbone: either
    alone puts *cardiac* beside *card*, or *messenger* beside *mess*. Names and rare words have no such neighbours. Stop
    words, where they may speak at all, and words that the tokenizer splits speak for themselves alone, the latter by
    columns of their own (`OpenWords`).
    """

    Settings = NeighbourhoodSettings
    lets_split_words_speak = True
    speaks_for_others = True

    neighbours: Tensor

    def __init__(self, parts: SupportParts, settings: NeighbourhoodSettings):
        super().__init__(parts)
        self._open_words = (parts.open_words,)  # a tuple: the module belongs to the model
        vocabulary = parts.vocabulary
        size = parts.vocabulary.tokens
        nothing = torch.iinfo(torch.int).max if parts.blank else -1  # no token: to use it before it is filled in fails
        table = torch.full((size, settings.neighbours), nothing, dtype=torch.int)  # −1: no further word
        if not parts.blank:
            table[:, 0] = torch.where(self.excluded[:size], -1, vocabulary.speaker[:size])
            if settings.neighbours > 1:
                words, readings = vocabulary.content, parts.readings
                if readings is None:
                    reader = WordReader(parts.backbone, vocabulary.tokenizer)
                    readings = reader.read_once([(word,) for word in words.tolist()])
                table[words.cpu(), 1:] = _nearest_words(parts.backbone.frozen_embeddings(), words, readings, settings)
                speaker = table[:, 0].long()
                table = torch.where((speaker >= 0)[:, None], table[speaker.clamp(min=0)], table)
        self.register_buffer("neighbours", table)  # (V, k): for words of one token

    def _is_silent(self, pieces: Pieces) -> bool:
        """Whether a split word is a stop word, a number or a mark ("1987" in pieces), when such are excluded."""
        return bool(self.excluded.any()) and is_stop("".join(self.vocabulary.names[p] for p in pieces).strip(BLANK))

    def candidates(
        self, input_ids: Tensor, attended: Tensor, asked: Tensor | None = None, words: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Live positions (P,) as flat indices, ascending, and the tokens (P, k) that may fire there, its own word's
        first; −1 where a word has fewer. `words` (B, L): a number a word, −1 for none; None: the tokenizer's words."""
        split, word = words_in_pieces(self.vocabulary, input_ids, attended, words)
        ids = input_ids.flatten()
        tokens = self.neighbours.index_select(0, ids).long()  # (B·L, k)
        live = (word >= 0) & attended.flatten()
        column = torch.full((len(ids),), -1)  # of the split word with each number
        [open_words] = self._open_words
        if split and open_words is not None:
            spoken = {n: pieces for n, pieces in split.items() if asked is not None or not self._is_silent(pieces)}
            column[list(spoken)] = torch.tensor(open_words.columns_of(list(spoken.values())), dtype=torch.long)
        if split:
            is_split = torch.zeros(len(ids), dtype=torch.bool)
            is_split[list(split)] = True
            inside = is_split.to(ids.device)[word] & (word >= 0)  # (B·L,): pieces of a split word
            tokens[inside] = -1
            tokens[inside, 0] = column.to(ids.device)[word[inside]]
        live &= tokens[:, 0] >= 0
        if asked is not None:
            live &= asked.flatten()
        position = live.nonzero(as_tuple=True)[0]
        return position, tokens[position]

    def propose(self, scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
        position, tokens = self.candidates(scene.input_ids, scene.attended, scene.asked, scene.words)  # (P,), (P, k)
        hidden = scene.hidden.reshape(-1, scene.hidden.shape[-1])  # (B·L, d)
        if scene.views is not None:
            position, which = scene.views.of(position)
            hidden, tokens = scene.views.state, tokens[which]
        place, slot = (tokens >= 0).nonzero(as_tuple=True)  # (N,)
        position, tokens = position[place], tokens[place, slot]
        score = hidden.new_empty(len(tokens))
        for start in range(0, len(tokens), PAIR_CHUNK):
            part = slice(start, start + PAIR_CHUNK)
            score[part] = (hidden[position[part]] * F.embedding(tokens[part], scene.decoder)).sum(1)
        felt = score > scene.floor[tokens]
        return position[felt], tokens[felt], score[felt]

    def allows(
        self, input_ids: Tensor, attended: Tensor, asked: Tensor | None = None, words: Tensor | None = None
    ) -> Tensor:
        allowed = torch.zeros(input_ids.numel(), len(self.excluded), dtype=torch.bool, device=input_ids.device)
        position, tokens = self.candidates(input_ids, attended, asked, words)
        place, slot = (tokens >= 0).nonzero(as_tuple=True)
        allowed[position[place], tokens[place, slot]] = True
        return allowed.view(*input_ids.shape, -1)


def _nearest_words(embeddings: Tensor, words: Tensor, readings: Tensor, settings: NeighbourhoodSettings) -> Tensor:
    """(W, k − 1) the nearest of `words` (W,) to each of them, the nearest first, −1 where fewer are near enough.

    Nearness is min(cos of embeddings (V, d), cos of readings (W, d)), both centred: all words share a direction.
    """
    embeddings = embeddings[words]
    sources = [F.normalize(each - each.mean(0), dim=1) for each in (embeddings, readings)]  # (W, ·) each
    most = min(settings.neighbours - 1, len(words) - 1)
    table = torch.full((len(words), settings.neighbours - 1), -1, dtype=torch.int)
    for rows in torch.arange(len(words), device=words.device).split(WORDS_AT_A_TIME):
        nearness = torch.minimum(*(source[rows] @ source.T for source in sources))  # (n, W)
        nearness[torch.arange(len(rows)), rows] = -1.0  # itself stands first anyway
        near, which = nearness.topk(most, dim=1)
        table[rows.cpu(), :most] = torch.where(near >= settings.neighbour_similarity, words[which], -1).int().cpu()
    return table
