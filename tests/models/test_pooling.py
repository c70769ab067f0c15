"""Attention pooling against the plain implementation, which holds [B, L, V], and the parts that make it explainable."""

from __future__ import annotations

from unittest.mock import patch

import pytest
import torch
from torch import Tensor

from splade.errors import ConfigError
from splade.models import projection
from splade.models.encoder import LexicalEncoder, SparseSequence
from splade.models.layers.activation import SURROGATE_WINDOW
from splade.models.pooling import POOLINGS
from splade.models.sparse import SparseRows
from tests.models import test_encoder
from tests.models.test_encoder import (
    SUPPORT,
    VOCAB,
    _Sizes,
    build_encoder,
    random_cases,
    random_sequence,
    with_empty_texts,
)


def attention_encoder(support: str, *, exclude_stop_words: bool = True, seed: int = 0) -> LexicalEncoder:
    encoder = build_encoder(support, exclude_stop_words=exclude_stop_words, seed=seed, pooling="attention")
    with torch.no_grad():
        encoder.pooling.query.normal_(generator=torch.Generator().manual_seed(seed))
    return encoder


def plain_pool(sequence: SparseSequence) -> Tensor:
    """(B, V) the definition: all scores, gate with its surrogate gradient, masked, weighted sum over positions."""
    encoder, attended = sequence.encoder, sequence.attention_mask.bool()
    z = sequence.hidden @ encoder.weight.T + encoder.bias  # (B, L, V)
    allowed = torch.stack([s.allows(sequence.input_ids, attended) for s in encoder.supports]).any(0)
    allowed &= ~encoder.get_buffer("suppressed")
    theta, width = encoder.gate.theta, encoder.gate.bandwidth
    distance = (z - theta) / width
    kernel = torch.sigmoid(distance) * (1 - torch.sigmoid(distance)) * (distance.abs() < SURROGATE_WINDOW) / width
    value = z * (z > theta) - (theta * kernel).detach() * (theta - theta.detach())
    score = torch.where(attended, sequence.hidden @ encoder.pooling.query, -torch.inf)
    alpha = torch.where(attended.any(1, keepdim=True), score, 0.0).softmax(1)  # (B, L)
    return (alpha[..., None] * torch.where(allowed, value, 0.0)).sum(1)


def assert_like_the_plain_one(sequence: SparseSequence, tile: int = 512) -> SparseRows:
    # Evaluation drops what only thresholds learn from.
    return test_encoder.assert_like_the_plain_one(sequence, tile, plain_pool, gradient=sequence.encoder.training)


@random_cases(60)
def test_is_the_plain_implementation_in_value_and_gradient(
    support: str, exclude: bool, training: bool, batch: int, length: int, tile: int, seed: int
) -> None:
    encoder = attention_encoder(support, exclude_stop_words=exclude, seed=seed).train(training)
    assert_like_the_plain_one(random_sequence(encoder, batch, length, seed), tile)


@pytest.mark.parametrize("support", SUPPORT)
@pytest.mark.parametrize("training", [True, False])
def test_a_text_without_live_positions_is_empty_and_harms_no_other(support: str, training: bool) -> None:
    rows = assert_like_the_plain_one(with_empty_texts(attention_encoder(support).train(training)))
    assert (rows.to_dense() > 0).any(1).tolist() == [True, False, False]


@pytest.mark.parametrize("support", SUPPORT)
def test_padding_changes_nothing(support: str) -> None:
    encoder = attention_encoder(support).eval()
    short = random_sequence(encoder, 3, 6, seed=6)
    short.attention_mask[:] = 1
    wider = [torch.cat([t, t[:, :2]], 1) for t in (short.hidden, short.input_ids, short.attention_mask)]
    wider[2][:, 6:] = 0
    rows, padded = encoder.pool(short)[0], encoder.pool(SparseSequence(*wider, encoder))[0]
    torch.testing.assert_close(rows.to_dense(), padded.to_dense())
    assert rows.parts is not None and padded.parts is not None
    assert torch.equal(rows.parts.position % 6, padded.parts.position % 8)
    torch.testing.assert_close(rows.parts.share, padded.parts.share)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("support", SUPPORT)
def test_parts_are_what_each_position_adds(support: str, training: bool) -> None:
    encoder = attention_encoder(support).train(training)
    sequence = random_sequence(encoder, 4, 9, seed=2)
    with torch.no_grad():  # in two texts the second half says nearly what the first does
        sequence.attention_mask[2:] = 1
        sequence.input_ids[2:, 4:8] = sequence.input_ids[2:, :4]
        sequence.hidden[2:, 4:8] = 1.1 * sequence.hidden[2:, :4]
    rows, _ = encoder.pool(sequence)
    key = rows.row * VOCAB + rows.token
    assert (key[1:] > key[:-1]).all()
    entry, position, value = rows.by_position()
    assert (entry[1:] >= entry[:-1]).all() and torch.equal(position // 9, rows.row[entry])
    found = torch.zeros(4, 9, VOCAB).index_put((rows.row[entry], position % 9, rows.token[entry]), value)
    expected = encoder.pooling.weights(sequence)[..., None] * sequence.to_dense()  # (B, L, V)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert (torch.bincount(entry) > 1).any()  # some come from several positions, of which the strongest is named
    active = rows.value > 0
    largest = expected[rows.row, :, rows.token].argmax(1)
    assert torch.equal((rows.position % 9)[active], largest[active])


def test_a_selection_takes_its_parts_along() -> None:
    encoder = attention_encoder("full").train()
    rows, _ = encoder.pool(random_sequence(encoder, 4, 9, seed=3))
    keep = torch.arange(len(rows)) % 3 == 0
    chosen = rows.select(keep)
    entry, position, value = rows.by_position()
    mine = keep[entry]
    found = chosen.by_position()
    assert torch.equal(chosen.token[found[0]], rows.token[entry[mine]])
    assert torch.equal(found[1], position[mine]) and torch.equal(found[2], value[mine])


@pytest.mark.parametrize("support", SUPPORT)
def test_no_tensor_of_the_size_of_b_l_v_is_ever_made(support: str) -> None:
    encoder = attention_encoder(support).train()
    sequence = random_sequence(encoder, 8, 24, seed=6)
    with patch.object(projection, "TILE_COLUMNS", 16), _Sizes() as sizes:
        rows, _ = encoder.pool(sequence)
        rows.value.sum().backward()
    assert sizes.largest < 8 * 24 * VOCAB / 4


def test_starts_as_the_mean_of_the_positions() -> None:
    encoder = build_encoder("full", pooling="attention").eval()
    sequence = random_sequence(encoder, 3, 6, seed=4)
    sequence.attention_mask[:] = 1
    torch.testing.assert_close(encoder.pool(sequence)[0].to_dense(), sequence.to_dense().mean(1))


def test_an_unknown_pooling_lists_the_choices() -> None:
    with pytest.raises(ConfigError, match="max, attention"):
        POOLINGS.get("mean")
