"""The loop keeps what it validated, never a warm-up, and says why when it cannot train."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from splade.circuits.geco import GECOController, bound_from_accuracy
from splade.config.loss_weights import LossWeights
from splade.config.schema import TrainingConfig
from splade.data.types import TextSplit
from splade.errors import CheckpointError, TrainingError
from splade.evaluation.mechanistic import all_logits
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask
from splade.training import memory
from splade.training.checkpoint import newest_checkpoint
from splade.training.loop import Trainer
from splade.training.memory import choose_batch_size
from splade.training.objective import Objective
from splade.training.optim import trainable
from splade.training.progress import TrainingProgress
from splade.training.validation import Validation
from tests.builders import build_model, toy_reviews

SETTINGS: dict[str, object] = {
    "optimizer": "schedule_free",
    "learning_rate": 1e-3,
    "head_learning_rate": 1e-2,
    "lr_warmup_steps": 2,
    "active_target": 10.0,
    "log_every": 1,
    "eval_every": 2,
}


def task(model: LexicalSAE, size: int, seed: int = 0) -> ClassificationTask:
    return ClassificationTask(TextSplit(*toy_reviews(size, seed)), model.tokenizer, 24)


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Trainer]:
    def trainer(rows: int = 64, batch_size: int = 16, folder: Path | None = None, **settings: object) -> Trainer:
        model = build_model(tmp_path, active=10)
        config = TrainingConfig(**{**SETTINGS, **settings})  # type: ignore[arg-type]
        return Trainer(
            model, task(model, rows), task(model, 32, 1), config, batch_size=batch_size, seed=3, folder=folder
        )

    return trainer


def script_validation(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch, figures: Callable[[int], tuple[float, float]]
) -> None:
    """Let validation after each step find these (accuracy, active tokens)."""

    def scripted() -> Validation:
        accuracy, active = figures(trainer.step)
        return Validation("accuracy", accuracy, 0.5, active)

    monkeypatch.setattr(trainer, "validate", scripted)


class TestChoice:
    def test_the_weights_are_the_averaged_ones_that_were_validated(
        self, build: Callable[..., Trainer], tmp_path: Path
    ) -> None:
        trainer = build(folder=tmp_path / "run", epochs=3)
        outcome = trainer.run()
        found = all_logits(trainer.model, trainer.validation_task, 64).argmax(-1).numpy()
        gold = trainer.validation_task.labels
        assert outcome.validation["accuracy"] == pytest.approx(float((found == gold).mean()), abs=1e-9)
        with torch.no_grad():
            assert trainer.validate().figures() == pytest.approx(outcome.validation, abs=1e-6)
        lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
        reported = [line["validation"] for line in lines if "validation" in line and line["step"] == outcome.kept_step]
        assert reported == [pytest.approx(outcome.validation)]

    def test_the_weights_are_the_average_and_not_the_point_gradients_are_taken_at(
        self, build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Schedule-Free trains at y = (1 − β)·z + β·x; the model is x."""
        trainer = build(epochs=2)
        script_validation(trainer, monkeypatch, lambda step: (0.01 * step, 5.0))  # the last step is the best
        validate, seen = trainer._validate_and_select, []

        def noting(progress: TrainingProgress) -> bool:
            weight = trainer.model.head.out.weight  # type: ignore[union-attr]
            seen.append((weight.detach().clone(), trainer.learner.optimizer.state[weight]["z"].clone()))
            return validate(progress)

        monkeypatch.setattr(trainer, "_validate_and_select", noting)
        assert trainer.run().kept_step == trainer.total
        (y, z), beta = seen[-1], trainer.learner.optimizer.param_groups[0]["betas"][0]
        x = (y - (1 - beta) * z) / beta
        torch.testing.assert_close(trainer.model.head.out.weight.detach(), x, atol=1e-6, rtol=0)  # type: ignore[union-attr]
        assert float((x - y).abs().max()) > 1e-4

    @pytest.mark.parametrize("active", [5.0, 500.0])  # the constraint satisfied, or by no checkpoint
    def test_is_never_a_warmup_checkpoint(
        self, build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch, active: float
    ) -> None:
        trainer = build(epochs=2, eval_every=1, warmup_fraction=0.5)  # 8 steps, 4 of them warm-up
        script_validation(trainer, monkeypatch, lambda step: (1.0 if step <= 4 else 0.1 * step, active))
        outcome = trainer.run()
        assert (outcome.kept_step, outcome.validation["accuracy"]) == (8, 0.8)

    def test_without_circuit_phase_every_checkpoint_counts(
        self, build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trainer = build(epochs=2, eval_every=1, recipe="baseline")
        script_validation(trainer, monkeypatch, lambda step: (1.0 if step == 2 else 0.5, 500.0))
        outcome = trainer.run()
        assert (outcome.kept_step, outcome.satisfied, outcome.tau) == (2, True, None)

    def test_a_sparse_model_beats_a_more_accurate_dense_one(
        self, build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trainer = build(epochs=2, eval_every=1, warmup_fraction=0.5)
        script_validation(trainer, monkeypatch, lambda step: (0.7, 5.0) if step == 6 else (0.9, 50.0))
        outcome = trainer.run()
        assert (outcome.kept_step, outcome.satisfied) == (6, True)

    def test_an_earlier_step_is_kept_as_it_was(
        self, build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trainer = build(epochs=2, eval_every=1, warmup_fraction=0.5)
        seen: dict[int, dict[str, torch.Tensor]] = {}

        def figures(step: int) -> tuple[float, float]:
            seen[step] = {name: p.detach().clone() for name, p in trainable(trainer.model).items()}
            return (0.9 if step == 6 else 0.5), 5.0

        script_validation(trainer, monkeypatch, figures)
        trainer.run()
        for name, parameter in trainable(trainer.model).items():  # thresholds too
            assert torch.equal(parameter, seen[6][name]), name
            if any(part in name for part in ("gate", "head", "dense.weight")):
                assert not torch.equal(parameter, seen[8][name]), name

    def test_a_checkpoint_holds_the_average_that_was_validated(
        self, build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        trainer = build(folder=tmp_path / "run", epochs=2)
        script_validation(trainer, monkeypatch, lambda step: (0.01 * step, 5.0))  # the last step is the best
        assert trainer.run().kept_step == trainer.total
        checkpoint, _ = newest_checkpoint(tmp_path / "run" / "checkpoints")
        for name, parameter in trainable(trainer.model).items():
            assert torch.equal(checkpoint.tensors[f"kept.{name}"], parameter)


class TestSteps:
    def test_accumulated_batches_are_one_large_batch(
        self, build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two batches of 8 give the weights of one of 16, through both phases; but for the deletion loss, which draws
        its texts batch by batch."""
        weights = LossWeights(deletion=0.0)
        whole = build(loss_weights=weights)
        halves = build(batch_size=8, gradient_accumulation_steps=2, loss_weights=weights)
        large = whole.batches.epoch
        monkeypatch.setattr(
            halves.batches, "epoch", lambda epoch: [half for b in large(epoch) for half in (b[:8], b[8:])]
        )
        assert whole.total == halves.total == 8
        outcomes = [whole.run(), halves.run()]
        assert outcomes[0].validation == pytest.approx(outcomes[1].validation, abs=1e-3)
        for (name, one), two in zip(whole.model.named_parameters(), halves.model.parameters(), strict=True):
            if "key.bias" not in name:  # attention ignores it: its gradient is rounding, which Adam blows up
                torch.testing.assert_close(one, two, atol=2e-4, rtol=0, msg=lambda text, name=name: f"{name}: {text}")

    def test_lambda_moves_once_an_optimiser_step(
        self, build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However many batches a step accumulates; and the warm-up is noted once a step alike."""
        trainer = build(batch_size=8, gradient_accumulation_steps=2)
        steps: list[float] = []
        step = GECOController.step
        monkeypatch.setattr(GECOController, "step", lambda self, *args: steps.append(args[0]) or step(self, *args))  # type: ignore[func-returns-value]
        trainer.run()
        assert len(steps) == trainer.total - trainer.warmup == 5
        assert len(trainer.learner.geco.recent) == trainer.warmup == 3

    @pytest.mark.parametrize("dropout", [True, False])
    def test_every_step_is_taken_in_training_mode(
        self, dropout: bool, build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """Validating and saving evaluate: without dropout, and blind to tokens just below their thresholds. The
        backbone drops only where the settings say so."""
        trainer = build(folder=tmp_path / "run", eval_every=1, save_every=1, dropout=dropout)
        advance, modes = trainer.learner.advance, []

        def noting(*args: object) -> object:
            parts = trainer.model, trainer.model.encoder, trainer.model.backbone  # type: ignore[union-attr]
            modes.append(tuple(part.training for part in parts))
            return advance(*args)  # type: ignore[arg-type]

        monkeypatch.setattr(trainer.learner, "advance", noting)
        trainer.run()
        assert modes == [(True, True, dropout)] * trainer.total
        assert not trainer.model.training  # and what is left is ready for use

    def test_thresholds_stay_in_the_warmup_and_rise_in_the_circuit_phase(self, build: Callable[..., Trainer]) -> None:
        """Shut early, a token would get no gradient to learn from; never shut, the L0 pressure would not bite."""
        trainer = build(active_target=2.0)
        raw = trainer.model.encoder.gate.raw  # type: ignore[union-attr]
        before = raw.detach().clone()
        trainer.start()
        while trainer.step < trainer.warmup:
            trainer.advance()
        assert torch.equal(raw, before)
        while trainer.step < trainer.total:
            trainer.advance()
        assert (raw - before).mean() > 0 and (raw - before).max() > 0.01

    def test_lambda_weighs_the_cross_entropy(
        self, build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trainer = build()
        forward, seen = Objective.forward, []

        def noting(self: Objective, *args: object) -> object:
            seen.append((args[3], args[4], trainer.learner.geco.weight))
            return forward(self, *args)  # type: ignore[arg-type]

        monkeypatch.setattr(Objective, "forward", noting)
        trainer.run()
        weights = [weight for circuit, weight, _ in seen if circuit]
        assert weights == [weight for circuit, _, weight in seen if circuit]
        assert len(set(weights)) == trainer.total - trainer.warmup  # it moves

    def test_gradients_are_centralised_in_the_backbone_and_not_in_the_head(
        self, build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trainer, off = build(), {}

        def look() -> None:
            for name, p in trainer.model.named_parameters():
                if p.grad is not None and p.ndim > 1 and p.grad.any():
                    off[name] = float(p.grad.mean(1).abs().max() / p.grad.abs().max())

        monkeypatch.setattr(trainer.learner.optimizer, "step", look)
        trainer.start()
        trainer.advance()
        inside = {name for name in off if name.startswith("backbone.")}
        assert inside and max(off[name] for name in inside) < 1e-4
        assert off["head.words"] > 1e-2 and off["head.out.weight"] > 1e-2

    def test_a_target_accuracy_overrides_tau(self, build: Callable[..., Trainer]) -> None:
        assert build(target_accuracy=0.9).run().tau == pytest.approx(bound_from_accuracy(0.9, 2))
        assert build().run().tau != pytest.approx(bound_from_accuracy(0.9, 2), rel=0.01)
        smoothed = build(target_accuracy=0.9, label_smoothing=0.1).run().tau
        assert smoothed == pytest.approx(bound_from_accuracy(0.9, 2, 0.1))

    def test_a_target_accuracy_that_guessing_has_is_refused(self, build: Callable[..., Trainer]) -> None:
        with pytest.raises(TrainingError, match=r"target accuracy is 0\.5, which guessing among 2 classes"):
            build(target_accuracy=0.5)

    @pytest.mark.parametrize(("recipe", "relaxed"), [("lexical_sae", True), ("cajt", False)])
    def test_tau_follows_the_density_where_the_recipe_says_so(
        self, build: Callable[..., Trainer], recipe: str, relaxed: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trainer = build(recipe=recipe, active_target=2.0)
        seen: list[float] = []
        step = GECOController.step
        monkeypatch.setattr(GECOController, "step", lambda self, *args: seen.append(args[1]) or step(self, *args))  # type: ignore[func-returns-value]
        trainer.run()
        assert (seen[-1] == pytest.approx(trainer.learner.objective.active_before.item() / 2.0)) == relaxed
        assert all(density > 1.5 for density in seen) == relaxed

    def test_every_row_is_seen_once_an_epoch(
        self, build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trainer, seen = build(rows=60, epochs=3), []
        batch = trainer.train_task.batch
        monkeypatch.setattr(trainer.train_task, "batch", lambda rows: seen.append(rows) or batch(rows))  # type: ignore[func-returns-value]
        trainer.run()
        for epoch in range(3):
            rows = np.concatenate(seen[4 * epoch : 4 * epoch + 4])
            assert sorted(rows) == list(range(60))

    def test_the_seed_orders_the_batches(self, build: Callable[..., Trainer]) -> None:
        trainer = build()
        for seed, same in ((3, True), (4, False)):
            other = trainer.train_task.batches(16, seed, shuffle=True)
            for epoch in range(2):
                mine, theirs = (np.concatenate(b.epoch(epoch)).tolist() for b in (trainer.batches, other))
                assert (mine == theirs) == same

    def test_max_steps_ends_the_run(self, build: Callable[..., Trainer]) -> None:
        assert build(epochs=50, max_steps=7).run().steps == 7

    def test_patience_ends_the_run(self, build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch) -> None:
        """Warm-up validations do not count: 4 steps of warm-up, the first circuit validation is best, then two more."""
        trainer = build(epochs=4, eval_every=1, warmup_fraction=0.25, early_stopping_patience=2)
        script_validation(trainer, monkeypatch, lambda step: (0.9, 5.0))
        outcome = trainer.run()
        assert (outcome.steps, outcome.kept_step, outcome.stopped_early) == (7, 5, True)

    def test_metrics_have_a_line_a_logged_step(self, build: Callable[..., Trainer], tmp_path: Path) -> None:
        trainer = build(folder=tmp_path / "run", log_every=3)
        trainer.run()
        lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
        logged = [line for line in lines if "loss" in line]
        assert [line["step"] for line in logged] == [3, 6, 8]
        assert [line["phase"] for line in logged] == ["warmup", "circuit", "circuit"]
        assert logged[0]["tau"] is None and logged[0]["lambda"] == 1.0 and logged[2]["tau"] > 0
        assert all(line["sparsity"] == 0 for line in logged[:1]) and logged[2]["completeness"] > 0
        assert [line["step"] for line in lines if "validation" in line] == [2, 4, 6, 8]

    def test_without_a_folder_nothing_is_written(self, build: Callable[..., Trainer], tmp_path: Path) -> None:
        before = sorted(tmp_path.rglob("*"))
        trainer = build(max_steps=5)
        built = sorted(tmp_path.rglob("*"))
        trainer.run()
        assert sorted(tmp_path.rglob("*")) == built != before
        with pytest.raises(CheckpointError, match="writes no checkpoints"):
            trainer.run(resume=True)


class TestRefusals:
    @pytest.mark.parametrize(
        "settings", [{"warmup_fraction": 0.1}, {"max_steps": 1}, {"epochs": 1, "warmup_fraction": 0.9}]
    )
    def test_a_phase_without_steps_is_explained(
        self, build: Callable[..., Trainer], settings: dict[str, object]
    ) -> None:
        with pytest.raises(TrainingError, match=r"of which \d would be warm-up, but both phases need steps"):
            build(**settings)

    def test_a_loss_that_is_no_number_stops_the_run_before_it_spoils_the_weights(
        self, build: Callable[..., Trainer]
    ) -> None:
        trainer = build()
        with torch.no_grad():
            trainer.model.head.out.bias.fill_(math.nan)  # type: ignore[union-attr]
        before = trainer.model.head.words.clone()  # type: ignore[union-attr]
        with pytest.raises(
            TrainingError, match=r"The loss became nan at step 1; lower training\.learning_rate"
        ) as error:
            trainer.run()
        assert "\n" not in str(error.value)
        assert torch.equal(trainer.model.head.words, before)  # type: ignore[union-attr]


@pytest.mark.parametrize(("free", "expected"), [(10.0, 4), (1e6, 64)])
def test_the_batch_size_follows_the_memory(
    build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch, free: float, expected: int
) -> None:
    monkeypatch.setattr(memory, "available_memory_mb", lambda: free)
    monkeypatch.setattr(memory, "pick_device", lambda: torch.device("cpu"))
    assert choose_batch_size(build().model.backbone, 128) == expected  # type: ignore[arg-type]
