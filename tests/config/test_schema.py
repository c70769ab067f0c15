from __future__ import annotations

import dataclasses

import pytest
from pydantic import ValidationError

from splade.config.schema import (
    Config,
    DataConfig,
    EvaluationConfig,
    LossWeights,
    ModelConfig,
    StudyConfig,
    TrainingConfig,
)

SECTIONS = [Config, DataConfig, ModelConfig, TrainingConfig, LossWeights, EvaluationConfig, StudyConfig]


@pytest.mark.parametrize("section", SECTIONS)
def test_every_setting_is_described(section: type) -> None:
    described = section.__pydantic_fields__  # type: ignore[attr-defined]
    assert described and all(each.description for each in described.values())


def test_settings_do_not_change_under_way() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().seed = 7  # type: ignore[misc]


def test_two_configs_share_no_list() -> None:
    assert ModelConfig().support is not ModelConfig().support


@pytest.mark.parametrize(
    "written", ["neighbourhood+dictionary", "neighbourhood + dictionary", "neighbourhood,dictionary"]
)
def test_supports_may_be_joined_by_a_plus_or_a_comma(written: str) -> None:
    assert ModelConfig(support=written).support == ["neighbourhood", "dictionary"]  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1, 1, 600])
def test_sample_counts_allowed(value: int) -> None:
    assert DataConfig(train_samples=value).train_samples == value


@pytest.mark.parametrize("value", [0, -2])
def test_sample_counts_refused(value: int) -> None:
    with pytest.raises(ValidationError, match="-1 \\(all rows\\)"):
        DataConfig(train_samples=value)
