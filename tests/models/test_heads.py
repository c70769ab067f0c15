"""The head's logits are exactly Σ s·W_eff + b_eff, in every form W_eff can be asked for."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from splade.errors import ConfigError
from splade.models.heads import HEADS, ReluMLP, TiedMLP
from splade.models.sparse import SparseRows
from tests.builders import sparse_rows

VOCAB, HIDDEN, CLASSES = 10, 8, 3
ROWS = st.lists(
    st.dictionaries(st.integers(0, VOCAB - 1), st.floats(0, 8, width=16), max_size=6), min_size=1, max_size=5
)


def build_head(kind: str, seed: int = 0) -> ReluMLP | TiedMLP:
    torch.manual_seed(seed)
    head = HEADS.get(kind)(VOCAB, HIDDEN, CLASSES, embeddings=torch.randn(VOCAB, 5))
    with torch.no_grad():
        for parameter in head.parameters():  # some start at 0, behind which a mistake could hide
            parameter.copy_(torch.randn_like(parameter))
    return head


HEAD = build_head("relu_mlp")
every_head = pytest.mark.parametrize("head", [HEAD, build_head("tied_mlp")], ids=["relu_mlp", "tied_mlp"])


def first_layer(head: ReluMLP | TiedMLP) -> torch.Tensor:
    """(V, H)."""
    return head.words.double() @ head.mix.double() if isinstance(head, TiedMLP) else head.words.double()


def plain_logits(head: ReluMLP | TiedMLP, rows: SparseRows) -> torch.Tensor:
    """The dense formula, its output layer centred over the classes."""
    hidden = torch.relu(rows.to_dense().double() @ first_layer(head) + head.bias.double())
    logits = hidden @ head.out.weight.double().T + head.out.bias.double()
    return logits - logits.mean(1, keepdim=True)


@every_head
@settings(deadline=None)
@given(rows=ROWS)
def test_logits_are_those_of_the_dense_formula(head: ReluMLP | TiedMLP, rows: list[dict[int, float]]) -> None:
    sparse = sparse_rows(*rows)
    torch.testing.assert_close(head(sparse)[0].double(), plain_logits(head, sparse), rtol=1e-4, atol=1e-4)


@every_head
@settings(deadline=None)
@given(rows=ROWS)
def test_every_logit_is_the_sum_of_its_contributions(head: ReluMLP | TiedMLP, rows: list[dict[int, float]]) -> None:
    sparse = sparse_rows(*rows)
    logits, region = head(sparse)
    W_eff = region.dense()  # (R, C, V)
    assert W_eff.shape == (len(rows), CLASSES, VOCAB)
    total = torch.einsum("rv,rcv->rc", sparse.to_dense(), W_eff) + region.b_eff
    torch.testing.assert_close(total, logits, rtol=1e-5, atol=1e-4)


def test_columns_and_classes_are_parts_of_the_dense_map() -> None:
    _, region = HEAD(sparse_rows({1: 1.0, 3: 2.0}, {0: 4.0}))
    tokens, classes = torch.tensor([7, 1, 3]), torch.tensor([2, 0])
    torch.testing.assert_close(region.columns(tokens), region.dense()[:, :, tokens])
    of_class = region.of_class(classes) @ region.words.T  # (R, V)
    torch.testing.assert_close(of_class, torch.stack([region.dense()[0, 2], region.dense()[1, 0]]))


def test_an_empty_row_says_just_the_bias() -> None:
    for rows in (sparse_rows({}, {2: 3.0}, {}), sparse_rows({}, {}, {})):
        logits, region = HEAD(rows)
        torch.testing.assert_close(logits[[0, 2]], region.b_eff[[0, 2]])
        torch.testing.assert_close(logits[0].double(), plain_logits(HEAD, sparse_rows({}))[0], rtol=1e-5, atol=1e-5)


def test_logits_are_centred_so_that_a_contribution_speaks_for_one_class_rather_than_the_others() -> None:
    logits, region = HEAD(sparse_rows({1: 1.0, 3: 2.0}, {0: 4.0}))
    for quantity in (logits, region.dense(), region.b_eff):
        torch.testing.assert_close(quantity.sum(1), torch.zeros_like(quantity.sum(1)), rtol=0, atol=1e-5)


def test_gradients_are_those_of_the_dense_formula() -> None:
    head, rows = build_head("relu_mlp", 1), sparse_rows({1: 1.0, 3: 2.0}, {}, {3: 0.5})
    value = rows.value.clone().requires_grad_()
    weight = torch.randn(3, CLASSES)
    (head(rows.with_value(value))[0] * weight).sum().backward()
    ours = [value.grad, *(parameter.grad for parameter in head.parameters())]

    plain = build_head("relu_mlp", 1)
    again = rows.value.clone().requires_grad_()
    (plain_logits(plain, rows.with_value(again)) * weight.double()).sum().backward()
    expected = [again.grad, *(parameter.grad for parameter in plain.parameters())]
    for mine, reference in zip(ours, expected, strict=True):
        torch.testing.assert_close(mine, reference, rtol=1e-4, atol=1e-5)


def test_an_unknown_head_lists_the_choices() -> None:
    with pytest.raises(ConfigError, match="relu_mlp"):
        HEADS.get("linear")


def test_tied_words_with_like_embeddings_speak_alike() -> None:
    embeddings = torch.randn(VOCAB, 5)
    embeddings[3] = embeddings[7]
    head = TiedMLP(VOCAB, HIDDEN, CLASSES, embeddings=embeddings)
    with torch.no_grad():
        head.mix.normal_()
    W_eff = head(sparse_rows({0: 1.0}))[1].dense()  # (1, C, V)
    assert torch.equal(W_eff[..., 3], W_eff[..., 7])
    assert not torch.equal(W_eff[..., 3], W_eff[..., 4])
