"""Words that the tokenizer splits: where they are, and which whole words the untrained backbone reads in them.

Saved models keep the weights of that backbone, not what it read: a change here changes what they read.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from splade.models.backbone import Backbone, frozen_copy
from splade.models.vocabulary import Vocabulary

# Split words read at a time: with 25,000 whole words to rank for each, their scores are 6 MB.
WORDS_AT_A_TIME = 64

# Rows of the decoder gathered at a time: 3 MB.
ROWS_AT_A_TIME = 2048

# Split words remembered before all are forgotten: some 50 MB, and a long-running service meets new ones for ever.
REMEMBERED_WORDS = 100_000


def words_in_pieces(
    vocabulary: Vocabulary, input_ids: Tensor, attended: Tensor
) -> tuple[dict[int, tuple[int, ...]], Tensor]:
    """The words of several pieces in a batch, by number, and the word number (B·L,) of every position (or −1)."""
    groups = vocabulary.word_groups(input_ids, attended).flatten()  # (B·L,): −1 where there is no word
    ids, length = input_ids.flatten(), input_ids.shape[1]
    text = torch.arange(len(ids), device=ids.device) // max(length, 1)
    word = torch.where(groups >= 0, text * length + groups, -1)
    size = torch.bincount(word[word >= 0], minlength=len(ids))  # pieces of each word
    places = ((word >= 0) & (size[word] > 1)).nonzero(as_tuple=True)[0]
    pieces: dict[int, list[int]] = {}
    for number, piece in zip(word[places].tolist(), ids[places].tolist(), strict=True):
        pieces.setdefault(number, []).append(piece)
    return {number: tuple(of_word) for number, of_word in pieces.items()}, word


class SplitWordReader(nn.Module):
    """Ranks whole words by what a frozen copy of the backbone reads in a split word standing alone (*snooze* → nap).

    The copy stays with the model, since about half of all sentences hold a split word that training never met. Word
    embeddings that training leaves alone are not copied but the backbone's own. The rest is rounded to half precision
    at once, which is enough to rank words: so it is saved, and a loaded model reads as the trained one did.
    """

    saved_dtype = torch.float16

    words: Tensor
    weight: Tensor | None
    bias: Tensor

    def __init__(self, backbone: Backbone, vocabulary: Vocabulary, words: Tensor, k: int):
        """`words` (W,): the whole words that may be found; `k`: how many of them a split word gets."""
        super().__init__()
        self.tokenizer, self.k = vocabulary.tokenizer, k
        self.register_buffer("words", words, persistent=False)
        # The untrained decoder, E (W, d) where the copy's embeddings do not tell it, and b (W,).
        weight = None if backbone.decoder_is_embeddings else backbone.decoder_rows(words).half()
        self.register_buffer("weight", weight)
        self.register_buffer("bias", backbone.decoder()[1][words].half())
        self.backbone = frozen_copy(backbone)
        embeddings = backbone.input_embeddings().weight
        self._shared = [name for name, parameter in self.named_parameters() if parameter is embeddings]
        for name, parameter in self.named_parameters():
            if name not in self._shared:
                parameter.copy_(parameter.half())
        self._remembered: dict[tuple[int, ...], Tensor] = {}
        self.register_state_dict_post_hook(_leave_out_shared)
        self.register_load_state_dict_pre_hook(_put_back_shared)

    def train(self, mode: bool = True) -> SplitWordReader:
        return super().train(False)  # its reading of a word must not change

    @torch.no_grad()
    def read(self, words: list[tuple[int, ...]]) -> Tensor:
        """(n, k) nearest whole words of words given by their pieces, remembered between calls.

        A word stands alone between the special tokens; its score for a whole word v is h̄·E[v] + b[v], with h̄ the mean
        of its pieces' hidden states and E, b the untrained decoder.
        """
        if len(self._remembered) > REMEMBERED_WORDS:
            self.forget()
        unknown = sorted({word for word in words if word not in self._remembered}, key=lambda w: (len(w), w))
        for start in range(0, len(unknown), WORDS_AT_A_TIME):
            chunk = unknown[start : start + WORDS_AT_A_TIME]
            near = self.words[self._scores(self._mean_hidden(chunk)).topk(self.k, dim=1).indices]  # (n, k)
            self._remembered.update(zip(chunk, near, strict=True))
        return torch.stack([self._remembered[word].to(self.words.device) for word in words])

    def forget(self) -> None:
        """Drop what is remembered."""
        self._remembered.clear()

    def _scores(self, hidden: Tensor) -> Tensor:
        """(n, W) in float32."""
        scores = self.bias.float().repeat(len(hidden), 1)
        for start in range(0, len(self.words), ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            rows = self.backbone.decoder_rows(self.words[part]) if self.weight is None else self.weight[part].float()
            scores[:, part].addmm_(hidden, rows.T)
        return scores

    def _mean_hidden(self, words: list[tuple[int, ...]]) -> Tensor:
        """(n, d) mean hidden state of each word's pieces."""
        tokenizer, device = self.tokenizer, self.words.device
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


def _leave_out_shared(reader: SplitWordReader, state: dict[str, Tensor], prefix: str, _: Any) -> None:
    for name in reader._shared:
        del state[prefix + name]


def _put_back_shared(reader: SplitWordReader, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
    for name in reader._shared:
        state[prefix + name] = reader.get_parameter(name)
