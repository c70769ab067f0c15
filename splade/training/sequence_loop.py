"""Training a tagger: the one loop, with a tagging task."""

from __future__ import annotations

from typing import Any

from splade.config.schema import TrainingConfig
from splade.models.protocol import Model
from splade.tasks import TaggingTask
from splade.training.loop import Trainer, TrainingOutcome


def train_sequence(
    model: Model,
    train: TaggingTask,
    validation: TaggingTask,
    config: TrainingConfig,
    *,
    resume: bool = False,
    **options: Any,
) -> TrainingOutcome:
    """Train `model` to tag words; `options` are those of `Trainer`."""
    return Trainer(model, train, validation, config, **options).run(resume)
