"""Tagging with the model: `tag()` against the plain formula, the identity, and what may not change a word's tag."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from splade.circuits.core import CircuitState
from splade.circuits.sequence_core import SequenceCircuitState, TagCircuitState
from splade.data.types import TaggedSplit
from splade.evaluation.mechanistic import dla_errors
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.encoder import LexicalEncoder
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import Batch, TaggingTask
from tests.builders import TAGS, build_model, tagged_sentences

SUPPORT = ["full", "dictionary", "neighbourhood", "neighbourhood+dictionary"]

#: A word's row is a weighted sum over its pieces.
SEVERAL: dict[str, object] = {"pooling": "attention", "word_pieces": "all"}

#: A stop word inside an entity, and words that the tokenizer splits.
SENTENCES = [
    (["the", "bank", "of", "england", "is", "unwatchable", "."], [0, 1, 2, 2, 0, 0, 0]),
    (["zzyzx", "saw", "mary", "smith"], [1, 0, 3, 4]),
    (["of"], [0]),
]


def tagger(tmp_path: Path, support: str = "dictionary", **settings: object) -> LexicalSAE:
    texts = [" ".join(words) for words, _ in SENTENCES]
    return build_model(tmp_path, support, classes=len(TAGS), task="tagging", texts=texts, **settings)  # type: ignore[arg-type]


def task_of(model: LexicalSAE, sentences: list[list[str]], tags: list[list[int]], length: int = 64) -> TaggingTask:
    return TaggingTask(TaggedSplit(sentences, tags), model.tokenizer, length, TAGS)


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp() / "tagger"


def small(model: LexicalSAE) -> tuple[TaggingTask, Batch]:
    task = task_of(model, [words for words, _ in SENTENCES], [tags for _, tags in SENTENCES])
    return task, task.batch(range(3))


def plain(model: LexicalSAE, batch: Batch) -> tuple[Tensor, Tensor]:
    """Sparse rows (R, V) and logits (R, C) by the definition: [B, L, V], a maximum over a word's pieces, the head."""
    assert batch.words is not None
    sequence = replace(model(batch.input_ids, batch.attention_mask), groups=batch.words)
    activations = sequence.to_dense().reshape(-1, model.vocab_size)  # (B·L, V)
    flat, rows = batch.words.flatten(), []
    for number in range(int(flat.max()) + 1):
        pieces = (flat == number).nonzero().flatten()
        pieces = pieces[:1] if model.config.word_pieces == "first" else pieces
        rows.append(activations[pieces].amax(0))
    s, head = torch.stack(rows), model.head
    hidden_bias = 0.0 if head.bias is None else head.bias
    out = torch.relu(s @ head.words + hidden_bias) @ head.out.weight.T + head.out.bias
    return s, out - out.mean(1, keepdim=True)


@pytest.mark.parametrize("pieces", ["first", "all"])
@pytest.mark.parametrize("support", SUPPORT)
def test_is_the_plain_formula_in_value_and_gradient(folder: Path, support: str, pieces: str) -> None:
    model = tagger(folder, support, word_pieces=pieces)
    with torch.no_grad():
        model.encoder.bias += 1.0  # of the few words that a neighbourhood lets speak here, many do
    _, batch = small(model)
    state = model.tag(model(batch.input_ids, batch.attention_mask), batch.words)
    s, logits = plain(model, batch)
    torch.testing.assert_close(state.sparse_vector, s, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(state.logits, logits, atol=1e-4, rtol=1e-4)
    assert (s > 0).sum() > 20
    weights = torch.randn(logits.shape, generator=torch.Generator().manual_seed(0))
    watched = {n: p for n, p in model.named_parameters() if p.requires_grad and not n.endswith("gate.raw")}
    mine, theirs = (
        torch.autograd.grad((out * weights).sum(), list(watched.values()), allow_unused=True)
        for out in (state.logits, logits)
    )
    for name, a, b in zip(watched, mine, theirs, strict=True):
        if "gate" not in name and a is not None:  # the dense path gives thresholds the gradient of inactive tokens too
            torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-3, msg=name)
    assert any(a is not None and a.abs().sum() > 0 for n, a in zip(watched, mine, strict=True) if "backbone" in n)


@pytest.mark.parametrize("settings", [{}, {"head": "tied_mlp"}, {"head": "bcos"}, SEVERAL])
@pytest.mark.parametrize("support", SUPPORT)
def test_every_logit_of_every_word_is_the_sum_of_its_tokens(
    folder: Path, support: str, settings: dict[str, object]
) -> None:
    model = tagger(folder, support, **settings)
    task, batch = small(model)
    with torch.no_grad():
        state = task.predict(model, batch)
        assert state.logits.shape == (12, len(TAGS))
        assert float(dla_errors(state).max()) < 1e-4


