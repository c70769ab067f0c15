"""Recipes: each names parts that exist, settings override it, and its losses obey the rules all losses obey."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from splade.circuits.core import CircuitState
from splade.circuits.losses import COMPLETENESS, SEPARATIONS
from splade.circuits.sparsity import SPARSITIES
from splade.config.load import load_config
from splade.config.schema import Config, TrainingConfig
from splade.data.types import TextSplit
from splade.errors import ConfigError
from splade.models.layers.activation import GATES
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask
from splade.training.anchors import ANCHORS
from splade.training.loop import Trainer
from splade.training.objective import TERMS, Objective
from splade.training.optim import parameter_groups
from splade.training.recipes import RECIPES, resolved, without_effect
from tests.builders import build_model, encode, toy_reviews

CIRCUIT = ["cajt", "cis", "lexical_sae"]
TEXTS, LABELS = toy_reviews(8, seed=5)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], LexicalSAE]:
    folder = tmp_path_factory.mktemp("models")
    return lambda recipe: build_model(folder, gate=RECIPES.get(recipe).gate, active=20).train()


def at_work(model: LexicalSAE, recipe: str) -> Objective:
    """In the midst of a circuit phase: centroids and frequencies known, more active tokens than aimed at."""
    objective = Objective(2, model.vocab_size, TrainingConfig(recipe=recipe, active_target=4.0, sparsity_target=0.3))  # type: ignore[arg-type]
    objective(model, predict(model, encode(model, TEXTS)), torch.tensor(LABELS), True, 1.0)
    objective.end_step(lambda tensor: tensor, len(TEXTS))
    assert objective.active_before > 4
    return objective


def predict(model: LexicalSAE, batch: tuple[Tensor, Tensor]) -> CircuitState:
    return model.classify(model(*batch))


def terms(objective: Objective, model: LexicalSAE, batch: tuple[Tensor, Tensor], labels: list[int]) -> dict[str, float]:
    _, totals = objective(model, predict(model, batch), torch.tensor(labels), True, 1.0)
    return dict(zip(TERMS, totals.sums.tolist(), strict=True))


@pytest.mark.parametrize("name", RECIPES.names())
def test_every_part_it_names_exists(name: str) -> None:
    recipe = RECIPES.get(name)
    GATES.get(recipe.gate)
    for registry, part in (
        (COMPLETENESS, recipe.completeness),
        (SEPARATIONS, recipe.separation),
        (SPARSITIES, recipe.sparsity),
        (ANCHORS, recipe.anchor),
    ):
        assert part is None or registry.get(part)  # type: ignore[attr-defined]
    assert recipe.has_circuit_phase == (name != "baseline")


class TestResolved:
    def test_the_recipe_fills_in_what_the_settings_leave_open(self) -> None:
        for name in RECIPES.names():
            config = resolved(load_config(None, [f"training.recipe={name}"]))
            recipe = RECIPES.get(name)
            assert config.model.gate == recipe.gate
            assert config.training.weight_ema == (recipe.weight_ema or 0)
        assert resolved(resolved(Config())) == resolved(Config())

    def test_settings_override_it(self) -> None:
        changed = ["training.recipe=cis", "model.gate=jumprelu", "training.weight_ema=0.9"]
        config = resolved(load_config(None, changed))
        assert (config.model.gate, config.training.weight_ema) == ("jumprelu", 0.9)
        assert resolved(load_config(None, ["training.recipe=cis", "training.weight_ema=0"])).training.weight_ema == 0

    @pytest.mark.parametrize(
        ("settings", "anchor"),
        [
            ([], "own_token"),
            (["model.support=neighbourhood+dictionary"], "own_token"),
            (["model.support=full"], "none"),
            (["model.support=full", "training.anchor=own_token"], "own_token"),
            (["training.recipe=baseline"], "none"),
            (["training.recipe=baseline", "training.anchor=register"], "register"),
            (["training.anchor=none"], "none"),
        ],
    )
    def test_an_anchor_comes_with_the_recipe_where_words_have_neighbours(
        self, settings: list[str], anchor: str
    ) -> None:
        assert resolved(load_config(None, settings)).training.anchor == anchor

    def test_schedule_free_averages_itself(self) -> None:
        settings = ["training.recipe=cis", "training.optimizer=schedule_free"]
        assert resolved(load_config(None, settings)).training.weight_ema == 0
        with pytest.raises(ConfigError, match="averages the weights itself"):
            load_config(None, [*settings, "training.weight_ema=0.99"])

    @pytest.mark.parametrize(
        ("settings", "idle"),
        [
            ([], []),
            (
                ["training.loss_weights.sharpness=1"],
                ["training.loss_weights.sharpness has no effect: the recipe 'cajt'"],
            ),
            (["training.recipe=cis", "training.loss_weights.sharpness=1"], []),
            (["training.recipe=baseline", "training.loss_weights.guide=2"], ["training.loss_weights.guide has no"]),
            (
                ["model.support=full", "training.loss_weights.anchor=0.1"],
                ["training.loss_weights.anchor has no effect"],
            ),
            (["model.support=full", "training.anchor=register", "training.loss_weights.anchor=0.1"], []),
            (["model.support=full", "model.neighbours=4"], ["model.neighbours has no effect: the support"]),
            (["model.dictionary_size=9"], ["model.dictionary_size has no effect: the support has no dictionary."]),
            (["model.support=neighbourhood+dictionary", "model.dictionary_size=9", "model.neighbours=4"], []),
            (["model.topk_per_position=20"], ["model.topk_per_position has no effect: it is for tagging."]),
            (["task=tagging", "model.topk_per_position=20"], []),
        ],
    )
    def test_settings_that_nothing_looks_at_are_named(self, settings: list[str], idle: list[str]) -> None:
        found = without_effect(load_config(None, settings))
        assert len(found) == len(idle) and all(map(str.startswith, found, idle))

    def test_a_model_names_the_gate_it_was_made_with(self, tmp_path: Path) -> None:
        assert build_model(tmp_path).config.gate == "jumprelu"
        build_model(tmp_path, gate="drelu").save_pretrained(tmp_path / "saved")
        again = LexicalSAE.from_pretrained(tmp_path / "saved")
        assert again.config.gate == "drelu" and type(again.encoder.gate) is GATES.get("drelu")


def test_thresholds_of_lexical_sae_learn_five_times_as_fast(build: Callable[[str], LexicalSAE]) -> None:
    model = build("lexical_sae")
    rates = [
        {group["name"]: group["lr"] for group in parameter_groups([model], TrainingConfig(recipe=recipe))}  # type: ignore[arg-type]
        for recipe in ("cajt", "lexical_sae")
    ]
    assert rates[1]["gate"] == 5 * rates[0]["gate"]
    assert rates[1]["head"] == rates[0]["head"] and rates[1]["backbone"] == rates[0]["backbone"]


@pytest.mark.parametrize("recipe", CIRCUIT)
class TestLossesOfEveryRecipe:
    def test_each_named_loss_is_there_and_no_other(self, build: Callable[[str], LexicalSAE], recipe: str) -> None:
        model = build(recipe)
        found = at_work(model, recipe)._circuit_terms(model, predict(model, encode(model, TEXTS)), torch.tensor(LABELS))
        assert sorted(found) == sorted(RECIPES.get(recipe).circuit_losses)
        assert all(term.shape == (8,) and term.isfinite().all() for term in found.values())

    def test_each_carries_gradient_to_the_backbone(self, build: Callable[[str], LexicalSAE], recipe: str) -> None:
        """The known trap, where the objective puts the losses together: a value without gradient trains nothing."""
        model = build(recipe)
        found = at_work(model, recipe)._circuit_terms(model, predict(model, encode(model, TEXTS)), torch.tensor(LABELS))
        learning = [p for p in model.backbone.parameters() if p.requires_grad]
        for name in ("completeness", "separation", "sparsity", "sharpness"):
            if name in found:
                felt = torch.autograd.grad(found[name].sum(), learning, retain_graph=True, allow_unused=True)
                assert any(gradient is not None and gradient.any() for gradient in felt), name

    def test_parts_of_a_batch_add_up_to_the_whole(self, build: Callable[[str], LexicalSAE], recipe: str) -> None:
        """So that accumulation and several processes train what one batch would."""
        model = build(recipe)
        objective = at_work(model, recipe)

        def gradients(parts: list[slice]) -> dict[str, Tensor]:
            model.zero_grad(), objective.zero_grad()
            objective._pending = {}
            for part in parts:
                state = predict(model, encode(model, TEXTS[part]))
                loss, _ = objective(model, state, torch.tensor(LABELS[part]), True, 1.7)
                (loss / 8).backward()
            named = [*model.named_parameters(), *objective.named_parameters(prefix="objective")]
            return {name: p.grad.clone() for name, p in named if p.grad is not None} | objective._pending

        whole, apart = gradients([slice(0, 8)]), gradients([slice(0, 3), slice(3, 8)])
        assert whole.keys() == apart.keys()
        assert ("objective.uncertainty.raw.sharpness" in whole) == (recipe == "cis")
        for name, gradient in whole.items():
            torch.testing.assert_close(apart[name], gradient, rtol=1e-3, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")

    def test_a_process_without_rows_takes_part_in_every_sum(
        self, build: Callable[[str], LexicalSAE], recipe: str
    ) -> None:
        model = build(recipe)
        busy, idle = at_work(model, recipe), at_work(model, recipe)
        busy(model, predict(model, encode(model, TEXTS)), torch.tensor(LABELS), True, 1.0)
        sent: list[Tensor] = []
        busy.end_step(lambda tensor: sent.append(tensor) or tensor, 8)  # type: ignore[func-returns-value]
        waiting = iter(sent)
        idle.end_step(lambda tensor: tensor + next(waiting), 8)
        assert next(waiting, None) is None
        for (name, mine), (_, theirs) in zip(idle.named_buffers(), busy.named_buffers(), strict=True):
            assert torch.equal(mine, theirs), name

    def test_padding_counts_for_nothing(self, build: Callable[[str], LexicalSAE], recipe: str) -> None:
        model = build(recipe)
        objective = at_work(model, recipe)
        ids, mask = encode(model, TEXTS)
        # Not the padding token: a word that would fire if it were read.
        word = ids[0, 2]
        padded = torch.cat([ids, word.expand(8, 5)], 1), torch.cat([mask, mask.new_zeros(8, 5)], 1)
        expected = terms(objective, model, (ids, mask), LABELS)
        assert terms(objective, model, padded, LABELS) == pytest.approx(expected, rel=1e-4, abs=1e-4)

    def test_a_batch_without_anything_active_harms_nothing(
        self, build: Callable[[str], LexicalSAE], recipe: str
    ) -> None:
        model = build(recipe)
        objective = at_work(model, recipe)
        objective(model, predict(model, encode(model, ["", "the"])), torch.tensor([0, 1]), True, 1.0)[0].backward()
        assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("recipe", RECIPES.names())
def test_it_learns_the_toy_reviews_and_grows_sparser(
    build: Callable[[str], LexicalSAE], recipe: str, tmp_path: Path
) -> None:
    model = build(recipe)
    config = TrainingConfig(
        recipe=recipe,  # type: ignore[arg-type]
        learning_rate=1e-3,
        head_learning_rate=1e-2,
        gate_learning_rate=5e-2,
        lr_warmup_steps=2,
        active_target=6.0,
        eval_every=15,
        max_steps=140,
        epochs=20,
        weight_ema=RECIPES.get(recipe).weight_ema,
    )
    train, validation = (
        ClassificationTask(TextSplit(*toy_reviews(size, seed)), model.tokenizer, 24)
        for size, seed in ((128, 0), (48, 1))
    )
    trainer = Trainer(model, train, validation, config, batch_size=16, seed=3, folder=None)
    before = trainer.validate()
    outcome = trainer.run()
    assert outcome.validation["accuracy"] > 0.8
    if recipe == "baseline":
        return
    assert outcome.kept_step > trainer.warmup
    assert 1.5 < outcome.validation["active"] < 0.9 * before.active
