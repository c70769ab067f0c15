"""A vocabulary, and attributions made by hand."""

from __future__ import annotations

from splade.models.sparse import SparseRows
from splade.models.vocabulary import Vocabulary
from tests.builders import build_tokenizer, sparse_rows

TOKENIZER = build_tokenizer()
VOCABULARY = Vocabulary.from_tokenizer(TOKENIZER, len(TOKENIZER))


def token(word: str) -> int:
    return TOKENIZER.convert_tokens_to_ids(word)


def attribution(*rows: dict[str, float]) -> SparseRows:
    """Rows given as {token: contribution}."""
    return sparse_rows(*[{token(w): a for w, a in row.items()} for row in rows], vocab_size=len(TOKENIZER))
