"""What the tasks read differently: the columns they pick, and how labels or tags become numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from splade.config.schema import DataConfig
from splade.data.columns import ClassLabels, raw_split
from splade.data.tags import TagLabels, raw_tags
from splade.data.training_notes import class_notes, type_notes
from splade.data.types import RawSplit, RawTags, Split, Table
from splade.data.unlabelled import Settings, texts_to_classify, texts_to_tag
from splade.registry import Registry


class Labels(Protocol[Split]):
    """Numbers the labels of a set's splits; ``ClassLabels`` and ``TagLabels``."""

    names: list[str]
    classes: list[str]
    """What a split should have of each: the classes, or the types of entities."""
    column: str
    """The setting to look at where the labels are wrong."""

    numbered: bool
    """Whether a number in the data can stand for the name at that place."""

    def __init__(self, given: Sequence[str] | None, sample: Any, numbered: bool = ...) -> None: ...

    @staticmethod
    def problem(names: Sequence[str]) -> str | None:
        """Why these cannot be the names of a saved model's labels, if they cannot."""
        ...

    def encode(self, raw: Any) -> Split: ...

    def occurring(self, split: Split) -> set[int]: ...

    def shortage(self, split: Split) -> str | None: ...


@dataclass(frozen=True)
class TaskData:
    """How a task reads tables."""

    labels: type[Labels[Any]]
    """Numbers its labels."""
    pick: Callable[[Table, DataConfig, Mapping[str, str] | None], RawSplit | RawTags]
    """What it needs of a table, by the names the settings give its columns; the last are the columns of the training
    split, for the others of a set."""
    training_notes: Callable[[Any, Sequence[str]], list[str]]
    """Sentences on what is odd about a training split, whose labels have these names."""
    unlabelled: Callable[[Table, str | None, Settings], tuple[list[str] | list[list[str]], Sequence[str]]]
    """What a table holds for a trained model to answer, of the column asked for, and notes."""


TASK_DATA: Registry[TaskData] = Registry("task")

TASK_DATA.register("classification")(
    TaskData(
        labels=ClassLabels,
        pick=lambda table, config, like: raw_split(table, config.text_column, config.label_column, like),
        training_notes=class_notes,
        unlabelled=texts_to_classify,
    )
)
TASK_DATA.register("tagging")(
    TaskData(
        labels=TagLabels,
        pick=lambda table, config, like: raw_tags(table, config.tokens_column, config.tags_column, like),
        training_notes=type_notes,
        unlabelled=texts_to_tag,
    )
)
