"""What each study compares: variations of one config, behind `STUDIES`. The config's own `study` section goes first."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from dataclasses import dataclass

from splade.config.schema import Config
from splade.errors import ConfigError
from splade.registry import Registry
from splade.task_description import describe
from splade.training.recipes import RECIPES


@dataclass(frozen=True)
class Variation:
    """A name, and the ``section.key`` values that differ from the config of the study."""

    name: str
    settings: dict[str, object]


STUDIES: Registry[Callable[[Config], list[Variation]]] = Registry("study")


def variations_of(name: str, config: Config) -> list[Variation]:
    """Those that the config names, by list and by grid; if it names none, those of the study called ``name``. What the
    list gives the name of a combination of the grid says more of that combination, such as its seeds."""
    if not (config.study.variations or config.study.grid):
        return STUDIES.get(name)(config)
    found = {combination.name: combination.settings for combination in _combinations(config.study.grid)}
    for each, settings in config.study.variations.items():
        found[each] = {**found.get(each, {}), **settings}
    return [Variation(*each) for each in found.items()]


@STUDIES.register("ablation")
def ablation(config: Config) -> list[Variation]:
    """The recipe as it is, without each of its circuit losses in turn, and with cross-entropy alone."""
    recipe = config.training.recipe
    weights = dataclasses.asdict(config.training.loss_weights)
    losses = [name for name in RECIPES.get(recipe).circuit_losses if weights[name] > 0]
    if not losses:
        raise ConfigError(
            f"training.recipe is '{recipe}' with no circuit loss to leave out; choose a recipe that has some, such as "
            "cajt, and weights above 0."
        )
    return [
        Variation(recipe, {}),
        *(Variation(f"without {loss}", {f"training.loss_weights.{loss}": 0.0}) for loss in losses),
        Variation("baseline", {"training.recipe": "baseline"}),
    ]


@STUDIES.register("multi_dataset")
def multi_dataset(config: Config) -> list[Variation]:
    """One config on the three sets of the documents; of a tagger, on both tagged sets."""
    return [Variation(name, {"data.dataset_name": name}) for name in describe(config.task).example_sets]


@STUDIES.register("bcos_ablation")
def bcos_ablation(config: Config) -> list[Variation]:
    """The heads with a ReLU against B-cos heads of two and three layers."""
    relu = [Variation(head, {"model.head": head}) for head in ("relu_mlp", "tied_mlp")]
    bcos = [
        Variation(f"bcos, {layers} layers", {"model.head": "bcos", "model.head_layers": layers}) for layers in (2, 3)
    ]
    return relu + bcos


@STUDIES.register("frontier")
def frontier(config: Config) -> list[Variation]:
    """Supports × recipes."""
    return _combinations(
        {"model.support": ["neighbourhood", "dictionary", "full"], "training.recipe": ["cajt", "baseline"]}
    )


def _combinations(grid: dict[str, list[object]]) -> list[Variation]:
    """Every combination of the values, the last setting changing fastest."""
    if not grid:
        return []
    return [
        Variation(
            " / ".join(_value_name(key, value) for key, value in zip(grid, values, strict=True)),
            dict(zip(grid, values, strict=True)),
        )
        for values in itertools.product(*grid.values())
    ]


def _value_name(key: str, value: object) -> str:
    last = key.rpartition(".")[2].replace("_", " ")
    if value is None or value is False:
        return f"no {last}"
    if value is True:
        return last
    if isinstance(value, list):
        return "+".join(map(str, value))
    return str(value) if isinstance(value, str) else f"{last} {value}"
