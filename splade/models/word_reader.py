"""What the untrained backbone reads in a word that stands alone: one vector a word, whole or split, that says what it
means. Neighbours and the columns of split words come from it.

Saved models keep the weights of that backbone, not what it read: a change here changes what they read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast

from splade.models.backbone import Backbone, frozen_copy
from splade.models.context import word_starts
from splade.models.vocabulary import Vocabulary
from splade.utils.kept import computed_by, content_hash, kept

Pieces = tuple[int, ...]
"""A word by the tokens that write it."""

# Words read at a time: measured on 2 cores, fewer wait for one another and more leave the processor's caches.
WORDS_AT_A_TIME = 256

WORTH_KEEPING = 1000
"""Words whose readings are kept between commands; fewer are read in a second or two."""

VERSION = 1
"""Of how words are read; what is kept of another is not used."""


def words_in_pieces(
    vocabulary: Vocabulary, input_ids: Tensor, attended: Tensor, words: Tensor | None = None
) -> tuple[dict[int, Pieces], Tensor]:
    """The words of a batch that no token of the vocabulary writes, by number, and the word number (B·L,) of every
    position (or −1). `words` (B, L): a number a word, −1 for none; None: the words that the tokenizer marks."""
    if words is None:
        groups = vocabulary.word_groups(input_ids, attended).flatten()  # (B·L,): −1 where there is no word
    else:
        groups = torch.where(words == -1, -1, word_starts(words).cumsum(1) - 1).flatten()
    ids, length = input_ids.flatten(), input_ids.shape[1]
    text = torch.arange(len(ids), device=ids.device) // max(length, 1)
    word = torch.where(groups >= 0, text * length + groups, -1)
    size = torch.bincount(word[word >= 0], minlength=len(ids))  # pieces of each word
    alone = vocabulary.speaker.to(ids.device)[ids] >= 0  # (B·L,)
    places = ((word >= 0) & ((size[word] > 1) | ~alone)).nonzero(as_tuple=True)[0]
    pieces: dict[int, list[int]] = {}
    for number, piece in zip(word[places].tolist(), ids[places].tolist(), strict=True):
        pieces.setdefault(number, []).append(piece)
    return {number: tuple(of_word) for number, of_word in pieces.items()}, word


class WordReader(nn.Module):
    """A frozen copy of the untrained backbone, which reads words that stand alone.

    The copy stays with the model, since about half of all sentences hold a split word that training never met. Word
    embeddings that do not train are shared with the model; what it has of its own is rounded to half precision at once,
    and so it is saved: a loaded model reads as the trained one did.
    """

    saved_dtype = torch.float16

    def __init__(self, backbone: Backbone, tokenizer: PreTrainedTokenizerFast):
        super().__init__()
        self.tokenizer = tokenizer
        self.backbone = frozen_copy(backbone)
        embeddings = backbone.input_embeddings().weight
        self._shared = [name for name, parameter in self.named_parameters() if parameter is embeddings]
        for name, parameter in self.named_parameters():
            if name not in self._shared:
                parameter.copy_(parameter.half())
        self.register_state_dict_post_hook(_leave_out_shared)
        self.register_load_state_dict_pre_hook(_put_back_shared)

    def train(self, mode: bool = True) -> WordReader:
        return super().train(False)  # its reading of a word must not change

    @torch.no_grad()
    def read(self, words: Sequence[Pieces]) -> Tensor:
        """(n, d) the mean hidden state of each word's pieces, the word standing between the special tokens alone."""
        device = next(self.backbone.parameters()).device
        readings = torch.empty(len(words), self.backbone.hidden_size, device=device)
        order = sorted(range(len(words)), key=lambda i: (len(words[i]), words[i]))  # of one length, little is padding
        for start in range(0, len(words), WORDS_AT_A_TIME):
            chunk = order[start : start + WORDS_AT_A_TIME]
            readings[chunk] = self._mean_hidden([words[i] for i in chunk])
        return readings

    def read_once(self, words: Sequence[Pieces]) -> Tensor:
        """What `read` gives, to the bit; where there are many words, it is kept in the user's cache and found there."""
        if len(words) < WORTH_KEEPING:
            return self.read(words)
        device = next(self.backbone.parameters()).device
        return kept("readings", self._known_by(words), lambda: self.read(words)).to(device)

    def _known_by(self, words: Sequence[Pieces]) -> str:
        """A hash of all that the readings follow from: how they are computed, the words and the weights."""
        backbone, tokenizer = self.backbone, self.tokenizer
        config = {**backbone.config.to_dict(), "_name_or_path": None, "attention": backbone.config._attn_implementation}
        special = [tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id]
        computed = [transformers.__version__, *computed_by(next(backbone.parameters()).device)]
        facts = [VERSION, WORDS_AT_A_TIME, backbone.head, config, special, computed, words]
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode())
        for name, tensor in [*backbone.named_parameters(), *backbone.named_buffers()]:
            digest.update(f"{name} {content_hash(tensor)}".encode())
        return digest.hexdigest()

    def _mean_hidden(self, words: list[Pieces]) -> Tensor:
        """(n, d) mean hidden state of each word's pieces."""
        tokenizer, device = self.tokenizer, next(self.backbone.parameters()).device
        before = [] if tokenizer.cls_token_id is None else [tokenizer.cls_token_id]
        after = [] if tokenizer.sep_token_id is None else [tokenizer.sep_token_id]
        room = self.backbone.max_length - len(before) - len(after)
        words = [word[:room] for word in words]
        length = len(before) + max(map(len, words)) + len(after)
        ids = torch.full((len(words), length), tokenizer.pad_token_id or 0)
        mask, inside = torch.zeros_like(ids), torch.zeros(len(words), length)
        for row, word in enumerate(words):
            whole = torch.tensor([*before, *word, *after])
            ids[row, : len(whole)], mask[row, : len(whole)] = whole, 1
            inside[row, len(before) : len(before) + len(word)] = 1 / len(word)
        hidden = self.backbone(ids.to(device), mask.to(device)).float()  # (n, L, d)
        return (hidden * inside.to(device)[..., None]).sum(1)


def _leave_out_shared(reader: WordReader, state: dict[str, Tensor], prefix: str, _: Any) -> None:
    for name in reader._shared:
        del state[prefix + name]


def _put_back_shared(reader: WordReader, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
    for name in reader._shared:
        state[prefix + name] = reader.get_parameter(name)
