"""Senses: one column each, chosen by the hidden state, against the plain implementation; and how they are chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from splade.config.schema import EvaluationConfig, ModelConfig
from splade.data.batching import encode_texts
from splade.data.types import TextSplit
from splade.errors import ConfigError
from splade.evaluation.input_share import size_on_input
from splade.evaluation.mechanistic import dla_errors, evaluate
from splade.evaluation.self_activation import SelfActivation
from splade.inference import explain_batch
from splade.models import sense_choice
from splade.models.backbone import Backbone
from splade.models.encoder import LexicalEncoder, SparseSequence
from splade.models.layers.activation import JumpReLUGate
from splade.models.layers.virtual_expander import VirtualExpander
from splade.models.lexical_sae import LexicalSAE
from splade.models.pooling import POOLINGS
from splade.models.sense_choice import choose_senses
from splade.pipelines import setup_and_train
from splade.tasks import ClassificationTask
from tests.builders import build_backbone_folder, build_model, encode, toy_reviews
from tests.models.test_encoder import TOKENIZER, VOCAB, VOCABULARY, WIDTH, random_sequence
from tests.runs import SPLIT_WORDS, ToyRun
from tests.support_builders import build_support

WORDS = ["bank", "good", "card"]
TOKENS = VOCABULARY.tokens
CHOSEN = sorted(TOKENIZER.convert_tokens_to_ids(WORDS))
M = 3
HEADS = ["relu_mlp", "tied_mlp", "bcos"]


def build_encoder(pooling: str = "max", support: str = "full", seed: int = 0) -> LexicalEncoder:
    """As in the encoder's tests, with three tokens of three senses each, which score high."""
    generator = torch.Generator().manual_seed(seed)
    senses = VirtualExpander(VOCAB, CHOSEN, torch.randn(len(CHOSEN), M, WIDTH, generator=generator))
    gate = JumpReLUGate(VOCAB + len(senses.extra))
    gate.calibrate(3.0, 2.0)
    with torch.no_grad():
        gate.raw += 0.3 * torch.randn(len(gate.raw), generator=generator)
    made = build_support(support, VOCABULARY, torch.randn(VOCAB, 6, generator=generator), exclude_stop_words=False)
    weight, bias = torch.randn(VOCAB, WIDTH, generator=generator), 0.5 * torch.randn(VOCAB, generator=generator)
    bias[CHOSEN] += 3.0
    return LexicalEncoder(weight, bias, gate, [made], True, POOLINGS.get(pooling)(WIDTH), senses)


def plain_pool(sequence: SparseSequence) -> Tensor:
    """(B, V): every column of every position, times one-hot forward and softmax backward, then pooled."""
    encoder, senses = sequence.encoder, sequence.encoder.senses
    assert senses is not None
    z = (sequence.hidden @ encoder.weight.T + encoder.bias)[..., encoder.base]  # (B, L, V)
    allowed = encoder.supports[0].allows(sequence.input_ids, sequence.attention_mask.bool())[..., encoder.base]
    taken = torch.ones_like(z)
    for number in range(len(CHOSEN)):
        p = (sequence.hidden @ senses.weight[number].T + senses.bias[number]).softmax(-1)  # (B, L, M)
        hard = torch.zeros_like(p).scatter(-1, p.argmax(-1, keepdim=True), 1.0)
        later = VOCAB + number * (M - 1)
        columns = [CHOSEN[number], *range(later, later + M - 1)]
        taken[..., columns] = hard + (p - p.detach())
    value = torch.where(allowed & ~encoder.suppressed, z * (z > encoder.gate.theta) * taken, 0.0)
    if hasattr(encoder.pooling, "query"):
        return (encoder.pooling.weights(sequence)[..., None] * value).sum(1)
    return value.max(1).values


@pytest.mark.parametrize("pooling", ["max", "attention"])
@pytest.mark.parametrize("support", ["full", "neighbourhood"])
@pytest.mark.parametrize("seed", range(4))
def test_one_sense_speaks_at_a_position(pooling: str, support: str, seed: int) -> None:
    encoder = build_encoder(pooling, support, seed)
    sequence = random_sequence(encoder, 8, 9, seed)
    sequence.input_ids[:, ::2] = CHOSEN[0]
    sequence.attention_mask[:] = 1
    for training in (True, False):
        rows, _ = encoder.train(training).pool(sequence)
        torch.testing.assert_close(rows.to_dense(), plain_pool(sequence), rtol=1e-5, atol=1e-5)
        key = rows.row * encoder.vocab_size + rows.token
        assert (key[1:] > key[:-1]).all()
    dense = sequence.to_dense()  # (B, L, V)
    by_senses = torch.stack([(dense[..., encoder.base == token] > 0).sum(-1) for token in CHOSEN])
    assert by_senses.max() == 1
    if support == "full":
        assert len(rows.token[encoder.base[rows.token] == CHOSEN[0]].unique()) > 1  # different ones at different places


