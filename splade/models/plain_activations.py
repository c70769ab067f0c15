"""The activations that a sparse sequence stands for, by the plain formula: for small inputs, and for tests to compare
with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from splade.models.context import Context

if TYPE_CHECKING:
    from splade.models.encoder import LexicalEncoder, SparseSequence


def dense_activations(encoder: LexicalEncoder, sequence: SparseSequence) -> Tensor:
    """(B, L, V) gated activations; with a `context`, those that the word at a position hears."""
    if sequence.words is not None and encoder.context is not None:
        return _with_context(encoder, sequence, encoder.context)
    allowed = _allowed(encoder, sequence)
    z = sequence.hidden.float() @ encoder.weight.T + encoder.bias  # (B, L, tokens): after words met now have their rows
    if encoder.senses is not None:
        z, allowed = z[..., encoder.base], allowed[..., encoder.base] & _chosen(encoder, sequence)  # (B, L, V)
    allowed &= ~encoder.suppressed
    everything = torch.arange(encoder.vocab_size, device=z.device).expand_as(z)
    value = encoder.gate(z.flatten(), everything.flatten()).view_as(z)
    return torch.where(allowed, value, 0.0)


def _allowed(encoder: LexicalEncoder, sequence: SparseSequence) -> Tensor:
    """(B, L, tokens) bool: what some support lets speak, and nothing that is removed."""
    asked = None if sequence.words is not None else sequence.asked
    allowed = torch.stack(
        [s.allows(sequence.input_ids, sequence.speaking, asked, sequence.words) for s in encoder.supports]
    ).any(0)
    left_out = encoder.left_out()
    return allowed if left_out is None else allowed & ~left_out


def _with_context(encoder: LexicalEncoder, sequence: SparseSequence, context: Context) -> Tensor:
    """[R, V] activations, each row at the place of its word's first piece."""
    allowed = _allowed(encoder, sequence)
    hidden, allowed = sequence.hidden.flatten(0, 1).float(), (allowed & ~encoder.suppressed).flatten(0, 1)  # (B·L, T)
    out = torch.zeros(len(hidden), encoder.vocab_size, device=hidden.device)
    tokens = torch.arange(len(encoder.bias), device=hidden.device)
    for here, role, there in zip(*(each.tolist() for each in context.heard(sequence)), strict=True):
        state = context.mix[role] @ torch.cat([hidden[there], hidden[here]])  # (d,)
        value = encoder.gate(encoder.weight.float() @ state + encoder.bias, tokens)
        out[here, role * len(tokens) : (role + 1) * len(tokens)] = torch.where(allowed[there], value, 0.0)
    return out.view(*sequence.input_ids.shape, -1)


def _chosen(encoder: LexicalEncoder, sequence: SparseSequence) -> Tensor:
    """(B, L, V) bool: columns of tokens without senses, and of each position's chosen sense."""
    assert encoder.senses is not None
    place = torch.arange(sequence.input_ids.numel(), device=encoder.base.device)
    chosen = torch.ones(len(place), encoder.vocab_size, dtype=torch.bool, device=encoder.base.device)
    for number in torch.arange(len(encoder.senses.tokens), device=encoder.base.device):
        p = encoder.senses.routing(sequence, place, number.expand(len(place)))  # (B·L, M)
        chosen[:, encoder.senses.columns(number[None])[0]] = F.one_hot(p.argmax(1), p.shape[1]).bool()
    return chosen.view(*sequence.input_ids.shape, -1)
