"""What the tasks read differently: the columns they pick, and how labels or tags become numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from splade.config.schema import DataConfig, Task
from splade.data.columns import raw_split
from splade.data.tags import raw_tags
from splade.data.types import Columns, RawSplit, RawTags, Split


def pick(columns: Columns, config: DataConfig, origin: str, task: Task) -> RawSplit | RawTags:
    """What a task needs of the columns, by the names the settings give them; ``origin`` is what messages call them."""
    if task == "tagging":
        return raw_tags(columns, config.tokens_column, config.tags_column, origin)
    return raw_split(columns, config.text_column, config.label_column, origin)


class Labels(Protocol[Split]):
    """Numbers the labels of a set's splits; ``ClassLabels`` and ``TagLabels``."""

    names: list[str]
    classes: list[str]
    """What a split should have of each: the classes, or the types of entities."""
    column: str
    """The setting to look at where the labels are wrong."""

    def __init__(self, given: Sequence[str] | None, sample: Any) -> None: ...

    def encode(self, raw: Any) -> Split: ...

    def occurring(self, split: Split) -> set[int]: ...

    def shortage(self, split: Split) -> str | None: ...
