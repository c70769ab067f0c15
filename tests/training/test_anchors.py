"""Anchors: each is what its formula says, pulls where it should, learns nothing itself and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F

from splade.config.loss_weights import LossWeights
from splade.config.schema import TrainingConfig
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE
from splade.pipelines import setup_and_train
from splade.training import anchors
from splade.training.anchors import ANCHORS, FrozenScores, OwnToken, Register
from splade.training.objective import TERMS, Objective
from tests.builders import build_model, build_tokenizer, encode, toy_reviews
from tests.runs import ToyRun, weights
from tests.training.test_resume import resume, train_until_killed

TEXTS, LABELS = toy_reviews(8, seed=5)
TARGETS = torch.tensor(LABELS)
KINDS = ["own_token", "frozen_scores", "register"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture
def model(folder: Path) -> LexicalSAE:
    """May fire anywhere, so that every anchor has something to hold."""
    return build_model(folder, "full")


def loss(anchor: anchors.Anchor, texts: list[str] = TEXTS, labels: torch.Tensor = TARGETS) -> torch.Tensor:
    sequence = anchor.model(*encode(anchor.model, texts))
    return anchor(sequence, anchor.model.classify(sequence), labels)


def learn(anchor: anchors.Anchor, steps: int = 15) -> None:
    """Follow the anchor alone."""
    optimizer = torch.optim.AdamW([p for p in anchor.model.parameters() if p.requires_grad], lr=3e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(anchor).sum().backward()
        optimizer.step()


def disturb(model: LexicalSAE) -> None:
    with torch.no_grad():
        for parameter in model.backbone.parameters():
            if parameter.requires_grad:
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))


class TestOwnToken:
    @pytest.mark.parametrize("support", ["full", "neighbourhood"])
    def test_is_a_cross_entropy_over_the_neighbourhood(self, folder: Path, support: str) -> None:
        model = build_model(folder, support)
        anchor = OwnToken(model)
        texts = ["charming film", "a boring unwatchable plot", "the of", ""]
        ids, mask = encode(model, texts)
        z = model(ids, mask).hidden @ model.encoder.weight.T + model.encoder.bias  # (B, L, V)
        allowed = anchor.neighbourhood.allows(ids, mask.bool())
        log_p = z.masked_fill(~allowed, -torch.inf).log_softmax(-1)
        expected = []
        for row in range(len(texts)):
            several = allowed[row].sum(1) > 1  # words that speak for themselves alone do not count
            own = [-log_p[row, at, token] for at, token in enumerate(ids[row].tolist()) if several[at]]
            assert all(allowed[row, at, token] for at, token in enumerate(ids[row].tolist()) if several[at])
            expected.append(torch.stack(own).mean() if own else torch.zeros(()))
        assert expected[0] > 0 and expected[2] == expected[3] == 0
        found = loss(anchor, texts, torch.zeros(4, dtype=torch.long))
        torch.testing.assert_close(found, torch.stack(expected), rtol=1e-4, atol=1e-5)

    def test_makes_words_the_strongest_at_their_place(self, model: LexicalSAE) -> None:
        disturb(model)
        anchor = OwnToken(model)
        before = loss(anchor).mean()
        learn(anchor)
        assert loss(anchor).mean() < 0.7 * before


class TestFrozenScores:
    def test_is_nothing_at_the_start_and_something_later(self, model: LexicalSAE) -> None:
        anchor = FrozenScores(model)
        torch.testing.assert_close(loss(anchor), torch.zeros(8), rtol=0, atol=1e-5)
        disturb(model)
        assert (loss(anchor) > 0.01).all()

    def test_is_the_divergence_over_the_frozen_top_and_what_is_active(self, model: LexicalSAE) -> None:
        anchor = FrozenScores(model)
        ids, mask = encode(model, TEXTS)
        frozen = model(ids, mask).hidden @ model.encoder.weight.T + model.encoder.bias  # (B, L, V)
        disturb(model)
        sequence = model(ids, mask)
        state = model.classify(sequence)
        z = sequence.hidden @ model.encoder.weight.T + model.encoder.bias
        compared = torch.zeros(z.shape, dtype=torch.bool)
        compared.scatter_(2, frozen.topk(3).indices, True)
        compared.view(-1, z.shape[-1])[state.rows.position, state.rows.token] = True
        p, q = (scores.masked_fill(~compared, -torch.inf).log_softmax(-1) for scores in (frozen, z))
        kl = torch.where(compared, p.exp() * (p - q), 0.0).sum(-1)  # (B, L)
        words = mask.bool() & ~model.vocabulary.special[ids]
        with (
            patch.object(anchors, "FROZEN_TOP", 3),
            patch.object(anchors, "FROZEN_TEXTS", 1.0),
            patch.object(anchors, "FROZEN_POSITIONS", 10_000),
        ):
            found = anchor(sequence, state, TARGETS)
        torch.testing.assert_close(found, kl[words].mean().expand(8), rtol=1e-4, atol=1e-5)

    def test_leads_back_to_what_the_backbone_said(self, model: LexicalSAE) -> None:
        anchor = FrozenScores(model)
        disturb(model)
        torch.manual_seed(0)
        before = loss(anchor)[0]
        learn(anchor)
        torch.manual_seed(0)
        assert loss(anchor)[0] < 0.7 * before

    def test_its_backbone_neither_learns_nor_copies_frozen_embeddings(self, model: LexicalSAE) -> None:
        anchor = FrozenScores(model)
        before = {name: p.clone() for name, p in anchor.backbone.named_parameters()}
        learn(anchor, 2)
        assert all(torch.equal(p, before[name]) for name, p in anchor.backbone.named_parameters())
        assert anchor.backbone.input_embeddings().weight is model.backbone.input_embeddings().weight
        assert anchor.weight.data_ptr() == model.encoder.weight.data_ptr()  # it does not learn either
        assert anchor.weight.shape == (model.vocabulary.tokens, 32)

    def test_the_sample_follows_the_seed(self, model: LexicalSAE) -> None:
        anchor = FrozenScores(model)
        disturb(model)
        figures = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            figures.append(loss(anchor)[0].item())
        assert figures[0] == figures[1] != figures[2]

    @pytest.mark.parametrize("texts", [[""], ["", "good"]])
    def test_texts_without_a_word(self, model: LexicalSAE, texts: list[str]) -> None:
        found = loss(FrozenScores(model), texts, torch.zeros(len(texts), dtype=torch.long))
        assert found.isfinite().all()


class TestRegister:
    def test_a_neighbourhood_has_no_token_that_is_not_there(self, folder: Path) -> None:
        model = build_model(folder, "neighbourhood")
        with patch.object(anchors, "LARGEST_SHARE", 1.0):
            assert not loss(Register(model), [*TEXTS[:7], "unwatchable makers"]).any()

    def test_counts_what_is_not_there_and_what_is_too_heavy(self, model: LexicalSAE) -> None:
        anchor = Register(model)
        sequence = model(*encode(model, TEXTS))
        state = model.classify(sequence)
        size = compute_attribution_tensor(state, TARGETS).to_dense().abs()  # (R, V)
        there = anchor.neighbourhood.allows(sequence.input_ids, sequence.attention_mask.bool()).any(1)
        there = there.scatter(1, sequence.input_ids, True)
        absent = (size * ~there).sum(1) / size.sum(1)
        heavy = F.relu(size.sum(0) / size.sum() - 0.1).sum()
        assert (absent > 0).any()
        torch.testing.assert_close(anchor(sequence, state, TARGETS), absent + heavy, rtol=1e-4, atol=1e-5)

    def test_one_token_that_carries_everything_is_felt(self, folder: Path) -> None:
        model = build_model(folder, "neighbourhood")
        assert loss(Register(model), ["charming"] * 4, TARGETS[:4]).min() > 0
        sequence = model(*encode(model, TEXTS))
        rows, scores = model.encoder.pool(sequence)
        only = rows.with_value(rows.value * (rows.token == rows.token.mode().values))
        found = Register(model)(sequence, model.decide(only, scores), TARGETS)
        torch.testing.assert_close(found, torch.full((8,), 0.9))

    def test_learns_to_rely_on_what_is_there(self, model: LexicalSAE) -> None:
        anchor = Register(model)
        before = loss(anchor).mean()
        learn(anchor, 30)
        assert loss(anchor).mean() < 0.7 * before


@pytest.mark.parametrize("kind", KINDS)
def test_words_with_several_senses_are_held_too(folder: Path, kind: str) -> None:
    good = build_tokenizer().convert_tokens_to_ids(["good"])
    model = build_model(folder, "full", senses=2, chosen=(good, torch.randn(1, 2, 32)))
    anchor = ANCHORS.get(kind)(model)
    disturb(model)
    assert torch.isfinite(loss(anchor)).all() and loss(anchor).sum() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_padding_counts_for_nothing(model: LexicalSAE, kind: str) -> None:
    anchor = ANCHORS.get(kind)(model)
    disturb(model)
    ids, mask = encode(model, TEXTS)
    # Not the padding token: a word that would be held if it were read.
    padded = torch.cat([ids, ids[0, 2].expand(8, 5)], 1), torch.cat([mask, mask.new_zeros(8, 5)], 1)
    with patch.object(anchors, "FROZEN_TEXTS", 1.0), patch.object(anchors, "FROZEN_POSITIONS", 10_000):
        found = [anchor(sequence, model.classify(sequence), TARGETS) for sequence in (model(ids, mask), model(*padded))]
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)
    assert found[0].sum() > 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("circuit_phase", [False, True])
def test_takes_part_in_both_phases_by_its_weight(model: LexicalSAE, kind: str, circuit_phase: bool) -> None:
    anchor = ANCHORS.get(kind)(model)
    disturb(model)
    sequence = model(*encode(model, TEXTS))
    state = model.classify(sequence)
    config = TrainingConfig(loss_weights=LossWeights(anchor=0.5))
    plain, _ = Objective(2, model.vocab_size, config)(model, state, TARGETS, circuit_phase, 1.0, sequence)
    objective = Objective(2, model.vocab_size, config, anchor=anchor)
    anchored, totals = objective(model, state, TARGETS, circuit_phase, 1.0, sequence)
    term = totals.sums[TERMS.index("anchor")].item()
    assert term > 0
    assert (anchored - plain).item() == pytest.approx(0.5 * term, rel=1e-3)
    assert not any("anchor" in name for name in [*objective.state_dict(), *dict(objective.named_parameters())])


@pytest.mark.parametrize("kind", ["frozen_scores"])
def test_a_run_that_was_killed_ends_with_the_same_weights(toy_run: ToyRun, tmp_path: Path, kind: str) -> None:
    changes = {"training__anchor": kind, "model__support": "full"}
    setup_and_train(toy_run.config(tmp_path / "whole", **changes))
    train_until_killed(toy_run, tmp_path / "cut", 11, **changes)
    resume(toy_run, tmp_path / "cut", **changes)
    assert weights(tmp_path / "cut") == weights(tmp_path / "whole")
