"""Models with split words, known and never met, and what their tests ask of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from splade.evaluation.mechanistic import dla_errors
from splade.models.lexical_sae import LexicalSAE
from splade.models.open_words import OpenWords
from splade.models.word_reader import Pieces, words_in_pieces
from tests.builders import build_model, build_tokenizer, encode
from tests.models.test_active_pairs import check

FAMILIES = ["bert", "roberta", "deberta"]  # WordPiece, byte-level BPE, Unigram
HEADS = ["relu_mlp", "tied_mlp", "bcos"]

#: What a model is made with: two split words.
TEXTS = ["an unwatchable film", "the film was goodly , unwatchable"]
KNOWN = ["unwatchable", "goodly"]
#: Split words that no such model met.
UNMET = ["filmness", "zzzing", "watchly", "cityer", "xqj"]


def build(tmp_path: Path, *args: object, known: bool = True, **settings: object) -> LexicalSAE:
    """A model of which every word speaks that may."""
    own = {"head": "tied_mlp", "texts": TEXTS if known else None, **settings}
    model = build_model(tmp_path, *args, **own)  # type: ignore[arg-type]
    with torch.no_grad():
        model.encoder.bias += 20.0
    return model


def opened(model: LexicalSAE) -> OpenWords:
    assert model.open_words is not None
    return model.open_words


def pieces_of(model: LexicalSAE, word: str) -> Pieces:
    """Of a word that stands after another."""
    split, _ = words_in_pieces(model.vocabulary, *encode(model, [f"good {word}"]))
    [pieces] = split.values()
    return pieces


def column_of(model: LexicalSAE, word: str) -> int:
    [column] = opened(model).columns_of([pieces_of(model, word)])
    return column


@torch.no_grad()
def logits(model: LexicalSAE, texts: Sequence[str]) -> Tensor:
    return model.eval().classify(model(*encode(model, list(texts)))).logits


@torch.no_grad()
def active_names(model: LexicalSAE, text: str) -> set[str]:
    rows = model.eval().classify(model(*encode(model, [text]))).rows
    return {model.vocabulary.names[token] for token in rows.token.tolist()}


@torch.no_grad()
def check_identity(model: LexicalSAE, texts: list[str]) -> None:
    """Σ s·W_eff + b_eff = logits, by the dense tensors; and the compact entries are the dense ones."""
    sequence = model.eval()(*encode(model, texts))
    state = model.classify(sequence)
    total = torch.einsum("bv,bcv->bc", state.sparse_vector, state.W_eff) + state.b_eff
    torch.testing.assert_close(total, state.logits, rtol=1e-4, atol=1e-4)
    assert float(dla_errors(state).max()) <= 1e-4
    check(sequence)


def with_senses(tmp_path: Path, **settings: object) -> LexicalSAE:
    """Two words have three senses each."""
    tokenizer = build_tokenizer()
    tokens = sorted(tokenizer.convert_tokens_to_ids(["bank", "good"]))
    starts = 5 * F.normalize(torch.randn(2, 3, 32, generator=torch.Generator().manual_seed(0)), dim=-1)
    return build(tmp_path, senses=3, chosen=(tokens, starts), **settings)
