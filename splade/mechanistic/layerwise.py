"""Layer by layer: what each layer of the backbone adds to a prediction's reasons, and after which layer they are there.

Two questions about the tokens that are active in a row, with contributions a[j] to the class decided on:

- *bypass*: the layer hands its input on unchanged, everything after it runs again, and a'[j] are the contributions to
  the same class then. Nothing is approximated, but what follows sees states it was not trained on;
- *logit lens*: the state after each layer goes through the backbone's own head, the vocabulary scores, the gate and the
  head of words, as if no further layer came. After the last layer this is the prediction itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.encoder import SparseSequence
from splade.models.protocol import LexicalModel
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState


@dataclass(frozen=True)
class Bypass:
    """What is left of some rows' reasons without a layer; the sums are over the tokens active with it, unless said."""

    size: Tensor
    """(R,) Σ|a[j]|."""
    kept: Tensor
    """(R,) Σ sign(a[j])·a'[j]: as `size` if nothing changed, negative if contributions turned round."""
    silenced: Tensor
    """(R,) Σ|a[j]| of the tokens that are not active without the layer."""
    new: Tensor
    """(R,) Σ|a'[j]| of the tokens that are active only without it …"""
    size_without: Tensor
    """(R,) … and of all that are."""
    flipped: Tensor
    """(R,) bool: another class is the most probable."""


@torch.no_grad()
def bypass_layers(
    model: LexicalModel, predict: Callable[[], CircuitState], state: CircuitState, classes: Tensor
) -> list[Bypass]:
    """Each layer of a model bypassed in turn, while `predict` predicts again what it predicted in `state`.

    `classes` (R,) are those whose contributions are compared.
    """
    attribution = compute_attribution_tensor(state, classes)
    out = []
    for layer in range(model.backbone.layers):
        with model.backbone.bypass_layer(layer):
            without = predict()
        out.append(compare(attribution, compute_attribution_tensor(without, classes), state.logits, without.logits))
    return out


def compare(attribution: SparseRows, without: SparseRows, logits: Tensor, logits_without: Tensor) -> Bypass:
    """Contributions with and without something, of the same rows to the same classes; logits (R, C) of both."""
    there, value = _values_at(without, attribution)
    back, _ = _values_at(attribution, without)
    size, size_without = attribution.value.abs(), without.value.abs()
    return Bypass(
        attribution.sum_rows(size),
        attribution.sum_rows(attribution.value.sign() * value),
        attribution.sum_rows(size * ~there),
        without.sum_rows(size_without * ~back),
        without.sum_rows(size_without),
        logits.argmax(-1) != logits_without.argmax(-1),
    )


def _values_at(source: SparseRows, entries: SparseRows) -> tuple[Tensor, Tensor]:
    """Whether each entry (N,), by its row and token, is in `source` too, and its value (N,) there, else 0."""
    known, wanted = (rows.row * rows.vocab_size + rows.token for rows in (source, entries))  # ascending, as rows are
    if len(known) == 0:
        return torch.zeros_like(wanted, dtype=torch.bool), torch.zeros_like(entries.value)
    place = torch.searchsorted(known, wanted).clamp(max=len(known) - 1)
    there = known[place] == wanted
    return there, torch.where(there, source.value[place], 0.0)


@dataclass(frozen=True)
class Lens:
    """A prediction read after 0, 1, … n layers, the last being the prediction itself."""

    state: CircuitState
    """The prediction."""
    settled: Tensor
    """(N,) after how many layers each of its entries is there to stay: above its threshold, and among as many of the
    row's most active tokens as are active in the end."""
    active: Tensor
    """(n + 1, R) active tokens."""
    agrees: Tensor
    """(n + 1, R) bool: the most probable class is that of the prediction."""


@torch.no_grad()
def read_layers(
    model: LexicalModel,
    input_ids: Tensor,
    attention_mask: Tensor,
    decide: Callable[[SparseSequence], CircuitState],
) -> Lens:
    """Read a batch (B, L) after each layer of a model's backbone; `decide` makes a prediction of what was encoded."""
    with model.autocast():
        hidden = model.backbone.after_each_layer(input_ids, attention_mask)  # (B, L, d) each
    sequences = [SparseSequence(each, input_ids, attention_mask, model.encoder) for each in hidden]
    final = decide(sequences.pop())
    rows, classes = final.rows, final.logits.argmax(-1)
    settled = torch.full_like(rows.token, len(sequences))
    active, agrees = [rows.counts], [torch.ones_like(classes, dtype=torch.bool)]
    for layer in reversed(range(len(sequences))):  # one prediction at a time, since early ones may have many tokens
        state = decide(sequences[layer])
        stays = (settled == layer + 1) & among_strongest(rows, state.rows)
        settled = torch.where(stays, layer, settled)
        active.append(state.rows.counts)
        agrees.append(state.logits.argmax(-1) == classes)
    return Lens(final, settled, torch.stack(active[::-1]), torch.stack(agrees[::-1]))


def among_strongest(entries: SparseRows, others: SparseRows) -> Tensor:
    """(N,) bool: which entries are, by row and token, among the most active of `others`, as many as the row has."""
    kept = others.select(others.rank_in_row(others.value) < entries.counts[others.row])
    return _values_at(kept, entries)[0]
