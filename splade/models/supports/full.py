"""The support `full`."""

from __future__ import annotations

from splade.models.supports.base import SUPPORTS, FixedColumns, SupportParts


@SUPPORTS.register("full")
class FullSupport(FixedColumns):
    """The whole vocabulary at every position, as in the user's documents."""

    def __init__(self, parts: SupportParts):
        super().__init__(parts)
        allowed = ~self.excluded[: parts.vocabulary.tokens]  # words that the tokenizer splits speak where they stand
        self.register_buffer("tokens", allowed.nonzero(as_tuple=True)[0], persistent=False)