def test_the_choice_learns_also_from_senses_not_taken() -> None:
    """With attention pooling, whose values are sums, the gradient is that of the plain formula for every sense."""
    encoder = build_encoder("attention").train()
    sequence = random_sequence(encoder, 4, 9, 1)
    weight = torch.randn(4, encoder.vocab_size, generator=torch.Generator().manual_seed(3))
    assert encoder.senses is not None
    wanted = [encoder.senses.weight, encoder.senses.bias, sequence.hidden]
    ours = torch.autograd.grad((encoder.pool(sequence)[0].to_dense() * weight).sum(), wanted)
    plain = torch.autograd.grad((plain_pool(sequence) * weight).sum(), wanted)
    assert ours[0].abs().sum() > 0
    for mine, expected in zip(ours, plain, strict=True):
        torch.testing.assert_close(mine, expected, rtol=1e-4, atol=1e-4)


def test_senses_not_taken_are_not_active() -> None:
    encoder = build_encoder().train()
    rows, z = encoder.pool(random_sequence(encoder, 4, 9, 1))
    assert torch.equal(encoder.gate.opens(z, rows.token), rows.value > 0)
    assert ((rows.value == 0) & torch.isin(encoder.base[rows.token], torch.tensor(CHOSEN))).any()


@pytest.mark.parametrize("pooling", ["max", "attention"])
@pytest.mark.parametrize("which", [0, -1])
def test_suppression_covers_all_senses(pooling: str, which: int) -> None:
    encoder = build_encoder(pooling).eval()
    sequence = random_sequence(encoder, 4, 9, 2)
    columns = (encoder.base == CHOSEN[1]).nonzero()[:, 0]
    assert encoder.pool(sequence)[0].to_dense()[:, columns].any()
    encoder.suppress(columns[which][None])  # whichever of them is named
    assert not encoder.pool(sequence)[0].to_dense()[:, columns].any()
    assert not sequence.to_dense()[..., columns].any()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def build(folder: Path, head: str = "relu_mlp", pooling: str = "max") -> LexicalSAE:
    starts = 5 * F.normalize(torch.randn(len(CHOSEN), M, 32, generator=torch.Generator().manual_seed(0)), dim=-1)
    model = build_model(folder, "full", classes=3, head=head, pooling=pooling, senses=M, chosen=(CHOSEN, starts))
    with torch.no_grad():
        model.encoder.bias[CHOSEN] += 20.0  # active everywhere
    return model


TEXTS = [*toy_reviews(5, seed=2)[0], "the bank was good , a good card bank", ""]


@pytest.mark.parametrize("pooling", ["max", "attention"])
@pytest.mark.parametrize("head", HEADS)
def test_every_sense_is_an_entry_of_its_own_in_exact_sums(folder: Path, head: str, pooling: str) -> None:
    model = build(folder, head, pooling)
    ids, mask = encode(model, TEXTS)
    for training in (True, False):
        state = model.train(training).classify(model(ids, mask))
        assert float(dla_errors(state).max()) <= 1e-4
        state.logits.sum().backward()
    assert model.vocab_size == TOKENS + len(CHOSEN) * (M - 1) == len(model.vocabulary)
    assert max(explanation.check() for explanation in explain_batch(model, TEXTS)) <= 1e-4
    names = {token.token for explanation in explain_batch(model, TEXTS) for token in explanation.tokens}
    assert names & {f"{word}#{number}" for word in WORDS for number in range(2, M + 1)}


@pytest.mark.parametrize("head", HEADS)
def test_a_sense_starts_as_its_word_and_may_leave_it(folder: Path, head: str) -> None:
    backbone, tokenizer = Backbone.from_name(str(build_backbone_folder(folder / head, "bert")))
    config = ModelConfig(head=head, hidden_size=8, neighbours=6, support="full", senses=2)  # type: ignore[arg-type]
    model = LexicalSAE(backbone, tokenizer, ["a", "b"], config, max_length=32, senses=(CHOSEN, torch.randn(3, 2, 32)))
    words = model.classify(model(*encode(model, TEXTS[:2]))).region.words.float()
    senses, own = words[TOKENS:], words[CHOSEN]
    assert len(senses) == len(CHOSEN)
    assert 0 < (senses - own).abs().max() < 0.1
    learns = model.head.offset if head == "tied_mlp" else model.head.words
    assert learns.requires_grad


