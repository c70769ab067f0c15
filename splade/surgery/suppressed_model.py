"""A model that does not listen to some tokens and words, around a model that does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

from torch import Tensor, nn

from splade.errors import ModelError
from splade.models.encoder import LexicalEncoder, SparseSequence
from splade.models.protocol import LexicalModel
from splade.models.removal import Matched, Removal
from splade.models.state import TagCircuitState
from splade.models.text_methods import TextMethods
from splade.surgery.targets import Targets, find_targets, removed_names


class SuppressedModel(TextMethods, nn.Module):
    """The wrapped model without some tokens and words, at inference: no weight changes, and `undo` ends it.

    SuppressedModel(model, tokens=["film", 2143])     # shut: s_j = 0 for every input
    SuppressedModel(model, words=["film"])            # silenced: where the word stands, nothing speaks for it

    A model like any other (`splade.models.protocol`): whatever it does not say itself, the wrapped model does.
    """

    def __init__(
        self,
        model: LexicalModel,
        tokens: Targets = (),
        words: Targets = (),
        *,
        removal: Removal | None = None,
    ):
        """`tokens`: to shut, by number or name or the file of names; `words`: to silence. `removal`: both, where it is
        known what they stand for."""
        super().__init__()
        self.model = model
        self.matched: Matched | None = None
        """What of the targets matched, and what did not."""
        if removal is None:
            self.matched = find_targets(model, tokens, words)
            removal = self.matched.removal
        self.own_removal = removal

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("model"), name)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> SparseSequence:
        """Encode a batch (B, L), to be heard without what is removed."""
        return replace(self.model(input_ids, attention_mask), encoder=self.encoder)

    def tag_words(self, sequence: SparseSequence, words: Tensor | None = None) -> TagCircuitState:
        return self.model.tag(sequence, words)

    @property
    def encoder(self) -> LexicalEncoder:
        """A view of the model's, of the same tensors."""
        return self.model.encoder.without(self.own_removal)

    @property
    def removal(self) -> Removal:
        """All that is removed, in the wrapped model too."""
        return self.model.removal | self.own_removal

    @property
    def suppressed_words(self) -> list[str]:
        return list(dict.fromkeys([*self.model.suppressed_words, *removed_names(self.model, self.own_removal)]))

    @property
    def silenced_words(self) -> list[str]:
        return sorted(self.removal.words)

    def undo(self) -> LexicalModel:
        """Remove nothing any more; gives the wrapped model."""
        self.own_removal = Removal()
        return self.model

    def save_pretrained(self, folder: object, *args: object, **kwargs: object) -> NoReturn:
        """Refused: what is saved would not be what is here."""
        raise self._only_for_now()

    def suppress(self, words: object) -> NoReturn:
        """Refused, as is whatever else changes the wrapped model."""
        raise self._only_for_now()

    silence = restore = set_removal = suppress

    def _only_for_now(self) -> ModelError:
        return ModelError(
            "A SuppressedModel removes words for as long as it is there, and cannot be saved or changed; remove them "
            "from the model itself with suppress_token_globally(model, ...), and save that."
        )
