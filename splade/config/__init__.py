"""Settings: what they are (``schema``) and how YAML and the command line fill them (``load``)."""

from __future__ import annotations

from splade.config.load import config_from_dict, config_to_yaml, load_config, vary
from splade.config.loss_weights import LossWeights
from splade.config.schema import (
    Config,
    DataConfig,
    EvaluationConfig,
    ModelConfig,
    TrainingConfig,
)
from splade.config.study import StudyConfig

__all__ = [
    "Config",
    "DataConfig",
    "EvaluationConfig",
    "LossWeights",
    "ModelConfig",
    "StudyConfig",
    "TrainingConfig",
    "config_from_dict",
    "config_to_yaml",
    "load_config",
    "vary",
]
