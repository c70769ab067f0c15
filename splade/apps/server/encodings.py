"""A model that remembers what its backbone made of the texts it read last, so that to ask again what if costs a head.

A text is known by the numbers of its pieces. Whatever is asked of it next (another label, tokens shut, words silenced)
starts from the same hidden states, to the bit; only a text with other words is read anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

from splade.models.encoder import SparseSequence
from splade.models.state import TagCircuitState
from splade.models.text_methods import TextMethods

Pieces = bytes
"""What a text is known by: its tokens' numbers."""


class RememberingModel(TextMethods, nn.Module):
    """The wrapped model, with the encodings of the texts read last; whatever it does not say itself, the model does."""

    def __init__(self, model: Any, most_bytes: int):
        """`most_bytes`: of all encodings together; the longest unused go first."""
        super().__init__()
        self.model, self.most_bytes = model.eval(), most_bytes
        self.training = False
        self._kept: OrderedDict[Pieces, Tensor] = OrderedDict()
        self._bytes = 0
        self.found = 0
        """Texts that were known when they were asked for."""
        self.read = 0
        """Texts that the backbone read."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("model"), name)

    def train(self, mode: bool = True) -> RememberingModel:
        """Nothing: it is for answers alone, and to tell every module of it so each time takes milliseconds."""
        return self

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> SparseSequence:
        """Encode a batch (B, L), reading only what is not remembered."""
        if bool((attention_mask.diff(dim=1) > 0).any()):  # padded on the left, as no model here is: rows begin anywhere
            return self.model(input_ids, attention_mask)
        lengths = attention_mask.sum(1).tolist()
        pieces = [row[:length].cpu().numpy().tobytes() for row, length in zip(input_ids, lengths, strict=True)]
        known = {piece: self._kept[piece] for piece in pieces if piece in self._kept}
        unknown = {piece: row for row, piece in enumerate(pieces) if piece not in known}
        self.found, self.read = self.found + len(known), self.read + len(unknown)
        if unknown:
            rows = list(unknown.values())
            longest = max(lengths[row] for row in rows)
            hidden = self.model(input_ids[rows, :longest], attention_mask[rows, :longest]).hidden
            known |= {
                piece: own[: lengths[row]].clone() for own, (piece, row) in zip(hidden, unknown.items(), strict=True)
            }
        self._keep(known)
        first = known[pieces[0]]
        states = first.new_zeros(*input_ids.shape, first.shape[1])  # (B, L, d)
        for row, piece in enumerate(pieces):
            states[row, : lengths[row]] = known[piece]
        return SparseSequence(states, input_ids, attention_mask, self.model.encoder)

    def _keep(self, encodings: dict[Pieces, Tensor]) -> None:
        for piece, hidden in encodings.items():
            if piece not in self._kept:
                self._kept[piece] = hidden
                self._bytes += _size([hidden])
            self._kept.move_to_end(piece)
        while self._bytes > self.most_bytes and self._kept:
            self._bytes -= _size([self._kept.popitem(last=False)[1]])

    @property
    def kept_bytes(self) -> int:
        """Of the encodings that are kept now."""
        return self._bytes

    def tag_words(self, sequence: SparseSequence, words: Tensor | None = None) -> TagCircuitState:
        return self.model.tag(sequence, words)


def _size(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