def test_a_saved_model_with_senses_is_read_back(folder: Path, tmp_path: Path) -> None:
    model = build(folder, "tied_mlp", "attention")
    model.save_pretrained(tmp_path / "model")
    again = LexicalSAE.from_pretrained(tmp_path / "model", "cpu")
    assert again.vocabulary.names == model.vocabulary.names
    with torch.no_grad():
        found, expected = (m.classify(m(*encode(model, TEXTS))).logits for m in (again, model))
    torch.testing.assert_close(found, expected)


def test_a_sense_stands_where_its_word_does(folder: Path) -> None:
    model = build(folder)
    vocabulary = model.vocabulary
    assert vocabulary.match("Bank") == [vocabulary.names.index(name) for name in ("bank", "bank#2", "bank#3")]
    task = ClassificationTask(TextSplit(["bank bank"], [0]), model.tokenizer, 16)
    (batch,) = task.in_order(1, torch.device("cpu"))
    rows = model.classify(model(batch.input_ids, batch.attention_mask)).rows
    row, token = torch.tensor([0, 0]), torch.tensor(vocabulary.match("bank")[1:])
    sense = type(rows)(row, token, torch.zeros_like(row), torch.ones(2), 1, rows.vocab_size)
    place = task.row_of_position(batch)
    assert size_on_input(batch.input_ids, place, sense, model.encoder.base) == (2.0, 2.0)
    assert size_on_input(batch.input_ids, place, sense) == (0.0, 2.0)
    found = evaluate(model, task, EvaluationConfig(measures=["self_activation"]), share=0.1)
    assert 0 <= found[SelfActivation].self_activation <= 1


class TestChoice:
    """The tokens of a stand-in for a backbone whose states of one word fall into two groups."""

    texts = ["bank money account", "water bank city", "good film plot", "a good story cast"] * 12

    class TwoMeanings(torch.nn.Module):
        vocab_size, hidden_size = TOKENS, 4

        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(4, 4)

        def input_embeddings(self) -> torch.nn.Embedding:
            return self.table

        def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
            generator = torch.Generator().manual_seed(0)
            hidden = torch.randn(*ids.shape, 4, generator=generator)
            water = (ids == TOKENIZER.convert_tokens_to_ids("water")).any(1)
            hidden[..., 0] += 20.0 * water[:, None]
            return hidden

    def choose(self, words: str | list[str], senses: int = 2):  # type: ignore[no-untyped-def]
        config = ModelConfig(senses=senses, sense_tokens=words)  # type: ignore[arg-type]
        return choose_senses(config, self.TwoMeanings(), TOKENIZER, encode_texts(self.texts, TOKENIZER, 16), 0)  # type: ignore[arg-type]

    def test_finds_the_word_whose_states_fall_into_groups(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sense_choice, "LEAST_EXPLAINED", 0.8)
        tokens, starts = self.choose("auto")
        assert tokens == TOKENIZER.convert_tokens_to_ids(["bank"])
        assert (starts[0, :, 0] - starts[0, :, 0].flip(0)).abs().min() > 15  # one mean in each group

    def test_a_list_is_taken_as_it_is(self) -> None:
        tokens, starts = self.choose(["film", "bank", "moscow"], 3)  # one of them is in no text
        assert tokens == sorted(TOKENIZER.convert_tokens_to_ids(["bank", "film", "moscow"]))
        assert starts.shape == (3, 3, 4) and starts.isfinite().all()
        assert torch.equal(starts, self.choose(["film", "bank", "moscow"], 3)[1])

    def test_the_texts_read_follow_the_seed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sense_choice, "MOST_OCCURRENCES", 4)  # of 24, with and without water
        first = self.choose(["bank"])[1]
        assert all(torch.equal(self.choose(["bank"])[1], first) for _ in range(4))

    def test_what_cannot_be_had_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(ConfigError, match="'snooze'"):
            self.choose(["bank", "snooze"])
        monkeypatch.setattr(sense_choice, "LEAST_EXPLAINED", 1.0)
        with pytest.raises(ConfigError, match=r"list the words, or set model\.senses to 1"):
            self.choose("auto")

    def test_nothing_unless_asked_for(self) -> None:
        assert self.choose("auto", 1) is None


def test_a_whole_training_with_senses(toy_run: ToyRun, tmp_path: Path) -> None:
    config = toy_run.config(tmp_path / "out", model__senses=2, model__sense_tokens=["bank", "good", "bad"])
    run = setup_and_train(config)
    assert run.prepared.model.vocab_size == TOKENS + len(SPLIT_WORDS) + 1 + 3  # 1: what rare words share
    assert [run.prepared.model.vocabulary.names[-number] for number in (3, 2, 1)] == ["good#2", "bad#2", "bank#2"]
    assert run.outcome.validation["accuracy"] >= 0.7
    assert run.prepared.model.encoder.senses is not None
