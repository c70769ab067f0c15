"""What stands in the place of hidden states, and what is read off it, against examples made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from splade.data.types import TaggedSplit, TextSplit
from splade.evaluation.code_figures import error_share, r_squared
from splade.evaluation.splicing import (
    STRONGEST,
    DenseRead,
    SplicedMeter,
    VarianceMeter,
    joined,
    own_logit_parts,
    read_dense,
    training_vectors,
)
from splade.mechanistic.sae import SparseAutoencoder
from splade.models.dense import DenseClassifier
from splade.tasks import TASKS, Batch, Task
from tests.builders import build_dense, build_model, encode, tagged_sentences, toy_reviews

Name = Literal["classification", "tagging"]


def task_for(dense: DenseClassifier, number: int = 10, seed: int = 0) -> Task:
    split = (
        TaggedSplit(*tagged_sentences(number, seed))
        if dense.task == "tagging"
        else TextSplit(*toy_reviews(number, seed))
    )
    return TASKS.get(dense.task)(split, dense.tokenizer, 24, dense.labels)


@pytest.fixture(params=["classification", "tagging"])
def dense(request: pytest.FixtureRequest, tmp_path: Path) -> DenseClassifier:
    return build_dense(tmp_path, task=request.param, classes=3)


def reads(dense: DenseClassifier, task: Task) -> list[tuple[Batch, DenseRead]]:
    return list(read_dense(dense, task, np.arange(len(task)), 4))


class ByHand(SparseAutoencoder):
    """Codes h⁺ and h⁻ with directions ±eᵢ: an exact one; of which `kept` dimensions are coded, the others are 0."""

    def __init__(self, width: int, kept: int):
        super().__init__()
        self.decoder = nn.Parameter(torch.cat([torch.eye(width)[:kept], -torch.eye(width)[:kept]]))
        self.shift = nn.Parameter(torch.zeros(width))
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("scale", torch.tensor(2.0))
        self.kept = kept

    def encode(self, x: Tensor) -> Tensor:
        return F.relu(torch.cat([x[:, : self.kept], -x[:, : self.kept]], 1))

    def loss(self, x: Tensor, done: float) -> Tensor:
        raise NotImplementedError


def measured(dense: DenseClassifier, task: Task, kept: int) -> SplicedMeter:
    meter = SplicedMeter(ByHand(dense.backbone.hidden_size, kept))
    for batch, read in reads(dense, task):
        meter.add(dense, task, batch, read)
    return meter


@torch.no_grad()
def test_splicing_the_identity_changes_nothing(dense: DenseClassifier) -> None:
    task = task_for(dense)
    for batch, read in reads(dense, task):
        hidden = read.spliced(read.states)
        assert torch.equal(hidden, dense(batch.input_ids, batch.attention_mask))
        assert torch.equal(task.decide(dense, hidden, batch).logits, task.predict(dense, batch).logits)
        other = read.spliced(read.states + 1)
        changed = (other != read.hidden).all(-1).flatten().nonzero()[:, 0]
        assert torch.equal(changed, read.place)  # where the head reads, and nowhere else


def test_the_head_reads_all_positions_of_a_text_and_first_pieces_of_words(dense: DenseClassifier) -> None:
    task = task_for(dense)
    for batch, read in reads(dense, task):
        if dense.task == "tagging":
            assert torch.equal(read.row, torch.arange(len(batch.labels)))
        else:
            assert len(read.place) == int(batch.attention_mask.sum())


@torch.no_grad()
def test_a_logit_is_base_and_features_and_error(dense: DenseClassifier) -> None:
    """Against the head's own affine map on the side of its ReLUs where each row lies."""
    task = task_for(dense)
    autoencoder, head = ByHand(dense.backbone.hidden_size, 5), dense.head
    for batch, read in reads(dense, task):
        meter = SplicedMeter(autoencoder)
        meter.add(dense, task, batch, read)
        [parts] = meter.parts
        counts = read.sum_rows(torch.ones(len(read.row)))
        mean = read.sum_rows(read.states) / counts[:, None]  # (R, d)
        on = (head.fc1(mean) > 0).float()  # (R, H)
        slope = (head.fc2.weight[read.decided] * on) @ head.fc1.weight  # (R, d)
        base = (head.fc2.weight[read.decided] * on) @ head.fc1.bias + head.fc2.bias[read.decided]
        coded = F.pad(mean[:, :5], (0, mean.shape[1] - 5))
        assert parts.logit == pytest.approx(read.logits.amax(1).numpy(), abs=1e-6)
        assert parts.features == pytest.approx((slope * coded).sum(1).numpy(), abs=1e-5)
        assert parts.error == pytest.approx((slope * (mean - coded)).sum(1).numpy(), abs=1e-5)
        assert parts.logit - parts.features - parts.error == pytest.approx(base.numpy(), abs=1e-5)
        # Ten codes, h⁺ and h⁻ of five dimensions, are all there are.
        assert STRONGEST == 10 and parts.strongest == pytest.approx(parts.logit - parts.error, abs=1e-5)