def test_rows_know_where_they_stand(folder: Path) -> None:
    model = tagger(folder)
    task, batch = small(model)
    state = task.predict(model, batch)
    assert isinstance(state, TagCircuitState) and isinstance(state, CircuitState)
    assert SequenceCircuitState is TagCircuitState
    length = batch.input_ids.shape[1]
    assert (state.place // length).tolist() == [0] * 7 + [1] * 4 + [2]
    starts = [model.tokenizer.convert_ids_to_tokens(int(i)) for i in batch.input_ids.flatten()[state.place]]
    assert starts[:5] == ["the", "bank", "of", "england", "is"] and starts[-1] == "of"
    assert (state.place % length).tolist()[:3] == [1, 2, 3]


def test_some_rows_of_a_state_are_those_rows(folder: Path) -> None:
    model = tagger(folder, "neighbourhood+dictionary", **SEVERAL)
    task, batch = small(model)
    state, rows = task.predict(model, batch), torch.tensor([1, 3, 11])
    part = state.take(rows)
    torch.testing.assert_close(part.sparse_vector, state.sparse_vector[rows])
    assert part.place.tolist() == state.place[rows].tolist()
    whole = compute_attribution_tensor(state, batch.labels).to_dense()[rows]
    torch.testing.assert_close(compute_attribution_tensor(part, batch.labels[rows]).to_dense(), whole)
    assert float(dla_errors(part).max()) < 1e-4 and len(part.scores) == len(part.rows)


def test_without_words_every_position_is_one(folder: Path) -> None:
    model = tagger(folder)
    _, batch = small(model)
    state = model.tag(model(batch.input_ids, batch.attention_mask))
    inside = (batch.attention_mask > 0) & ~model.vocabulary.special[batch.input_ids]
    assert state.place.tolist() == inside.flatten().nonzero().flatten().tolist()


@pytest.mark.parametrize("active", [6, 20])
def test_calibration_counts_the_active_tokens_of_a_word(folder: Path, active: int) -> None:
    """A text has many words: with its thresholds a word would start nearly silent."""
    model = tagger(folder, "full", active=active)
    task = task_of(model, *tagged_sentences(24))
    with torch.no_grad():
        counts = task.predict(model, task.batch(range(24))).rows.counts
    assert 0.5 * active <= counts.float().mean() <= 1.6 * active


def test_padding_is_no_word_whatever_stands_there(folder: Path) -> None:
    model = tagger(folder)
    _, batch = small(model)
    mask = batch.attention_mask
    word = batch.input_ids[0, 2]  # not the padding token: a word that would be tagged if it were read
    padded = torch.where(mask > 0, batch.input_ids, word)
    expected, found = (model.tag(model(ids, mask)) for ids in (batch.input_ids, padded))
    assert (mask == 0).any() and torch.equal(found.place, expected.place)
    torch.testing.assert_close(found.logits, expected.logits, atol=1e-5, rtol=0)


@pytest.mark.parametrize("support", SUPPORT)
def test_a_stop_word_speaks_for_itself_by_other_words(folder: Path, support: str) -> None:
    """Excluded, its token never fires; but "of" in "bank of england" must be able to be part of the name where words
    may speak everywhere. Where a word only speaks for itself, a stop word is silent, and the prior decides."""
    model = tagger(folder, support, active=40)
    task, batch = small(model)
    state = task.predict(model, batch)
    of = 2
    assert (state.rows.counts[of] > 0) == (support != "neighbourhood")
    assert not model.vocabulary.stop[state.rows.token].any()
    assert model.classify(model(batch.input_ids[2:], batch.attention_mask[2:])).rows.counts.tolist() == [0]


@pytest.mark.parametrize("support", ["dictionary", "neighbourhood"])
def test_padding_and_other_sentences_change_nothing(folder: Path, support: str) -> None:
    model = tagger(folder, support)
    task = task_of(model, *tagged_sentences(12))
    with torch.no_grad():
        together = task.predict(model, task.batch(range(12)))
        alone = [task.predict(model, task.batch([row])).logits for row in range(12)]
    torch.testing.assert_close(together.logits, torch.cat(alone), atol=1e-5, rtol=0)


def test_a_word_without_active_tokens_gets_the_bias_alone(folder: Path) -> None:
    model = tagger(folder)
    with torch.no_grad():
        model.encoder.suppress(torch.arange(model.vocab_size))
    task, batch = small(model)
    state = task.predict(model, batch)
    assert len(state.rows) == 0
    torch.testing.assert_close(state.logits, state.b_eff)


def test_positions_nobody_asks_for_are_not_scored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tagger(folder)
    _, batch = small(model)
    assert batch.words is not None
    one = torch.where(batch.words == 1, 0, -1)
    proposed: list[Tensor] = []
    propose = LexicalEncoder.propose

    def noting(self: LexicalEncoder, *args: object, **kwargs: object) -> tuple[Tensor, Tensor, Tensor]:
        found = propose(self, *args, **kwargs)  # type: ignore[arg-type]
        proposed.append(found[0])
        return found

    monkeypatch.setattr(LexicalEncoder, "propose", noting)
    state = model.tag(model(batch.input_ids, batch.attention_mask), one)
    assert state.logits.shape == (1, len(TAGS)) and set(proposed[0].tolist()) == {2}


class TestTopK:
    @pytest.mark.parametrize("k", [1, 3, 10_000])
    def test_keeps_the_highest_and_leaves_rows_with_fewer_alone(self, folder: Path, k: int) -> None:
        model = tagger(folder)
        task, batch = small(model)
        whole = task.predict(model, batch)
        model.topk_per_position = k
        capped = task.predict(model, batch)
        assert torch.equal(capped.rows.counts, whole.rows.counts.clamp(max=k))
        few = whole.rows.counts <= k
        torch.testing.assert_close(capped.logits[few], whole.logits[few])
        torch.testing.assert_close(capped.sparse_vector[few], whole.sparse_vector[few], rtol=0, atol=0)
        lowest = torch.where(capped.sparse_vector > 0, capped.sparse_vector, torch.inf).amin(1)
        dropped = torch.where(capped.sparse_vector > 0, 0.0, whole.sparse_vector).amax(1)
        assert (dropped <= lowest).all()
        assert float(dla_errors(capped).max()) < 1e-4 and len(capped.scores) == len(capped.rows)

    def test_is_not_for_training(self, folder: Path) -> None:
        model = tagger(folder, topk_per_position=1).train()
        task, batch = small(model)
        assert int((task.predict(model, batch).rows.value > 0).sum()) > 12
