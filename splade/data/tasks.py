"""What the tasks read differently: the columns they pick, and how labels or tags become numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from splade.config.schema import DataConfig, Task
from splade.data.columns import raw_split
from splade.data.tags import raw_tags
from splade.data.types import RawSplit, RawTags, Split, Table


def pick(table: Table, config: DataConfig, task: Task, like: Mapping[str, str] | None = None) -> RawSplit | RawTags:
    """What a task needs of a table, by the names the settings give its columns.

    ``like``: the columns of the training split, for the others of a set.
    """
    if task == "tagging":
        return raw_tags(table, config.tokens_column, config.tags_column, like)
    return raw_split(table, config.text_column, config.label_column, like)


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

    def encode(self, raw: Any) -> Split: ...

    def occurring(self, split: Split) -> set[int]: ...

    def shortage(self, split: Split) -> str | None: ...
