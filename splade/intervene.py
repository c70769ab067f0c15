"""Surgery on a model, under the name that the user's documents have for it; `splade.surgery` is where it is done."""

from splade.models.removal import Match, Matched, Removal
from splade.surgery.carriers import Carrier
from splade.surgery.concepts import Concept, find_concept
from splade.surgery.data_effect import DataEffect, effect_on_data
from splade.surgery.deletion import delete_words, deletion_effect
from splade.surgery.effect import TextEffect, effect_on_texts
from splade.surgery.record import Account, Record
from splade.surgery.suppress import restore, suppress_token_globally, undo_last
from splade.surgery.suppressed_model import SuppressedModel
from splade.surgery.top_tokens import TopToken, get_clean_vocab_mask, get_top_tokens
from splade.surgery.verification import replay, verify

__all__ = [
    "SuppressedModel",
    "suppress_token_globally",
    "restore",
    "undo_last",
    "get_top_tokens",
    "get_clean_vocab_mask",
    "effect_on_texts",
    "effect_on_data",
    "deletion_effect",
    "delete_words",
    "find_concept",
    "verify",
    "replay",
    "Account",
    "Carrier",
    "Concept",
    "DataEffect",
    "Match",
    "Matched",
    "Record",
    "Removal",
    "TextEffect",
    "TopToken",
]