def test_an_exact_code_leaves_no_error_and_an_empty_one_nothing_else(dense: DenseClassifier) -> None:
    task = task_for(dense)
    width = dense.backbone.hidden_size
    variance = VarianceMeter()
    for _, read in reads(dense, task):
        variance.add(read.states)
    exact, half, empty = (measured(dense, task, kept) for kept in (width, width // 2, 0))
    logits = torch.cat([read.logits for _, read in reads(dense, task)])
    torch.testing.assert_close(torch.cat(exact.logits), logits, atol=1e-5, rtol=0)
    assert exact.squares < 1e-6 * variance.total < half.squares < empty.squares
    assert exact.active == exact.positions * width  # h⁺ or h⁻ of every dimension
    shares = [error_share(parts.features, parts.error) for parts in (joined(m.parts) for m in (exact, half, empty))]
    assert shares[0] < 1e-5 and 0.1 < shares[1] < 0.9 and shares[2] == 1


def test_distinct_features_are_counted_once_a_row(dense: DenseClassifier) -> None:
    task = task_for(dense)
    meter = measured(dense, task, 3)
    row = 0
    active = joined(meter.parts).active
    for _, read in reads(dense, task):
        for number in range(len(read.logits)):
            states = read.states[read.row == number][:, :3]
            assert active[row] == (states > 0).any(0).sum() + (states < 0).any(0).sum()
            row += 1


def test_variance_in_parts_is_that_of_the_whole() -> None:
    vectors = torch.randn(50, 4, generator=torch.Generator().manual_seed(0)) + 7
    meter = VarianceMeter()
    for part in vectors.split(17):
        meter.add(part)
    assert meter.total == pytest.approx(float((vectors - vectors.mean(0)).pow(2).sum()), rel=1e-5)


def test_training_vectors_are_of_some_random_texts_and_no_more_than_asked_for(dense: DenseClassifier) -> None:
    task = task_for(dense, 40)
    every = torch.cat([read.states for _, read in reads(dense, task)])
    few, again, other = (training_vectors(dense, task, 60, 4, seed) for seed in (1, 1, 2))
    assert len(few.values) == 60 and len(few.texts) < 40
    assert torch.equal(few.values, again.values) and not torch.equal(few.values, other.values)
    assert float(torch.cdist(few.values.double(), every.double()).amin(1).max()) < 1e-4
    whole = training_vectors(dense, task, 10_000, 4, 1)
    assert len(whole.values) == len(every) and whole.positions == pytest.approx(len(every) / len(task.labels))


def test_our_own_logits_are_words_and_no_error(tmp_path: Path) -> None:
    model = build_model(tmp_path, classes=3)
    ids, mask = encode(model, toy_reviews(12)[0])
    with torch.no_grad():
        state = model.classify(model(ids, mask))
    parts = own_logit_parts(state)
    assert np.abs(parts.error).max() < 1e-5 and error_share(parts.features, parts.error) < 1e-5
    assert parts.active.tolist() == state.rows.counts.tolist()
    few = parts.active <= STRONGEST
    assert parts.strongest[few] == pytest.approx(parts.logit[few], abs=1e-5)
    assert np.abs(parts.strongest[~few] - parts.logit[~few]).min() > 1e-5


def test_shares_of_hand_made_logits() -> None:
    logit = np.array([1.0, 3.0])
    assert r_squared(logit, logit) == 1 and r_squared(logit, np.array([2.0, 2.0])) == 0
    assert r_squared(logit, np.array([1.0, 2.0])) == pytest.approx(0.5) and r_squared(np.ones(3), np.ones(3)) is None
    assert error_share(np.array([3.0, -1.0]), np.array([-1.0, 1.0])) == pytest.approx(2 / 6)
    assert error_share(np.zeros(2), np.zeros(2)) == 0
