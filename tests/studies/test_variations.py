from __future__ import annotations

import pytest

from splade.config.load import load_config
from splade.errors import ConfigError
from splade.studies.variations import STUDIES, Variation, variations_of


def test_ablation_leaves_out_each_loss_the_recipe_uses() -> None:
    found = variations_of("ablation", load_config(None, ["training.loss_weights.frequency=0"]))
    assert found == [
        Variation("cajt", {}),
        *(
            Variation(f"without {loss}", {f"training.loss_weights.{loss}": 0.0})
            for loss in ("completeness", "separation", "sparsity")
        ),
        Variation("baseline", {"training.recipe": "baseline"}),
    ]


def test_ablation_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="'baseline' with no circuit loss to leave out"):
        variations_of("ablation", load_config(None, ["training.recipe=baseline"]))


def test_a_grid_is_every_combination_and_joins_the_list() -> None:
    sets = [
        "study.variations={mine: {training.epochs: 3}}",
        "study.grid={model.support: [full, [neighbourhood, dictionary]], model.train_decoder: [true, false]}",
    ]
    found = variations_of("frontier", load_config(None, sets))
    assert [variation.name for variation in found] == [
        "full / train decoder",
        "full / no train decoder",
        "neighbourhood+dictionary / train decoder",
        "neighbourhood+dictionary / no train decoder",
        "mine",
    ]
    assert found[1].settings == {"model.support": "full", "model.train_decoder": False}


def test_the_list_says_more_of_a_combination_by_its_name() -> None:
    sets = ["study.variations={full: {study.seeds: [0, 1]}}", "study.grid={model.support: [full, dictionary]}"]
    found = variations_of("frontier", load_config(None, sets))
    assert [variation.name for variation in found] == ["full", "dictionary"]
    assert found[0].settings == {"model.support": "full", "study.seeds": [0, 1]}


def test_heads_of_the_bcos_ablation() -> None:
    names = [variation.name for variation in variations_of("bcos_ablation", load_config())]
    assert names == ["relu_mlp", "tied_mlp", "bcos, 2 layers", "bcos, 3 layers"]


def test_an_unknown_study_lists_the_others() -> None:
    with pytest.raises(ConfigError, match=r"Unknown study 'ablatio'.*Did you mean 'ablation'"):
        STUDIES.get("ablatio")
