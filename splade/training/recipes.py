"""Recipes: which parts make up a training. A declaration each, behind `RECIPES`."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from splade.config.loss_weights import LossWeights
from splade.config.schema import Anchor, Config, Gate, ModelConfig
from splade.registry import Registry
from splade.task_description import describe

CIRCUIT_LOSSES = ("completeness", "separation", "sparsity", "sharpness", "frequency")


@dataclass(frozen=True)
class Recipe:
    """The parts by name, and what a training optimises beside the cross-entropy; None or False: without it."""

    gate: Gate = "jumprelu"
    """A name of `GATES`; the setting `model.gate` overrides it."""
    completeness: str | None = None
    """A name of `COMPLETENESS`."""
    separation: str | None = None
    """A name of `SEPARATIONS`."""
    sparsity: str | None = None
    """A name of `SPARSITIES`; whichever it is, `training.active_target` is where it stops."""
    sharpness: bool = False
    """Attributions concentrate on few tokens."""
    frequency: bool = False
    """Help for under-active tokens."""
    distillation: bool = False
    """A dense teacher beside the sparse head, in both phases; its weight is the setting `loss_weights.guide`."""
    deletion: str | None = None
    """A name of `DELETIONS`: words' shares are held to what deleting them does, in both phases; its weight is the
    setting `loss_weights.deletion`."""
    anchor: Anchor | None = None
    """A name of `ANCHORS`, used where the support is a neighbourhood; the setting `training.anchor` overrides it."""
    uncertainty: bool = False
    """The circuit losses are weighed by learned variances."""
    gate_rate: float = 1.0
    """Factor on `training.gate_learning_rate`."""
    relaxes_tau: bool = False
    """The constraint gives way while the model is far denser than its target."""
    weight_ema: float | None = None
    """Moving average of the weights; the setting `training.weight_ema` overrides it."""

    @property
    def circuit_losses(self) -> list[str]:
        """Names of those it has."""
        return [name for name in CIRCUIT_LOSSES if getattr(self, name)]

    @property
    def has_circuit_phase(self) -> bool:
        return bool(self.circuit_losses)


RECIPES: Registry[Recipe] = Registry("recipe")

RECIPES.register("cajt")(
    Recipe(
        gate="jumprelu",
        completeness="kl",
        separation="triplet",
        sparsity="l0",
        frequency=True,
        distillation=True,
        deletion="words",
        anchor="own_token",
    )
)
RECIPES.register("lexical_sae")(
    Recipe(
        gate="drelu_log1p",
        completeness="ce",
        separation="centroid_cosine",
        sparsity="l1_l0",
        gate_rate=5.0,
        relaxes_tau=True,
        weight_ema=0.999,
    )
)
RECIPES.register("cis")(
    Recipe(
        gate="drelu_log1p",
        completeness="ce",
        separation="centroid_cosine",
        sparsity="df_flops",
        sharpness=True,
        uncertainty=True,
        weight_ema=0.999,
    )
)
RECIPES.register("baseline")(Recipe(gate="jumprelu"))


def resolved(config: Config) -> Config:
    """The settings with what they leave to the recipe filled in, and without the name of a set where own files take its
    place; a run is built from, and records, only these."""
    recipe, training = RECIPES.get(config.training.recipe), config.training
    averages_itself = training.optimizer == "schedule_free"
    average = (0.0 if averages_itself else recipe.weight_ema) if training.weight_ema is None else training.weight_ema
    neighbourhood = "neighbourhood" in config.model.support
    anchor = training.anchor or (recipe.anchor if neighbourhood else None) or "none"
    return replace(
        config,
        data=config.data if config.data.train_file is None else replace(config.data, dataset_name=None),
        model=replace(config.model, gate=config.model.gate or recipe.gate),
        training=replace(training, weight_ema=average or 0.0, anchor=anchor),
    )


def without_effect(config: Config) -> list[str]:
    """A sentence on each setting that was changed and that nothing in this run looks at."""
    recipe, training = RECIPES.get(config.training.recipe), config.training
    lacking = [name for name in CIRCUIT_LOSSES if name not in recipe.circuit_losses]
    lacking += [] if recipe.distillation else ["guide"]
    lacking += [] if recipe.deletion else ["deletion"]
    idle = {f"training.loss_weights.{name}": f"the recipe '{training.recipe}' has no such loss" for name in lacking}
    if resolved(config).training.anchor == "none":
        idle["training.loss_weights.anchor"] = "there is no anchor (training.anchor)"
    idle |= describe(config.task).idle_settings
    idle = {name: reason for name, reason in idle.items() if name in _changed(config)}
    for section, settings in {"model": config.model, "training": training}.items():
        idle |= {f"{section}.{name}": declared.absent for name, declared in settings.idle().items()}
    return [f"{name} has no effect: {reason}." for name, reason in idle.items()]


def _changed(config: Config) -> set[str]:
    """Names of the settings of model and losses that are not at their defaults."""
    sections: tuple[tuple[str, Any, Any], ...] = (
        ("model", config.model, ModelConfig()),
        ("training.loss_weights", config.training.loss_weights, LossWeights()),
    )
    return {
        f"{section}.{field.name}"
        for section, settings, defaults in sections
        for field in fields(settings)
        if getattr(settings, field.name) != getattr(defaults, field.name)
    }
