"""The support `full`."""

from __future__ import annotations

from splade.models.supports.base import SUPPORTS, FixedColumns, SupportParts


@SUPPORTS.register("full")
class FullSupport(FixedColumns):
    """The whole vocabulary at every position, as in the user's documents."""

    def __init__(self, parts: SupportParts):
        super().__init__(parts)
        self.register_buffer("tokens", (~self.excluded).nonzero(as_tuple=True)[0], persistent=False)
