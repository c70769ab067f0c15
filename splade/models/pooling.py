"""Poolings: how the activations at a row's positions, those of a text or of a word, become one sparse row. One class a
kind, behind `POOLINGS`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from splade.models.projection import best_position
from splade.models.sparse import Parts, SparseRows, group_log_softmax
from splade.registry import Registry

if TYPE_CHECKING:
    from splade.models.encoder import LexicalEncoder, SparseSequence

POOLINGS: Registry[type[Pooling]] = Registry("pooling")

# Taken off the score of a sense that was not chosen where the best position is looked for: any chosen one is better.
OUT_OF_REACH = 1e6


class Pooling(nn.Module, ABC):
    """Base of all poolings."""

    of_views: ClassVar[bool] = False
    """Whether it pools positions as the rows around them hear them (`Context`); else only as they are."""

    def __init__(self, width: int):
        """`width`: of the hidden states."""
        super().__init__()

    def calibrate(self, length: float) -> None:
        """Learn how many positions an average row has, before training."""

    @abstractmethod
    def forward(self, encoder: LexicalEncoder, sequence: SparseSequence) -> tuple[SparseRows, Tensor]:
        """Rows of all pairs above the encoder's floor, and the highest score z (N,) of each entry."""


@POOLINGS.register("max")
class MaxPooling(Pooling):
    """s[v] = max_l gate(z[l, v]): each active token came from one position, its best.

    A gate is monotone in z, so the maximum is taken first and only one score a (row, token) is gated.
    """

    of_views = True

    def forward(self, encoder: LexicalEncoder, sequence: SparseSequence) -> tuple[SparseRows, Tensor]:
        views = sequence.views
        view, token, product, taken = _columns(encoder, sequence, everywhere=encoder.senses is not None)
        # A token has one bias wherever it stands, so the higher product is the higher score.
        rank = product if taken is None else torch.where(taken > 0.5, product, product - OUT_OF_REACH)
        best = best_position(views.row[view], token, rank, encoder.vocab_size)
        view, token, taken = view[best], token[best], None if taken is None else taken[best]
        z, value = encoder.activate(sequence, view, token, product[best], taken)
        size = sequence.num_rows, encoder.vocab_size
        return SparseRows(views.row[view], token, views.position[view], value, *size), z


@POOLINGS.register("attention")
class AttentionPooling(Pooling):
    """s[v] = g·Σ_l α_l·gate(z[l, v]),  α = softmax over the row's positions of a learned score q·h_l.

    The constant g, the length of an average row, makes a token that fires once about as large as under a maximum: the
    heads' learning rates are made for values of that size. α is the same for all
    tokens and starts even (q = 0). An entry's value is a known sum over positions, kept beside it as `parts`, so that
    scores of input words stay exact. Only pairs that may pass the gate are ever held.
    """

    gain: Tensor

    def __init__(self, width: int):
        super().__init__(width)
        self.query = nn.Parameter(torch.zeros(width))  # q
        self.register_buffer("gain", torch.ones(()))  # g

    def calibrate(self, length: float) -> None:
        self.gain.fill_(length)

    def weights(self, sequence: SparseSequence) -> Tensor:
        """(B, L) g·α; zero at positions of no row."""
        score, row = (sequence.hidden.float() @ self.query).flatten(), sequence.row_of_position  # (B·L,)
        place = (row >= 0).nonzero(as_tuple=True)[0]
        alpha = group_log_softmax(score[place], row[place], sequence.num_rows).exp()
        return torch.zeros_like(score).index_copy(0, place, alpha * self.gain).view_as(sequence.input_ids)

    def forward(self, encoder: LexicalEncoder, sequence: SparseSequence) -> tuple[SparseRows, Tensor]:
        places = sequence.input_ids.numel()
        position, token, product, taken = _columns(encoder, sequence, everywhere=True)
        row = sequence.row_of_position[position]
        key = (row * encoder.vocab_size + token) * places + position  # by row, token and position
        key, order = torch.sort(key, stable=True)
        first = torch.ones_like(key, dtype=torch.bool)
        first[1:] = key[1:] != key[:-1]  # a pair that two supports propose counts once
        once = order[first]
        position, token, product = position[once], token[once], product[once]
        taken = None if taken is None else taken[once]
        pairs, entry = torch.unique_consecutive(key[first] // places, return_inverse=True)  # (N,), (M,)

        z, value = encoder.activate(sequence, position, token, product, taken)  # (M,)
        part = value * self.weights(sequence).flatten().index_select(0, position)
        value = part.new_zeros(len(pairs)).index_add(0, entry, part)  # (N,)
        share = part.detach() / value.detach().index_select(0, entry).clamp(min=torch.finfo(part.dtype).tiny)
        row, column = pairs // encoder.vocab_size, pairs % encoder.vocab_size
        strongest = position[best_position(row[entry], token, share, encoder.vocab_size)]
        highest = best_position(row[entry], token, z.detach(), encoder.vocab_size)  # (N,): one a pair, in their order
        spoke = share > 0
        parts = Parts(entry[spoke], position[spoke], share[spoke])
        size = sequence.num_rows, encoder.vocab_size
        return SparseRows(row, column, strongest, value, *size, parts), z.index_select(0, highest)


def _columns(
    encoder: LexicalEncoder, sequence: SparseSequence, *, everywhere: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Pairs above the encoder's floor: view, column, product h·E and, where there are senses, taken (N,)."""
    view, token, product = encoder.propose(sequence, encoder.floor(), everywhere=everywhere)
    if encoder.senses is None:
        return view, encoder.columns(sequence, view, token), product, None
    return encoder.senses.expand(sequence, view, token, product, others=encoder.training)


@torch.no_grad()
def active_pairs(encoder: LexicalEncoder, sequence: SparseSequence) -> tuple[Tensor, Tensor, Tensor]:
    """Position, column and value (N,) of all activations above zero: `LexicalEncoder.dense` without its zeros.

    A pair that several supports propose is there several times, and so is one that several rows hear.
    """
    view, column, product, taken = _columns(encoder, sequence, everywhere=True)
    _, value = encoder.activate(sequence, view, column, product, taken)
    active = value > 0
    return sequence.views.position[view[active]], column[active], value[active]
