"""Activations above zero without the dense tensor: the same entries and values as `to_dense()` has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from splade.models.encoder import SparseSequence
from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_model, encode, tagged_sentences, toy_reviews

TEXTS = [*toy_reviews(9, seed=4)[0], "the bank was good , a good card bank", "unwatchable", ""]
SUPPORTS = ["full", "neighbourhood", "dictionary", "neighbourhood+dictionary"]


def with_senses(tmp_path: Path, support: str, pooling: str = "max") -> LexicalSAE:
    """A model of which three words have three senses each, active wherever the support allows."""
    tokens = sorted(build_model(tmp_path).tokenizer.convert_tokens_to_ids(["bank", "good", "card"]))
    starts = 5 * F.normalize(torch.randn(3, 3, 32, generator=torch.Generator().manual_seed(0)), dim=-1)
    model = build_model(tmp_path, support, active=40, pooling=pooling, senses=3, chosen=(tokens, starts), texts=TEXTS)
    with torch.no_grad():
        model.encoder.bias[tokens] += 20.0
    return model


def check(sequence: SparseSequence) -> int:
    """Compare both forms; returns the number of entries."""
    with torch.no_grad():
        dense = sequence.to_dense().flatten(0, 1)  # (B·L, V)
        position, column, value = sequence.active_pairs()
    found = torch.zeros_like(dense)
    found[position, column] = value
    assert torch.equal(found > 0, dense > 0) and bool((value > 0).all())
    torch.testing.assert_close(found, dense, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(value, dense[position, column], rtol=1e-5, atol=1e-5)  # also one proposed twice
    return int((dense > 0).sum())


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("support", SUPPORTS)
def test_of_a_classifier(tmp_path: Path, support: str, training: bool) -> None:
    model = build_model(tmp_path, support, active=40, texts=TEXTS).train(training)
    assert check(model(*encode(model, TEXTS))) > 50


@pytest.mark.parametrize("pooling", ["max", "attention"])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("support", SUPPORTS)
def test_with_senses(tmp_path: Path, support: str, training: bool, pooling: str) -> None:
    model = with_senses(tmp_path, support, pooling).train(training)
    sequence = model(*encode(model, TEXTS))
    assert check(sequence) > 100
    assert bool((sequence.active_pairs()[1] >= len(model.encoder.bias)).any())  # columns of further senses


@pytest.mark.parametrize("support", SUPPORTS)
def test_of_the_words_of_a_tagger(tmp_path: Path, support: str) -> None:
    texts = [" ".join(words) for words in tagged_sentences(24)[0]]
    model = build_model(tmp_path, support, task="tagging", active=20, texts=texts)
    sequence = model.by_word(model(*encode(model, texts)))
    assert check(sequence) > 100
    groups = torch.where(sequence.groups % 2 == 0, sequence.groups // 2, -1)  # only every second word is asked
    few = replace(sequence, groups=groups)
    assert 0 < check(few) < check(sequence)
    assert bool((few.row_of_position[few.active_pairs()[0]] >= 0).all())


def test_of_suppressed_tokens_and_of_silence(tmp_path: Path) -> None:
    model = with_senses(tmp_path, "full")
    sequence = model(*encode(model, TEXTS))
    most = sequence.active_pairs()[1].bincount().argmax()
    model.encoder.suppress(most[None])
    assert check(sequence) > 0 and not bool((sequence.active_pairs()[1] == most).any())
    model.encoder.suppress(torch.arange(model.vocab_size))
    assert check(sequence) == 0
