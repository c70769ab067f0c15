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
from splade.models.supports.neighbourhood import NeighbourhoodSettings, _nearest_words
from splade.models.vocabulary import Vocabulary
from splade.models.word_reader import words_in_pieces
from tests.builders import NEGATIVE, POSITIVE, WORDS, TokenizerKind, build_tokenizer
from tests.support_builders import FewColumns, build_support

KINDS: list[TokenizerKind] = ["wordpiece", "bpe", "unigram"]
NEIGHBOURS = 5
COLUMNS = 40  # of split words


class Bench:
    """A tokenizer, its vocabulary, random embeddings and the supports over them."""

    def __init__(self, kind: TokenizerKind) -> None:
        self.tokenizer = build_tokenizer(kind)
        tokens = Vocabulary.from_tokenizer(self.tokenizer, len(self.tokenizer))
        self.vocabulary = tokens.with_words(COLUMNS, COLUMNS)
        self.embeddings = torch.randn(len(self.vocabulary), 8, generator=torch.Generator().manual_seed(0))
        self.dictionary = [self.id(word) for word in [*POSITIVE, *NEGATIVE]]

    def id(self, word: str) -> int:
        return self.vocabulary.match(word)[-1]

    def support(self, name: str, exclude_stop_words: bool = True, similarity: float = -1.0) -> Support:
        return build_support(
            name,
            self.vocabulary,
            self.embeddings,
            exclude_stop_words=exclude_stop_words,
            neighbours=NEIGHBOURS,
            similarity=similarity,
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
        allowed = bench.support(name, exclude_stop_words=False).allows(input_ids, attended)[0, position]
        assert allowed.any()
        if name == "neighbourhood":  # for themselves alone
            assert allowed.nonzero().flatten().tolist() == [bench.id("is")]

    def test_padding_never_speaks(self, kind: TokenizerKind, name: str) -> None:
        bench = BENCHES[kind]
        input_ids, attended = bench.encode("good", self.TEXT)
        for exclude in (True, False):
            allowed = bench.support(name, exclude).allows(input_ids, attended)
            assert allowed[attended].any() and not allowed[~attended].any()


def test_full_without_exclusion_is_all_tokens_everywhere() -> None:
    """Columns of split words come only where these stand."""
    input_ids, attended = WORDPIECE.encode("the movie .")
    allowed = WORDPIECE.support("full", exclude_stop_words=False).allows(input_ids, attended)
    tokens = WORDPIECE.vocabulary.tokens
    assert allowed[..., :tokens].all() and not allowed[..., tokens:].any()


def test_a_dictionary_is_the_same_words_at_every_live_position() -> None:
    input_ids, attended = WORDPIECE.encode("a movie about money")
    allowed = WORDPIECE.support("dictionary").allows(input_ids, attended)[0]
    live = allowed.any(1)
    assert live.sum() == 2  # movie, money
    for position in live.nonzero().flatten():
        assert set(allowed[position].nonzero().flatten().tolist()) == set(WORDPIECE.dictionary)


def nearness(bench: Bench) -> Tensor:
    """(W, W) the definition: the smaller cosine of embeddings and of readings, each centred over the content words."""
    words = bench.vocabulary.content
    readings = F.normalize(bench.embeddings.half().float()[words], dim=1)  # what a `TableReader` reads
    sources = [each - each.mean(0) for each in (bench.embeddings[words], readings)]
    return torch.minimum(*(F.normalize(each, dim=1) @ F.normalize(each, dim=1).T for each in sources))


@pytest.mark.parametrize("kind", KINDS)
class TestNeighbourhood:
    def test_a_word_and_its_nearest_content_words(self, kind: TokenizerKind) -> None:
        bench = BENCHES[kind]
        support, words, near = bench.support("neighbourhood"), bench.vocabulary.content.tolist(), nearness(bench)
        for word in ("charming", "film", "not"):
            own = bench.id(word)
            row = near[words.index(own)].clone()
            row[words.index(own)] = 2.0  # itself first
            nearest = [words[place] for place in row.topk(NEIGHBOURS).indices.tolist()]
            input_ids, _ = bench.encode(f"the {word}")
            position = (input_ids[0] == own).nonzero().item()
            assert allowed_at(bench, support, f"the {word}", position) == set(nearest)
            assert support.get_buffer("neighbours")[own].tolist() == nearest

    def test_of_the_neighbours_only_the_near_ones_are_taken(self, kind: TokenizerKind) -> None:
        bench = BENCHES[kind]
        words, near = bench.vocabulary.content, nearness(bench)
        near.fill_diagonal_(-2.0)
        least = float(near.topk(3, dim=1).values[:, 2].median())  # half of the words have three neighbours that near
        table = bench.support("neighbourhood", similarity=least).get_buffer("neighbours")
        assert torch.equal(table[words, 0], words.int())
        expected = (near >= least).sum(1).clamp(max=NEIGHBOURS - 1)
        clear = ((near - least).abs() > 1e-5).all(1)  # the median itself may round to either side
        assert torch.equal((table[words, 1:] >= 0).sum(1)[clear], expected[clear])
        assert (expected == 0).any() and (expected == NEIGHBOURS - 1).any() and clear.sum() > len(words) - 5
        place = torch.full((bench.vocabulary.tokens,), -1)
        place[words] = torch.arange(len(words))
        for row, others in zip(near[clear], table[words, 1:][clear].tolist(), strict=True):
            there = [other for other in others if other >= 0]
            assert others == there + [-1] * (NEIGHBOURS - 1 - len(there))  # no gaps
            found = row[place[there]]
            assert (found >= least - 1e-5).all() and (found[1:] <= found[:-1] + 1e-6).all()

    def test_what_pads_the_table_never_fires(self, kind: TokenizerKind) -> None:
        bench = BENCHES[kind]
        support = bench.support("neighbourhood", similarity=1.0)  # nobody is that near
        input_ids, attended = bench.encode("a charming film", "good")
        allowed = support.allows(input_ids, attended)
        assert allowed.any(-1).sum() == 3 and (allowed.sum(-1) <= 1).all()
        size = len(bench.vocabulary)
        floor = torch.full((size,), -torch.inf)  # whatever is proposed passes
        scene = Scene(torch.randn(*input_ids.shape, 4), input_ids, attended, torch.randn(size, 4), floor)
        position, token, _ = support.propose(scene)
        assert len(position) == 3
        assert torch.equal(token, bench.vocabulary.speaker[input_ids.flatten()[position]])

    def test_neighbours_are_content_words_whoever_has_them(self, kind: TokenizerKind) -> None:
        bench = BENCHES[kind]
        vocabulary = bench.vocabulary
        content = torch.zeros(len(vocabulary), dtype=torch.bool)
        content[vocabulary.content] = True
        for exclude in (True, False):
            table = bench.support("neighbourhood", exclude).get_buffer("neighbours").long()
            assert table.shape == (vocabulary.tokens, NEIGHBOURS)
            others = table[:, 1:]
            assert content[others[others >= 0]].all()
            speaks = table[:, 0] >= 0
            assert torch.equal(table[speaks, 0], vocabulary.speaker[: vocabulary.tokens][speaks])
            assert (others[~speaks] < 0).all()
            assert torch.equal((others >= 0).any(1), content[table[:, 0].clamp(min=0)] & speaks)
            said = vocabulary.stop[: vocabulary.tokens] & speaks
            assert said.any() != exclude

    def test_the_pieces_of_a_split_word_speak_by_its_own_column_alone(self, kind: TokenizerKind) -> None:
        bench = BENCHES[kind]
        vocabulary, support = bench.vocabulary, bench.support("neighbourhood")
        text = "a good unwatchable film goodzing"
        input_ids, attended = bench.encode(text)
        groups = vocabulary.word_groups(input_ids, attended)[0]
        for word in (2, 4):
            pieces = (groups == word).nonzero().flatten()
            assert len(pieces) > 1
            expected = FewColumns(vocabulary).columns_of([tuple(input_ids[0, pieces].tolist())])
            for position in pieces.tolist():
                assert allowed_at(bench, support, text, position) == set(expected)

    def test_only_words_ever_fire(self, kind: TokenizerKind) -> None:
        """Whole ones, and split ones by columns of their own; never a piece of one, nor another's column."""
        bench = BENCHES[kind]
        vocabulary = bench.vocabulary
        input_ids, attended = bench.encode("an unwatchable , zzzing filmness 7 xq", "goodly café moviest !")
        split, _ = words_in_pieces(vocabulary, input_ids, attended)
        for exclude in (True, False):
            written = {pieces: vocabulary.name_of(pieces) for pieces in split.values()}
            speak = [pieces for pieces, name in written.items() if not exclude or name not in (",", "7", "!")]
            columns = set(FewColumns(vocabulary).columns_of(speak))
            assert len(columns) >= 5
            fires = bench.support("neighbourhood", exclude).allows(input_ids, attended).any(0).any(0)
            assert set(fires[vocabulary.tokens :].nonzero().flatten().add(vocabulary.tokens).tolist()) == columns
            tokens = fires[: vocabulary.tokens]
            spoken = vocabulary.whole_word | (vocabulary.stop & ~vocabulary.special if not exclude else False)
            assert not (tokens & ~spoken[: vocabulary.tokens]).any()

    def test_the_same_split_word_is_looked_up_alike_wherever_it_stands(self, kind: TokenizerKind) -> None:
        bench = BENCHES[kind]
        support = bench.support("neighbourhood")
        input_ids, attended = bench.encode("film unwatchable", "a very good unwatchable film")
        allowed = support.allows(input_ids, attended)
        groups = bench.vocabulary.word_groups(input_ids, attended)
        first, second = allowed[0][groups[0] == 1], allowed[1][groups[1] == 3]
        assert first.any() and torch.equal(first, second)
        assert torch.equal(allowed, support.allows(input_ids, attended))

    def test_a_split_stop_word_is_silent_unless_asked_for(self, kind: TokenizerKind) -> None:
        bench = BENCHES[kind]
        input_ids, attended = bench.encode("in 1987 unwatchable")
        groups = bench.vocabulary.word_groups(input_ids, attended)
        number, word = groups == 1, groups == 2
        assert number.sum() > 1 and word.sum() > 1
        for exclude in (True, False):
            support = bench.support("neighbourhood", exclude)
            speaks = support.allows(input_ids, attended).any(-1)
            assert speaks[word].all() and speaks[number].all() == speaks[number].any() == (not exclude)
            assert support.allows(input_ids, attended, asked=attended).any(-1)[number].all()


def test_a_first_word_without_its_marker_speaks_through_the_token_that_begins_a_word() -> None:
    bench = BENCHES["bpe"]
    support, pieces = bench.support("neighbourhood"), bench.vocabulary.pieces
    input_ids, _ = bench.encode("good film good")
    first, last = (input_ids[0, place].item() for place in (1, 3))
    assert (pieces[first], pieces[last]) == ("good", "Ġgood")
    there = allowed_at(bench, support, "good film good", 1)
    assert last in there and first not in there and len(there) == NEIGHBOURS
    assert there == allowed_at(bench, support, "good film good", 3)
    table = support.get_buffer("neighbours")
    assert torch.equal(table[first], table[last]) and table[first, 0] == last


def test_a_word_is_never_crowded_out_by_its_twins() -> None:
    """Words with one and the same embedding tie, and a word must never lose itself to its twins."""
    bench = Bench("wordpiece")
    twins = [bench.id(word) for word in POSITIVE]
    assert len(twins) > NEIGHBOURS
    bench.embeddings[twins] = bench.embeddings[twins[0]].clone()
    table = bench.support("neighbourhood").get_buffer("neighbours")
    for twin in twins:
        assert table[twin, 0] == twin
        assert set(table[twin].tolist()) <= set(twins) and len(set(table[twin].tolist())) == NEIGHBOURS


def test_neighbours_must_be_near_both_in_embeddings_and_in_readings() -> None:
    words = torch.arange(4)
    embeddings = torch.tensor([[1.0, 0.1], [1.0, 0.0], [-1.0, 0.1], [-1.0, -0.2]])  # 0 and 1, 2 and 3
    readings = torch.tensor([[1.0, 0.1], [-1.0, 0.0], [1.0, 0.1], [-1.0, -0.2]])  # 0 and 2, 1 and 3
    chosen = NeighbourhoodSettings(neighbours=3, neighbour_similarity=0.4)
    assert _nearest_words(embeddings, words, readings, chosen).tolist() == [[-1, -1]] * 4
    assert _nearest_words(embeddings, words, embeddings, chosen).tolist() == [[1, -1], [0, -1], [3, -1], [2, -1]]


def test_few_content_words_leave_the_rest_of_the_table_empty() -> None:
    chosen = NeighbourhoodSettings(neighbours=6, neighbour_similarity=-1.0)
    table = _nearest_words(torch.randn(9, 4), torch.tensor([3, 5, 8]), torch.randn(3, 4), chosen)
    assert [set(row) - {-1} for row in table.tolist()] == [{5, 8}, {3, 8}, {3, 5}]


def test_a_blank_support_takes_its_tables_from_a_state_dict() -> None:
    whole = WORDPIECE.support("neighbourhood")
    embeddings = torch.zeros_like(WORDPIECE.embeddings)
    blank = build_support("neighbourhood", WORDPIECE.vocabulary, embeddings, neighbours=NEIGHBOURS, blank=True)
    batch = WORDPIECE.encode("a good unwatchable film")
    with pytest.raises(IndexError):  # it cannot be mistaken for one that is ready
        blank.allows(*batch)
    blank.load_state_dict(whole.state_dict())
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
    size = len(WORDPIECE.vocabulary)  # with columns of split words
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
