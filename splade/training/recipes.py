"""Recipes: which parts make up the circuit objective. A declaration each, behind `RECIPES`."""

from __future__ import annotations

from dataclasses import dataclass

from splade.registry import Registry


@dataclass(frozen=True)
class Recipe:
    """What a training optimises beside the cross-entropy."""

    completeness: bool
    """KL(full ‖ circuit)."""
    separation: bool
    """Triplet loss on attributions against class centroids."""
    sparsity: bool
    """Differentiable count of active tokens, above its target."""
    frequency: bool
    """Help for under-active tokens."""
    guide: bool
    """A dense head beside, in both phases."""

    @property
    def has_circuit_phase(self) -> bool:
        return self.completeness or self.separation or self.sparsity or self.frequency


RECIPES: Registry[Recipe] = Registry("recipe")
RECIPES.register("cajt")(Recipe(completeness=True, separation=True, sparsity=True, frequency=True, guide=True))
RECIPES.register("baseline")(Recipe(completeness=False, separation=False, sparsity=False, frequency=False, guide=False))
