"""The head's logits are exactly Σ s·W_eff + b_eff, in every form W_eff can be asked for."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from splade.config.schema import ModelConfig
from splade.config.variants import make
from splade.errors import ConfigError
from splade.models.heads import HEADS, BcosHead, BcosSettings, HeadParts, MLPSettings, ReluMLP, TiedMLP
from splade.models.sparse import SparseRows
from tests.builders import sparse_rows

VOCAB, HIDDEN, CLASSES = 10, 8, 3
ROWS = st.lists(
    st.dictionaries(st.integers(0, VOCAB - 1), st.floats(0, 8, width=16), max_size=6), min_size=1, max_size=5
)


Head = ReluMLP | TiedMLP | BcosHead


def build_head(kind: str, seed: int = 0, **settings: Any) -> Head:
    torch.manual_seed(seed)
    config = ModelConfig(head=kind, **settings)  # type: ignore[arg-type]
    head = make(HEADS, kind, config, HeadParts(torch.randn(VOCAB, 5), HIDDEN, CLASSES))
    with torch.no_grad():
        for parameter in head.parameters():  # some start at 0, behind which a mistake could hide
            parameter.copy_(torch.randn_like(parameter))
    return head


HEAD = build_head("relu_mlp")
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "relu_mlp": ("relu_mlp", {}),
    "relu_mlp without a bias": ("relu_mlp", {"hidden_bias": False}),
    "tied_mlp": ("tied_mlp", {}),
    "tied_mlp without a bias": ("tied_mlp", {"hidden_bias": False}),
    "bcos": ("bcos", {}),
    "bcos of 3": ("bcos", {"head_layers": 3}),
}
every_kind = pytest.mark.parametrize("kind, given", KINDS.values(), ids=KINDS)
every_head = pytest.mark.parametrize(
    "head", [build_head(kind, 0, **given) for kind, given in KINDS.values()], ids=KINDS
)


def first_layer(head: ReluMLP | TiedMLP) -> torch.Tensor:
    """(V, H)."""
    return head.words.double() @ head.mix.double() if isinstance(head, TiedMLP) else head.words.double()


def plain_bcos(head: BcosHead, rows: SparseRows) -> torch.Tensor:
    """out = √n·|cos(x, w)|·ŵ·x, layer by layer."""
    x = rows.to_dense().double()
    for weight in [head.words.double().T, *(weight.double() for weight in head.layers)]:
        unit = F.normalize(weight, dim=1)
        cosine = F.cosine_similarity(x[:, None], weight[None], dim=-1, eps=1e-6)  # (R, m)
        x = weight.shape[1] ** 0.5 * cosine.abs() * (x @ unit.T)
    return x


def plain_logits(head: Head, rows: SparseRows) -> torch.Tensor:
    """The dense formula, its output layer centred over the classes."""
    if isinstance(head, BcosHead):
        logits = plain_bcos(head, rows)
        return logits - logits.mean(1, keepdim=True)
    bias = 0.0 if head.bias is None else head.bias.double()
    hidden = torch.relu(rows.to_dense().double() @ first_layer(head) + bias)
    logits = hidden @ head.out.weight.double().T + head.out.bias.double()
    return logits - logits.mean(1, keepdim=True)


@every_head
@settings(deadline=None)
@given(rows=ROWS)
def test_logits_are_those_of_the_dense_formula(head: Head, rows: list[dict[int, float]]) -> None:
    sparse = sparse_rows(*rows)
    torch.testing.assert_close(head(sparse)[0].double(), plain_logits(head, sparse), rtol=1e-4, atol=1e-4)


@every_head
@settings(deadline=None)
@given(rows=ROWS)
def test_every_logit_is_the_sum_of_its_contributions(head: Head, rows: list[dict[int, float]]) -> None:
    sparse = sparse_rows(*rows)
    logits, region = head(sparse)
    W_eff = region.dense()  # (R, C, V)
    assert W_eff.shape == (len(rows), CLASSES, VOCAB)
    total = torch.einsum("rv,rcv->rc", sparse.to_dense(), W_eff) + region.b_eff
    torch.testing.assert_close(total, logits, rtol=1e-5, atol=1e-4)


@every_head
def test_columns_and_classes_are_parts_of_the_dense_map(head: Head) -> None:
    _, region = head(sparse_rows({1: 1.0, 3: 2.0}, {0: 4.0}))
    tokens, classes = torch.tensor([7, 1, 3]), torch.tensor([2, 0])
    torch.testing.assert_close(region.columns(tokens), region.dense()[:, :, tokens])
    of_class = region.of_class(classes) @ region.words.float().T  # (R, V)
    torch.testing.assert_close(of_class, torch.stack([region.dense()[0, 2], region.dense()[1, 0]]))


@every_head
def test_an_empty_row_says_just_the_bias(head: Head) -> None:
    for rows in (sparse_rows({}, {2: 3.0}, {}), sparse_rows({}, {}, {})):
        logits, region = head(rows)
        torch.testing.assert_close(logits[[0, 2]], region.b_eff[[0, 2]])
        torch.testing.assert_close(logits[0].double(), plain_logits(head, sparse_rows({}))[0], rtol=1e-5, atol=1e-5)


@every_head
def test_logits_are_centred_so_that_a_contribution_speaks_for_one_class_rather_than_the_others(head: Head) -> None:
    logits, region = head(sparse_rows({1: 1.0, 3: 2.0}, {0: 4.0}))
    for quantity in (logits, region.dense(), region.b_eff):
        torch.testing.assert_close(quantity.sum(1), torch.zeros_like(quantity.sum(1)), rtol=0, atol=1e-4)


@every_kind
def test_gradients_are_those_of_the_dense_formula(kind: str, given: dict[str, Any]) -> None:
    head, rows = build_head(kind, 1, **given), sparse_rows({1: 1.0, 3: 2.0}, {}, {3: 0.5})
    value = rows.value.clone().requires_grad_()
    weight = torch.randn(3, CLASSES)
    (head(rows.with_value(value))[0] * weight).sum().backward()
    ours = [value.grad, *(parameter.grad for parameter in head.parameters())]

    plain = build_head(kind, 1, **given)
    again = rows.value.clone().requires_grad_()
    (plain_logits(plain, rows.with_value(again)) * weight.double()).sum().backward()
    expected = [again.grad, *(parameter.grad for parameter in plain.parameters())]
    for mine, reference in zip(ours, expected, strict=True):
        torch.testing.assert_close(mine, reference, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["relu_mlp", "tied_mlp"])
def test_without_a_hidden_bias_what_no_word_says_is_one_prior(kind: str) -> None:
    """And the head is positively homogeneous: twice the activations say twice as much."""
    head = build_head(kind, hidden_bias=False)
    rows = sparse_rows({1: 1.0, 3: 2.0}, {0: 4.0}, {})
    logits, region = head(rows)
    torch.testing.assert_close(region.b_eff, region.b_eff[:1].expand(3, CLASSES), rtol=0, atol=0)
    doubled = head(rows.with_value(2 * rows.value))[0]
    torch.testing.assert_close(doubled - region.b_eff, 2 * (logits - region.b_eff))


@pytest.mark.parametrize("kind", ["relu_mlp", "tied_mlp"])
def test_a_new_head_without_a_hidden_bias_can_learn(kind: str) -> None:
    torch.manual_seed(0)
    config = ModelConfig(head=kind, hidden_bias=False)  # type: ignore[arg-type, call-arg]
    head = make(HEADS, kind, config, HeadParts(torch.randn(VOCAB, 5), HIDDEN, CLASSES))
    (head(sparse_rows({1: 1.0, 3: 2.0}))[0] * torch.tensor([1.0, 0.0, -1.0])[:CLASSES]).sum().backward()
    first = head.mix if isinstance(head, TiedMLP) else head.words
    assert first.grad is not None and bool((first.grad != 0).any())


def test_an_unknown_head_lists_the_choices() -> None:
    with pytest.raises(ConfigError, match="relu_mlp"):
        HEADS.get("linear")


@pytest.mark.parametrize("rows", [1, 40], ids=["fewer rows than tokens", "more"])
def test_tied_words_may_be_mixed_before_or_after_they_are_summed(rows: int) -> None:
    head = build_head("tied_mlp")
    given_rows = sparse_rows(*[{number % 5: 1.0 + number, 7: 0.5, 9: 2.0} for number in range(rows)], vocab_size=VOCAB)
    logits, region = head(given_rows)
    torch.testing.assert_close(logits.double(), plain_logits(head, given_rows), atol=1e-4, rtol=1e-4)
    again = torch.einsum("rcv,rv->rc", region.dense(), given_rows.to_dense()) + region.b_eff
    torch.testing.assert_close(again, logits, atol=1e-4, rtol=1e-4)


def test_tied_words_with_like_embeddings_speak_alike() -> None:
    embeddings = torch.randn(VOCAB, 5)
    embeddings[3] = embeddings[7]
    head = TiedMLP(HeadParts(embeddings, HIDDEN, CLASSES), MLPSettings())
    with torch.no_grad():
        head.mix.normal_()
    W_eff = head(sparse_rows({0: 1.0}))[1].dense()  # (1, C, V)
    assert torch.equal(W_eff[..., 3], W_eff[..., 7])
    assert not torch.equal(W_eff[..., 3], W_eff[..., 4])


class TestBcos:
    @pytest.mark.parametrize("layers", [2, 3])
    @settings(deadline=None, max_examples=15)
    @given(rows=ROWS, steps=st.integers(1, 8))
    def test_stays_exact_while_it_learns(self, layers: int, rows: list[dict[int, float]], steps: int) -> None:
        head, sparse = build_head("bcos", 2, head_layers=layers), sparse_rows(*rows)
        optimizer = torch.optim.AdamW(head.parameters(), lr=0.05)
        for _ in range(steps):
            optimizer.zero_grad()
            F.cross_entropy(head(sparse)[0], torch.zeros(len(rows), dtype=torch.long)).backward()
            optimizer.step()
        logits, region = head(sparse)
        total = torch.einsum("rv,rcv->rc", sparse.to_dense(), region.dense())
        torch.testing.assert_close(total, logits, rtol=1e-5, atol=1e-4)
        assert not region.b_eff.any()

    @pytest.mark.parametrize("layers", [2, 3])
    def test_the_length_of_weights_does_not_matter(self, layers: int) -> None:
        head, rows = build_head("bcos", 0, head_layers=layers), sparse_rows({1: 1.0, 3: 2.0}, {0: 4.0})
        before = head(rows)[0]
        with torch.no_grad():
            head.words *= 3.0
            for weight in head.layers:
                weight *= 0.2
        torch.testing.assert_close(head(rows)[0], before)

    @pytest.mark.parametrize("layers", [2, 3])
    def test_learns_from_its_start(self, layers: int) -> None:
        """A unit whose cosine is 0 gets no gradient; the start must not be there."""
        torch.manual_seed(0)
        head = BcosHead(HeadParts(torch.zeros(1000, 1), HIDDEN, 2), BcosSettings(layers))
        rows, labels = sparse_rows(*({n: 2.0, n + 100: 1.0} for n in range(20)), vocab_size=1000), torch.arange(20) % 2
        optimizer = torch.optim.AdamW(head.parameters(), lr=1e-2)
        for _ in range(60):
            optimizer.zero_grad()
            F.cross_entropy(head(rows)[0], labels).backward()
            optimizer.step()
        assert torch.equal(head(rows)[0].argmax(1), labels)

    def test_has_no_gradient_of_an_empty_row_that_is_not_a_number(self) -> None:
        head, rows = build_head("bcos", 0, head_layers=3), sparse_rows({}, {2: 0.0}, {1: 1.0})
        value = rows.value.clone().requires_grad_()
        head(rows.with_value(value))[0].sum().backward()
        assert all(p.grad.isfinite().all() for p in [value, *head.parameters()])
