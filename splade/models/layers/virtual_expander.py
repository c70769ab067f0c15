"""Virtual Polysemy Expansion: several columns of the sparse vector for a token that has several meanings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from splade.models.encoder import SparseSequence


class VirtualExpander(nn.Module):
    """M senses for each of n tokens; at every position one of them, chosen by the hidden state, speaks for the token.

        r = h·R_tᵀ + c_t  (M,),      s[sense m of t] = s[t]·1[m = argmax r]

    One-hot forward, softmax backward: the gradient of 1[m = argmax r] is taken to be that of softmax(r)[m], so that the
    choice learns also from the senses that were not taken. Sense 1 is the token's own column, senses 2 … M are columns
    after the vocabulary. Score and meaning of the token are shared; threshold and weight in the head are each sense's
    own.
    """

    tokens: Tensor
    number: Tensor

    def __init__(self, vocab_size: int, tokens: list[int], starts: Tensor):
        """`starts` (n, M, d): a typical hidden state of each sense; the nearest of them is taken at first."""
        super().__init__()
        self.base_size, self.count = vocab_size, starts.shape[1]
        self.register_buffer("tokens", torch.tensor(tokens, dtype=torch.long), persistent=False)  # (n,)
        number = torch.full((vocab_size,), -1).index_copy(0, self.tokens, torch.arange(len(tokens)))
        self.register_buffer("number", number, persistent=False)  # (V,): which of them a token is, or −1
        # argmin ‖h − start‖² = argmax h·start − ‖start‖²/2, in units of the senses' own distance from one another.
        spread = (starts - starts.mean(1, keepdim=True)).square().sum(-1).mean(1).clamp(min=1e-6)[:, None]  # (n, 1)
        self.weight = nn.Parameter(starts / spread[..., None])  # (n, M, d): R
        self.bias = nn.Parameter(-starts.square().sum(-1) / 2 / spread)  # (n, M): c

    @property
    def extra(self) -> Tensor:
        """(n·(M − 1),) the token that each column after the vocabulary is a sense of."""
        return self.tokens.repeat_interleave(self.count - 1)

    def columns(self, number: Tensor) -> Tensor:
        """(P, M) columns of the senses of the tokens with these numbers (P,)."""
        first = self.base_size + number[:, None] * (self.count - 1)
        later = first + torch.arange(self.count - 1, device=number.device)
        return torch.cat([self.tokens[number][:, None], later], 1)

    def routing(self, sequence: SparseSequence, position: Tensor, number: Tensor) -> Tensor:
        """(P, M) softmax(r) at positions (P,)."""
        hidden = sequence.hidden.reshape(-1, sequence.hidden.shape[-1]).index_select(0, position).float()  # (P, d)
        weight = self.weight.index_select(0, number)  # (P, M, d)
        return ((weight * hidden[:, None]).sum(-1) + self.bias.index_select(0, number)).softmax(-1)

    def expand(
        self, sequence: SparseSequence, position: Tensor, token: Tensor, product: Tensor, others: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Pairs with senses in the place of tokens: position, column, product and taken (N,).

        `taken`: 1 where the sense is the one chosen, with the gradient of its probability; with `others` the senses not
        chosen are there too, with 0, for that gradient's sake.
        """
        number = self.number[token]
        plain, split = (number < 0).nonzero(as_tuple=True)[0], (number >= 0).nonzero(as_tuple=True)[0]
        place, column = position[split], self.columns(number[split])  # (P,), (P, M)
        p = self.routing(sequence, place, number[split])  # (P, M)
        hard = torch.zeros_like(p).scatter(1, p.argmax(1, keepdim=True), 1.0)
        taken = hard + (p - p.detach())  # in this order: exactly 0 or 1
        keep = torch.ones_like(hard, dtype=torch.bool) if others else hard > 0
        wide = keep.shape
        return (
            torch.cat([position[plain], place[:, None].expand(wide)[keep]]),
            torch.cat([token[plain], column[keep]]),
            torch.cat([product[plain], product[split][:, None].expand(wide)[keep]]),
            torch.cat([taken.new_ones(len(plain)), taken[keep]]),
        )
