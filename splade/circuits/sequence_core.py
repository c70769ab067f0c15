"""The prediction of a tagger, under the names it has in the user's documents."""

from splade.models.state import SequenceCircuitState, TagCircuitState

__all__ = ["SequenceCircuitState", "TagCircuitState"]
