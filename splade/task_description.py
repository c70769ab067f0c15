"""What each task is called, and the words to speak of it. Light to import; what a task does is in `splade.tasks`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from splade.registry import Registry

DEFAULT_TASK = "classification"
"""The task of settings, models and results that name none."""


@dataclass(frozen=True)
class TaskDescription:
    """The words to speak of a task, and what is known of it before anything is loaded."""

    name: str
    does: str
    """What a model of the task does, after "The model": "classifies texts"."""
    unit: str
    """What one prediction is made for, which is a row of logits: a text, a word."""
    example: str
    """What a data set holds, and a batch is counted in: a text, a sentence."""
    label: str
    """What a prediction gives its unit: a label, a tag."""
    figure: str
    """The figure that checkpoints are ranked by, a key of the results."""
    hub_pipeline: str
    """What the Hugging Face Hub calls the task."""
    example_sets: tuple[str, ...]
    """The data sets of the documents."""
    has_polarity: bool
    """Whether its labels may be good and bad, so that a lexicon of good and bad words can be held against them."""
    idle_settings: Mapping[str, str] = field(default_factory=dict)
    """Settings that the task does not look at, and why."""

    @property
    def decides_on_texts(self) -> bool:
        """Whether a prediction is made for a whole example."""
        return self.unit == self.example

    @property
    def units(self) -> str:
        return f"{self.unit}s"

    @property
    def examples(self) -> str:
        return f"{self.example}s"


TASK_DESCRIPTIONS: Registry[TaskDescription] = Registry("task")

CLASSIFICATION = TASK_DESCRIPTIONS.register("classification")(
    TaskDescription(
        name="classification",
        does="classifies texts",
        unit="text",
        example="text",
        label="label",
        figure="accuracy",
        hub_pipeline="text-classification",
        example_sets=("sst2", "ag_news", "imdb"),
        has_polarity=True,
        idle_settings=dict.fromkeys(
            ("model.context", "model.aspects", "model.topk_per_position", "model.word_pieces"), "it is for tagging"
        ),
    )
)

TAGGING = TASK_DESCRIPTIONS.register("tagging")(
    TaskDescription(
        name="tagging",
        does="tags words",
        unit="word",
        example="sentence",
        label="tag",
        figure="f1",
        hub_pipeline="token-classification",
        example_sets=("conll2003", "wnut17"),
        has_polarity=False,
    )
)


def describe(task: str | None) -> TaskDescription:
    """The description of a task by its name; None, as in the results of earlier versions, is classification."""
    return TASK_DESCRIPTIONS.get(task or DEFAULT_TASK)
