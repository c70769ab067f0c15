"""Ablation of active tokens one by one, against heads run by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from splade.mechanistic import ablation
from splade.mechanistic.ablation import ablation_effects, participation
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_model, encode, sparse_rows, toy_reviews


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("model"), classes=3)


@pytest.mark.parametrize("at_a_time", [2**20, 30, 1])
def test_effects_are_logits_less_logits_without(
    model: LexicalSAE, at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ablation, "ENTRIES_AT_A_TIME", at_a_time)
    with torch.no_grad():
        state = model.classify(model(*encode(model, [*toy_reviews(4)[0], ""])))
        classes = torch.tensor([0, 1, 2, 0, 1])
        effects = ablation_effects(model, state, classes)
        for entry in range(len(state.rows)):
            row = int(state.rows.row[entry])
            kept = torch.ones(len(state.rows), dtype=torch.bool)
            kept[entry] = False
            without = model.decide(state.rows.select(kept)).logits[row, classes[row]]
            assert float(effects.value[entry]) == pytest.approx(
                float(state.logits[row, classes[row]] - without), abs=1e-5
            )
    assert len(effects) > 20 and state.rows.counts[-1] == 0


def test_the_effect_of_a_token_alone_is_its_attribution_and_the_change_of_bias(tmp_path: Path) -> None:
    model = build_model(tmp_path)
    with torch.no_grad():
        state = model.decide(sparse_rows({5: 1.0}, vocab_size=model.vocab_size))
        empty = model.decide(sparse_rows({}, vocab_size=model.vocab_size))
    classes = torch.tensor([1])
    share = compute_attribution_tensor(state, classes).value + state.b_eff[:, 1] - empty.b_eff[:, 1]
    torch.testing.assert_close(ablation_effects(model, state, classes).value, share)


def test_participation_by_hand() -> None:
    rows = sparse_rows({1: 2.0, 2: -2.0, 3: 2.0}, {1: 5.0}, {1: 3.0, 2: 1.0}, {}, {1: 0.0})
    found = participation(rows)
    assert found[:3].tolist() == [3.0, 1.0, pytest.approx(16 / 10)]
    assert found[3:].isnan().all()
