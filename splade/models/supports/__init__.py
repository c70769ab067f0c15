"""Supports: which vocabulary tokens may fire at which input positions. One file a kind, behind `SUPPORTS`.

A support only proposes (position, token) pairs whose score might pass the gate; gate, head and attribution are the same
for all. A model may have several: their proposals are joined.
"""

from splade.models.supports.base import SUPPORTS, Scene, Support, SupportParts
from splade.models.supports.dictionary import DictionarySupport
from splade.models.supports.full import FullSupport
from splade.models.supports.neighbourhood import NeighbourhoodSupport

__all__ = [
    "SUPPORTS",
    "DictionarySupport",
    "FullSupport",
    "NeighbourhoodSupport",
    "Scene",
    "Support",
    "SupportParts",
]
