"""The settings of the study of surgery."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated

from pydantic.dataclasses import dataclass

from splade.config.texts import Text
from splade.config.variants import SETTINGS, Choice, Choices, OpenSection, open_to


@open_to("condition", "word choice")
@dataclass(config=SETTINGS, frozen=True, eq=False, repr=False)
class SurgeryConfig(OpenSection):
    """What the study ``surgery`` removes, what it compares that with, and on which texts. Groups and positive labels
    are those of ``evaluation.bias_groups``, ``bias_terms`` and ``bias_positive``; a single run does not look at this.
    """

    conditions: Annotated[list[str], Choices("condition")] | None = None
    """Conditions that are compared; null: all. ``baseline`` is always there."""
    words: Annotated[str, Choice("word choice")] = "gap"
    """How the words that are removed are chosen; nobody looks at test texts for it."""
    test_sets: list[Text] = field(default_factory=list)
    """Further sets of the data root that all conditions are tested on, unseen in training."""
