"""The prediction of a tagger, under the name it has in the user's documents."""

from splade.models.state import TagCircuitState

__all__ = ["TagCircuitState"]
