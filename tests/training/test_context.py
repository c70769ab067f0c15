"""Training a tagger whose words speak for one another: resumed, it ends in the very same weights; anchors read it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from splade.config.loss_weights import LossWeights
from splade.config.schema import TrainingConfig
from splade.errors import ConfigError
from splade.training.interrupt import Interrupted
from splade.training.loop import Trainer
from tests.models.test_context import build_tagger
from tests.training.test_tagging import SETTINGS, task


def build(folder: Path, run: str, **settings: object) -> Trainer:
    model = build_tagger(folder)
    weights = LossWeights(deletion=1.0)
    config = TrainingConfig(**{**SETTINGS, "loss_weights": weights, "save_every": 3, **settings})  # type: ignore[arg-type]
    tasks = task(model, 24), task(model, 8, 1)
    return Trainer(model, *tasks, config, batch_size=8, seed=3, folder=folder / run)


def test_killed_and_resumed_it_ends_in_the_very_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = build(tmp_path, "whole")
    whole.run()
    cut = build(tmp_path, "cut")
    advance = cut.advance

    def until(*args: object) -> object:
        if cut.step == 4:
            raise Interrupted("killed")
        return advance(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(cut, "advance", until)
    with pytest.raises(Interrupted):
        cut.run()
    again = build(tmp_path, "cut")
    torch.manual_seed(99)
    again.run(resume=True)
    for (name, a), (_, b) in zip(whole.model.state_dict().items(), again.model.state_dict().items(), strict=True):
        assert torch.equal(a, b), name


@pytest.mark.parametrize("anchor, says", [("own_token", True), ("register", False)])
def test_anchors_hear_what_rows_hear(tmp_path: Path, anchor: str, says: bool) -> None:
    """Nothing can act as a register that does not stand where it speaks."""
    trainer = build(tmp_path, "run", anchor=anchor)
    batch = trainer.train_task.batch(range(4))
    state = trainer.train_task.predict(trainer.model, batch)
    assert trainer.learner.objective.anchor is not None
    loss = trainer.learner.objective.anchor(state.sequence, state, batch.labels)
    assert loss.shape == batch.labels.shape and (float(loss.detach().sum()) > 0) == says


def test_an_anchor_that_cannot_hear_them(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot go together with model\.context; choose"):
        build(tmp_path, "run", anchor="frozen_scores")
