"""Words that speak for the words around them: who hears whom, exact sums over words of the sentence, any text."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from splade.data.types import TaggedSplit
from splade.errors import ConfigError
from splade.mechanistic.attribution import compute_active_slice_weff, compute_attribution_tensor
from splade.models.context import Context, word_starts
from splade.models.encoder import SparseSequence
from splade.models.heads import HeadParts, MLPSettings, TiedMLP
from splade.models.lexical_sae import LexicalSAE
from splade.models.open_words import OFTEN, split_words_of
from splade.models.state import TagCircuitState
from splade.tasks import TaggingTask
from tests.builders import TAGS, build_model, position_scores, sparse_rows, tagged_sentences

# Words that the tokenizer holds, splits (also at marks), and that are silent.
WORDS = [
    "john",
    "paris",
    "movie",
    "good",
    "bank",
    "unwatchable",
    "german-made",
    "u.s.",
    "tedious",
    "the",
    "of",
    ",",
    "19",
]


def build_tagger(folder: Path, context: int = 2, **model_settings: object) -> LexicalSAE:
    """A tagger whose matrices M are no longer at their start, behind which a mistake could hide."""
    chosen = {"head": "tied_mlp", "active": 40, **model_settings}
    model = build_model(folder, task="tagging", context=context, **chosen)  # type: ignore[arg-type]
    if model.encoder.context is not None:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(2)
            model.encoder.context.mix.add_(0.1 * torch.randn_like(model.encoder.context.mix))
    return model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("context")


@pytest.fixture(scope="module", params=[1, 4])
def model(folder: Path, request: pytest.FixtureRequest) -> LexicalSAE:
    return build_tagger(folder, aspects=request.param)


def tag(model: LexicalSAE, *sentences: list[str]) -> TagCircuitState:
    task = TaggingTask.unlabelled(sentences, model)
    with torch.no_grad():
        return task.predict(model, task.batch(range(len(task))))


def sequence_of(words: list[list[int]]) -> SparseSequence:
    numbers = torch.tensor(words)
    groups = torch.where(word_starts(numbers), numbers.clamp(min=-1), -1)
    return SparseSequence(torch.zeros(*numbers.shape, 2), numbers, numbers, None, groups, numbers)  # type: ignore[arg-type]


class TestWhoHearsWhom:
    def test_a_word_begins_where_its_number_does(self) -> None:
        words = torch.tensor([[-1, 0, 0, 1, -5, -5, -6, -1], [1, 2, 2, -1, 3, 3, -1, -1]])
        assert word_starts(words).int().tolist() == [[0, 1, 0, 1, 1, 0, 1, 0], [1, 1, 0, 0, 1, 0, 0, 0]]

    def test_by_hand(self) -> None:
        """Two texts: words 0 (two pieces), 1 and one that is only shown; then word 2 alone."""
        here, role, there = Context(2, 1).heard(sequence_of([[-1, 0, 0, 1, -7, -1], [-1, 2, -1, -1, -1, -1]]))
        heard = {(h, (0, -1, 1)[r], t) for h, r, t in zip(*(x.tolist() for x in (here, role, there)), strict=True)}
        assert heard == {(1, 0, 1), (1, 1, 3), (3, 0, 3), (3, -1, 1), (3, 1, 4), (7, 0, 7)}

    def test_itself_comes_first(self) -> None:
        assert Context(4, 2).offsets == (0, -1, 1, -2, 2)

    def test_aspects_are_halved_with_distance(self) -> None:
        assert Context(4, 2, 4).offsets == (0, 0, 0, 0, -1, -1, 1, 1, -2, 2)
        assert Context(4, 3, 2).offsets == (0, 0, -1, 1, -2, 2, -3, 3)

    def test_no_word_at_all(self) -> None:
        assert [len(each) for each in Context(2, 2).heard(sequence_of([[-1, -1]]))] == [0, 0, 0]

    def test_states_by_hand(self) -> None:
        """One word of state (1, 2) with another of (3, 5) on its right, M of the offset +1 being [0 | 2I] + [I | 0]."""
        context = Context(2, 1)
        with torch.no_grad():
            context.mix[2] = torch.tensor([[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 2.0]])
        sequence = sequence_of([[0, -7]])
        sequence.hidden[0] = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
        views = context.views(sequence)
        assert views.role is not None and views.row.tolist() == [0, 0]
        found = {offset: state for offset, state in zip(views.role.tolist(), views.state.tolist(), strict=True)}
        assert found == {0: [1.0, 2.0], 2: [3.0 + 2 * 1.0, 5.0 + 2 * 2.0]} and views.position.tolist() == [0, 1]


def test_the_head_by_hand() -> None:
    """Two tokens of embeddings ±(1, 0), two offsets: A is (1, 0 | 0, 0) for one, (0, 2 | 0, 0) for the other."""
    head = TiedMLP(HeadParts(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), 2, 2, blocks=2), MLPSettings(hidden_bias=False))
    with torch.no_grad():
        head.mix.copy_(torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.0, 0.0]]))
        head.out.weight.copy_(torch.tensor([[1.0, 3.0], [-1.0, -3.0]]))
        head.out.bias.copy_(torch.tensor([0.5, -0.5]))
        logits, region = head(sparse_rows({0: 10.0, 2: 5.0}, {1: 4.0, 3: 1.0, 2: 2.0}, vocab_size=4))
    # Row 0: token 0 here opens unit 0 by 10, token 0 there unit 1 by 10; row 1: unit 0 is shut, unit 1 gets 2·(2 − 1).
    assert torch.allclose(logits, torch.tensor([[10 + 30 + 0.5, -40.5], [6 + 0.5, -6.5]]))
    weights = torch.tensor([[1.0, -1.0, 6.0, -6.0], [0.0, 0.0, 6.0, -6.0]])  # unit 0 counts in the first row only
    assert torch.allclose(region.dense()[:, 0], weights)
    assert torch.allclose(region.columns(torch.tensor([3, 0]))[:, 1], -weights[:, [3, 0]])
    row, column = torch.tensor([0, 1]), torch.tensor([2, 3])
    assert torch.allclose(region.entries(torch.tensor([0, 0]), row, column), weights[row, column])


sentences = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), min_size=1, max_size=4)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sentences)
def test_every_logit_is_a_sum_over_tokens_and_over_words(model: LexicalSAE, texts: list[list[str]]) -> None:
    state = tag(model, *texts)
    assert state.logits.shape[0] == sum(map(len, texts))
    for number in range(len(TAGS)):
        classes = torch.full((len(state.logits),), number)
        attribution = compute_attribution_tensor(state, classes)
        gap = attribution.sum_rows() + state.b_eff[:, number] - state.logits[:, number]
        assert gap.abs().max() < 1e-4
        dense = (state.sparse_vector * state.W_eff[torch.arange(len(classes)), classes]).sum(1) + state.b_eff[:, number]
        assert torch.allclose(dense, state.logits[:, number], atol=1e-4)
    for text, found in zip(texts, model.explain(texts, word=len(texts[0]) - 1), strict=True):
        for word in found.explained:
            assert word.explanation.check() < 1e-4
            assert [w.word for w in word.explanation.words] == text[max(0, word.number - 2) : word.number + 3]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sentences)
def test_the_plain_definition_agrees(model: LexicalSAE, texts: list[list[str]]) -> None:
    state = tag(model, *texts)
    dense = state.sequence.to_dense().detach()
    assert torch.allclose(dense.flatten(0, 1)[state.place], state.sparse_vector, atol=1e-5)
    assert math.isclose(float(dense.sum()), float(state.rows.value.sum()), rel_tol=1e-4, abs_tol=1e-4)


def names_at(model: LexicalSAE, state: TagCircuitState, row: int) -> set[tuple[int, str]]:
    entries = state.rows.take(torch.tensor([row])).token.tolist()
    return {(model.vocabulary.offset_of(column), model.vocabulary.names[column]) for column in entries}


class TestWhatIsHeard:
    def test_words_speak_from_where_they_stand(self, model: LexicalSAE) -> None:
        state = tag(model, ["john", "german-made", "paris"])
        for row in range(3):
            entries = state.rows.take(torch.tensor([row]))
            offsets = torch.tensor([model.vocabulary.offset_of(column) for column in entries.token.tolist()])
            assert torch.equal(entries.position, state.place[row + offsets])
        assert (0, "german-made") in names_at(model, state, 1)  # whole, though its pieces are words themselves
        assert (1, "german-made") in names_at(model, state, 0)

    def test_an_abbreviation_speaks_though_its_letters_are_silent(self, model: LexicalSAE) -> None:
        assert (0, "u.s.") in names_at(model, tag(model, ["u.s."]), 0)

    def test_stop_words_and_numbers_are_silent_at_all_offsets(self, model: LexicalSAE) -> None:
        state = tag(model, ["the", "of", ",", "19"])
        assert len(state.rows) == 0 and torch.allclose(state.logits, state.b_eff)

    def test_a_text_says_nothing_of_another(self, model: LexicalSAE) -> None:
        together = tag(model, ["john", "bank"], ["paris", "good"]).logits
        apart = torch.cat([tag(model, ["john", "bank"]).logits, tag(model, ["paris", "good"]).logits])
        assert torch.allclose(together, apart, atol=1e-4)

    def test_words_that_only_stand_around_speak_too(self, model: LexicalSAE) -> None:
        """The same text, where all words are decided on, or only the second."""
        task = TaggingTask.unlabelled([["john", "tedious", "bank", "paris"]], model)
        batch = task.batch([0])
        assert batch.words is not None
        number = batch.words.clone()
        shown = torch.where(number == 1, 0, torch.where(number >= 0, -2 - number, -1))
        with torch.no_grad():
            sequence = model(batch.input_ids, batch.attention_mask)
            whole, alone = model.tag(sequence, batch.words), model.tag(sequence, shown)
        assert torch.allclose(whole.logits[1], alone.logits[0]) and len(alone.logits) == 1
        assert torch.equal(whole.rows.take(torch.tensor([1])).token, alone.rows.token)

    def test_windows_show_the_words_around_a_cut(self, folder: Path, model: LexicalSAE) -> None:
        words = ["john", "bank", "paris", "movie", "good"] * 20  # longer than the model reads
        state = tag(model, words)
        assert state.logits.shape[0] == len(words)
        left_out = [row for row in range(2, 98) if {o for o, _ in names_at(model, state, row)} != {-2, -1, 0, 1, 2}]
        loud = [row for row in range(2, 98) if len(names_at(model, state, row)) > 0]
        assert len(loud) > 90 and len(left_out) < 48  # a word may say nothing, but no side is cut off
        [found] = model.explain([words], word=60)
        assert found.explained[0].explanation.check() < 1e-4

    def test_at_most_k_tokens_a_word(self, folder: Path) -> None:
        capped = build_tagger(folder)
        capped.topk_per_position = 2
        state = tag(capped, ["john", "bank", "paris"])
        assert state.rows.counts.max() == 2
        gap = compute_attribution_tensor(state, torch.zeros(3, dtype=torch.long)).sum_rows() + state.b_eff[:, 0]
        assert torch.allclose(gap, state.logits[:, 0], atol=1e-4)

    def test_suppressed_at_all_offsets(self, folder: Path) -> None:
        shut = build_tagger(folder)
        shut.suppress(["john", "german-made"])
        state = tag(shut, ["john", "german-made", "paris"], ["bank", "john"])
        heard = {name for row in range(5) for _, name in names_at(shut, state, row)}
        assert heard and not heard & {"john", "german-made"}
        assert shut.suppressed_words == ["john", "german-made"]

    def test_a_word_is_heard_in_another_way_in_each_aspect(self, folder: Path) -> None:
        model = build_tagger(folder, aspects=4)
        rows, heard = tag(model, ["john", "bank", "paris", "movie"]).rows, {}
        for row, column, value in zip(rows.row.tolist(), rows.token.tolist(), rows.value.tolist(), strict=True):
            heard.setdefault((row, model.vocabulary.offset_of(column), model.vocabulary.names[column]), []).append(
                value
            )
        several = [values for values in heard.values() if len(values) > 1]
        assert several and all(len(set(values)) == len(values) for values in several)

    def test_effective_weights_of_the_active_columns(self, model: LexicalSAE) -> None:
        state = tag(model, ["john", "bank", "paris"])
        weights, active = compute_active_slice_weff(state.sparse_vector, state.region)
        assert torch.allclose(weights, state.W_eff[..., active], atol=1e-5)


def test_an_explanation_has_a_token_once_whatever_its_aspects(folder: Path) -> None:
    model = build_tagger(folder, aspects=4)
    state = tag(model, ["john", "bank", "paris"])
    assert len(state.rows) > len({(model.vocabulary.offset_of(c), model.vocabulary.names[c]) for c in state.rows.token})
    [found] = model.explain([["john", "bank", "paris"]])
    for word in found.explained:
        tokens = [(token.offset, token.token) for token in word.explanation.tokens]
        assert tokens and len(tokens) == len(set(tokens))
        assert word.explanation.check() < 1e-4


def test_split_words_are_those_given(model: LexicalSAE) -> None:
    """*u.s.* is one word of a sentence that is given in words, and four marks and letters of any other."""
    encoded = TaggingTask.unlabelled([["u.s.", "unwatchable", "john"]] * OFTEN, model).encoded
    named = []
    for given_words in (False, True):
        words, often = split_words_of(encoded, model.vocabulary, given=given_words)
        assert often == len(words)
        named.append({model.vocabulary.name_of(pieces) for pieces in words})
    assert named == [{"unwatchable"}, {"unwatchable", "u.s."}]


def test_without_a_context_nothing_changes(folder: Path) -> None:
    plain = build_tagger(folder, context=0)
    assert plain.encoder.context is None and plain.vocab_size == len(plain.encoder.bias)
    assert plain.vocabulary.offsets == (0,)


def test_texts_have_no_use_for_it(folder: Path) -> None:
    model = build_model(folder, context=2, head="tied_mlp")
    assert model.encoder.context is None


@pytest.mark.parametrize(
    "other",
    [{"head": "relu_mlp"}, {"support": "neighbourhood+dictionary"}, {"pooling": "attention"}],
)
def test_what_cannot_go_together(folder: Path, other: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"model.context=2 cannot go together with the (head|support|pooling) '"):
        build_tagger(folder, **other)


def test_saved_and_loaded(tmp_path: Path) -> None:
    model = build_tagger(tmp_path)
    model.suppress(["bank"])
    sentence = ["john", "saw", "bank", "unwatchable", "u.s."]
    before = tag(model, sentence)
    model.save_pretrained(tmp_path / "saved")
    loaded = LexicalSAE.from_pretrained(tmp_path / "saved")
    after = tag(loaded, sentence)
    assert torch.allclose(before.logits, after.logits, atol=1e-5)
    assert torch.equal(before.rows.token, after.rows.token) and loaded.suppressed_words == ["bank"]
    assert names_at(loaded, after, 3) == names_at(model, before, 3)


def test_training_moves_what_hears(folder: Path) -> None:
    """The gradient of the loss reaches M of every offset and the backbone, and thresholds are the token's."""
    model = build_tagger(folder).train()
    assert model.encoder.context is not None
    sentences, tags = tagged_sentences(8)
    task = TaggingTask(TaggedSplit(sentences, tags), model.tokenizer, model.max_length, model.labels)
    batch = task.batch(range(8))
    state = task.predict(model, batch)
    torch.nn.functional.cross_entropy(state.logits, batch.labels).backward()
    grad = model.encoder.context.mix.grad
    assert grad is not None and (grad.flatten(1).norm(dim=1) > 0).all()
    assert model.encoder.gate.raw.grad is not None and len(model.encoder.gate.raw) == len(model.encoder.bias)
    theta: Tensor = model.encoder.gate.theta
    assert torch.equal(theta[: len(model.encoder.bias)], theta[len(model.encoder.bias) :][: len(model.encoder.bias)])


def test_positions_add_up(model: LexicalSAE) -> None:
    """What arises at the positions of all words of a text, and the biases, are the logits, whoever hears them."""
    state = tag(model, ["john", "bank", "tedious", "paris"])
    attribution = compute_attribution_tensor(state, state.logits.argmax(-1))
    total = position_scores(attribution, state.sequence.input_ids.numel()).detach()
    logits = state.logits.detach().amax(-1)
    bias = state.b_eff.detach().gather(1, state.logits.argmax(-1)[:, None])[:, 0]
    assert math.isclose(float(total.sum()), float((logits - bias).sum()), abs_tol=1e-4)
    assert set(total.nonzero()[:, 0].tolist()) <= set(state.place.tolist())
