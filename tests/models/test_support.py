"""Which tokens may fire where: stop words, negations, split words, and that proposals keep to it."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from splade.errors import ConfigError
from splade.models.supports import SUPPORTS, Scene, Support
from splade.models.vocabulary import Vocabulary
from tests.builders import NEGATIVE, POSITIVE, WORDS, TokenizerKind, build_support, build_tokenizer

KINDS: list[TokenizerKind] = ["wordpiece", "bpe", "unigram"]
NEIGHBOURS = 5


class Bench:
    """A tokenizer, its vocabulary, random embeddings and the supports over them."""

    def __init__(self, kind: TokenizerKind) -> None:
        self.tokenizer = build_tokenizer(kind)
        self.vocabulary = Vocabulary.from_tokenizer(self.tokenizer, len(self.tokenizer))
        self.embeddings = torch.randn(len(self.vocabulary), 8, generator=torch.Generator().manual_seed(0))
        self.dictionary = [self.id(word) for word in [*POSITIVE, *NEGATIVE]]

    def id(self, word: str) -> int:
        return self.vocabulary.match(word)[-1]

    def support(self, name: str, exclude_stop_words: bool = True) -> Support:
        return build_support(
            name,
            self.vocabulary,
            self.embeddings,
            exclude_stop_words=exclude_stop_words,
            neighbours=NEIGHBOURS,
            dictionary=self.dictionary,
        )

    def encode(self, *texts: str) -> tuple[Tensor, Tensor]:
        batch = self.tokenizer(list(texts), return_tensors="pt", padding=True)
        return batch["input_ids"], batch["attention_mask"].bool()


BENCHES = {kind: Bench(kind) for kind in KINDS}
WORDPIECE = BENCHES["wordpiece"]


def allowed_at(bench: Bench, support: Support, text: str, position: int) -> set[int]:
    return set(support.allows(*bench.encode(text))[0, position].nonzero().flatten().tolist())


@pytest.mark.parametrize("name", ["full", "neighbourhood", "dictionary"])
@pytest.mark.parametrize("kind", KINDS)
class TestStopWords:
    TEXT = "it is not a good movie, i never laugh"

    def test_no_stop_word_fires_and_no_stop_position_speaks(self, kind: TokenizerKind, name: str) -> None:
        bench = BENCHES[kind]
        input_ids, attended = bench.encode(self.TEXT)
        allowed = bench.support(name).allows(input_ids, attended)[0]  # (L, V)
        excluded = bench.vocabulary.stop | bench.vocabulary.special
        assert not allowed[:, excluded].any()
        assert torch.equal(allowed.any(1), ~excluded[input_ids[0]])

    def test_negations_speak_and_fire(self, kind: TokenizerKind, name: str) -> None:
        bench = BENCHES[kind]
        input_ids, attended = bench.encode(self.TEXT)
        allowed = bench.support(name).allows(input_ids, attended)[0]
        for word in ("not", "never"):
            position = (input_ids[0] == bench.id(word)).nonzero().item()
            assert allowed[position].any()
            assert allowed[position, bench.id(word)] == (name != "dictionary")  # there, if the list holds it

    def test_without_exclusion_they_speak_too(self, kind: TokenizerKind, name: str) -> None:
        bench = BENCHES[kind]
        input_ids, attended = bench.encode(self.TEXT)
        position = (input_ids[0] == bench.id("is")).nonzero().item()
        assert bench.support(name, exclude_stop_words=False).allows(input_ids, attended)[0, position].any()

    def test_padding_never_speaks(self, kind: TokenizerKind, name: str) -> None:
        bench = BENCHES[kind]
        input_ids, attended = bench.encode("good", self.TEXT)
        for exclude in (True, False):
            allowed = bench.support(name, exclude).allows(input_ids, attended)
            assert allowed[attended].any() and not allowed[~attended].any()


def test_full_without_exclusion_is_the_whole_vocabulary_everywhere() -> None:
    input_ids, attended = WORDPIECE.encode("the movie .")
    assert WORDPIECE.support("full", exclude_stop_words=False).allows(input_ids, attended).all()


def test_a_dictionary_is_the_same_words_at_every_live_position() -> None:
    input_ids, attended = WORDPIECE.encode("a movie about money")
    allowed = WORDPIECE.support("dictionary").allows(input_ids, attended)[0]
    live = allowed.any(1)
    assert live.sum() == 2  # movie, money
    for position in live.nonzero().flatten():
        assert set(allowed[position].nonzero().flatten().tolist()) == set(WORDPIECE.dictionary)


@pytest.mark.parametrize("kind", KINDS)
class TestNeighbourhood:
    def test_a_word_and_its_nearest_whole_words(self, kind: TokenizerKind) -> None:
        bench = BENCHES[kind]
        vocabulary, support = bench.vocabulary, bench.support("neighbourhood")
        clean = (vocabulary.whole_word & ~vocabulary.stop).nonzero().flatten()
        unit = F.normalize(bench.embeddings.half().float(), dim=1)
        for word in ("charming", "film", "not"):
            own = bench.id(word)
            nearest = clean[(unit[clean] @ unit[own]).topk(NEIGHBOURS).indices].tolist()
            input_ids, _ = bench.encode(f"the {word}")
            position = (input_ids[0] == own).nonzero().item()
            assert allowed_at(bench, support, f"the {word}", position) == set(nearest)
            assert own in nearest

    def test_the_pieces_of_a_split_word_share_what_the_backbone_reads_in_it(self, kind: TokenizerKind) -> None:
        bench = BENCHES[kind]
        vocabulary, support = bench.vocabulary, bench.support("neighbourhood")
        clean = (vocabulary.whole_word & ~vocabulary.stop).nonzero().flatten()
        unit = F.normalize(bench.embeddings.half().float(), dim=1)
        text = "a good unwatchable film goodzing"
        input_ids, attended = bench.encode(text)
        groups = vocabulary.word_groups(input_ids, attended)[0]
        for word in (2, 4):
            pieces = (groups == word).nonzero().flatten()
            assert len(pieces) > 1
            mean = unit[input_ids[0, pieces]].mean(0)
            expected = set(clean[(unit[clean] @ mean).topk(NEIGHBOURS).indices].tolist())
            for position in pieces.tolist():
                assert allowed_at(bench, support, text, position) == expected

    def test_only_whole_words_ever_fire(self, kind: TokenizerKind) -> None:
        bench = BENCHES[kind]
        input_ids, attended = bench.encode("an unwatchable , zzzing filmness 7 xq", "goodly café moviest !")
        for exclude in (True, False):
            fires = bench.support("neighbourhood", exclude).allows(input_ids, attended).any(0).any(0)
            assert fires.any()
            assert not (fires & ~bench.vocabulary.whole_word).any()

    def test_the_same_split_word_is_looked_up_alike_wherever_it_stands(self, kind: TokenizerKind) -> None:
        bench = BENCHES[kind]
        support = bench.support("neighbourhood")
        input_ids, attended = bench.encode("film unwatchable", "a very good unwatchable film")
        allowed = support.allows(input_ids, attended)
        groups = bench.vocabulary.word_groups(input_ids, attended)
        first, second = allowed[0][groups[0] == 1], allowed[1][groups[1] == 3]
        assert torch.equal(first, second)  # also: answered from memory the second time
        assert torch.equal(allowed, support.allows(input_ids, attended))


def test_an_own_token_crowded_out_by_twins_is_put_back() -> None:
    """Words with one and the same embedding tie, and a word must never lose itself to its twins."""
    bench = Bench("wordpiece")
    twins = [bench.id(word) for word in POSITIVE]
    assert len(twins) > NEIGHBOURS
    bench.embeddings[twins] = bench.embeddings[twins[0]].clone()
    table = bench.support("neighbourhood").get_buffer("neighbours")
    for twin in twins:
        assert twin in table[twin].tolist()


def test_a_blank_support_takes_its_tables_from_a_state_dict() -> None:
    whole = WORDPIECE.support("neighbourhood")
    embeddings = torch.zeros_like(WORDPIECE.embeddings)
    blank = build_support("neighbourhood", WORDPIECE.vocabulary, embeddings, neighbours=NEIGHBOURS, blank=True)
    blank.load_state_dict(whole.state_dict())
    batch = WORDPIECE.encode("a good unwatchable film")
    assert torch.equal(blank.allows(*batch), whole.allows(*batch))


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["full", "neighbourhood", "dictionary"]),
    st.booleans(),
    st.lists(st.lists(st.sampled_from([*WORDS, "unwatchable", "!"]), max_size=8), min_size=1, max_size=3),
    st.integers(0, 1000),
)
def test_proposals_are_the_allowed_pairs_above_the_floor(
    name: str, exclude: bool, texts: list[list[str]], seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    support = WORDPIECE.support(name, exclude)
    input_ids, attended = WORDPIECE.encode(*map(" ".join, texts))
    size = len(WORDPIECE.vocabulary)
    scene = Scene(
        torch.randn(*input_ids.shape, 4, generator=generator),
        input_ids,
        attended,
        torch.randn(size, 4, generator=generator),
        torch.randn(size, generator=generator) + 1,
    )
    position, token, _ = support.propose(scene)
    score = scene.hidden @ scene.decoder.T  # (B, L, V)
    passing = support.allows(input_ids, attended) & (score > scene.floor)
    flat = passing.view(-1, size)
    assert flat[position, token].all()
    length = input_ids.shape[1]
    proposed = set(zip((position // length).tolist(), token.tolist(), strict=True))
    assert proposed == {tuple(pair) for pair in passing.any(1).nonzero().tolist()}  # each text's tokens, none missing


def test_an_unknown_support_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'neighbourhood'"):
        SUPPORTS.get("neighborhood")
