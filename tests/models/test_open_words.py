"""Words that the tokenizer splits: a column each, seen in training or not, alike however and whenever they are met."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import Tensor

from splade.data.batching import encode_texts
from splade.errors import LexicalSAEError, ModelError
from splade.evaluation.mechanistic import dla_errors
from splade.inference import explain_batch
from splade.models import open_words
from splade.models.folder import SETTINGS, WEIGHTS
from splade.models.lexical_sae import LexicalSAE
from splade.models.open_words import OFTEN, OpenWords, split_words_of
from splade.models.vocabulary import Vocabulary
from splade.models.word_reader import Pieces, words_in_pieces
from splade.pipelines import setup_and_train
from tests.builders import WORDS, build_model, build_tokenizer, encode, tagged_sentences, toy_reviews
from tests.models.test_active_pairs import check
from tests.runs import SPLIT_WORDS, ToyRun, weights, write_csv
from tests.training.test_resume import resume, train_until_killed

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


class TestSpeaking:
    @pytest.mark.parametrize("known", [True, False])
    @pytest.mark.parametrize("family", FAMILIES)
    def test_by_its_own_column_and_no_other_at_each_piece(self, tmp_path: Path, family: str, known: bool) -> None:
        model = build(tmp_path, family=family, known=known)
        vocabulary = model.vocabulary
        ids, mask = encode(model, ["the film was unwatchable and goodly !"])
        groups = vocabulary.word_groups(ids, mask)[0]
        with torch.no_grad():
            sequence = model(ids, mask)
            dense = sequence.to_dense()[0]  # (L, V)
            rows = model.classify(sequence).rows
        used = set()
        for number, word in ((3, "unwatchable"), (5, "goodly")):
            positions = (groups == number).nonzero().flatten().tolist()
            assert len(positions) > 1
            columns = {tuple((dense[position] > 0).nonzero().flatten().tolist()) for position in positions}
            [(column,)] = columns
            used.add(column)
            assert vocabulary.names[column] == word
            rare = opened(model).rare
            assert (vocabulary.tokens <= column < rare) if known else (rare < column < len(vocabulary))
            assert torch.equal(dense[:, column] > 0, groups == number)  # nowhere else
            [value] = rows.value[rows.token == column]
            torch.testing.assert_close(value, dense[positions, column].max())
        assert len(used) == 2

    @pytest.mark.parametrize("family", FAMILIES)
    def test_first_in_a_text_too(self, tmp_path: Path, family: str) -> None:
        """Where byte-level tokenizers write it by other pieces, it has another column of the same name."""
        model = build(tmp_path, family=family)
        for text in ("unwatchable film", "film unwatchable"):
            assert "unwatchable" in active_names(model, text)
        for text in ("zzzing film", "film zzzing"):
            assert "zzzing" in active_names(model, text)

    @pytest.mark.parametrize("family", FAMILIES)
    def test_no_whole_word_speaks_for_it(self, tmp_path: Path, family: str) -> None:
        model = build(tmp_path, family=family)
        assert active_names(model, "unwatchable") == {"unwatchable"}
        assert active_names(model, "goodly zzzing") == {"goodly", "zzzing"}

    def test_also_beside_a_support_that_fires_anywhere(self, tmp_path: Path) -> None:
        model = build(tmp_path, "full+neighbourhood")
        ids, mask = encode(model, ["film unwatchable zzzing"])
        dense = model(ids, mask).to_dense()[0]
        groups = model.vocabulary.word_groups(ids, mask)[0]
        for number, word in ((1, "unwatchable"), (2, "zzzing")):
            assert torch.equal(dense[:, column_of(model, word)] > 0, groups == number)

    @pytest.mark.parametrize("support", ["full", "dictionary"])
    def test_without_the_neighbourhood_there_are_no_columns(self, tmp_path: Path, support: str) -> None:
        model = build(tmp_path, support)
        assert model.open_words is None and len(model.vocabulary) == model.vocabulary.tokens == model.vocab_size
        check_identity(model, [*TEXTS, "zzzing"])

    @pytest.mark.parametrize("training", [True, False])
    def test_a_column_of_nobody_never_fires(self, tmp_path: Path, training: bool) -> None:
        model = build(tmp_path).train(training)
        rows = model.classify(model(*encode(model, [*toy_reviews(8)[0], *TEXTS, *UNMET]))).rows
        used = set(rows.token.unique().tolist())
        assert opened(model).rare not in used
        words = {token for token in used if token >= model.vocabulary.tokens}
        assert {model.vocabulary.names[token] for token in words} == {*KNOWN, *UNMET}

    def test_a_number_in_pieces_is_silent_like_a_whole_one(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        assert len(model.tokenizer("1987", add_special_tokens=False)["input_ids"]) > 1
        assert active_names(model, "1987") == set()
        assert active_names(build(tmp_path, exclude_stop_words=False), "1987") == {"1987"}


class TestKnownWords:
    COUNTS: ClassVar = {"watchly": OFTEN, "unwatchable": OFTEN + 2, "goodly": OFTEN - 1, "filmness": 2}
    ORDERED: ClassVar = ["unwatchable", "watchly", "goodly", "filmness"]

    @pytest.fixture
    def model(self, tmp_path: Path) -> LexicalSAE:
        texts = [f"film {word}" for word, count in self.COUNTS.items() for _ in range(count)]
        return build(tmp_path, texts=texts, gate="drelu")

    def test_stand_by_frequency_before_the_rare_column_and_the_free_ones(self, model: LexicalSAE) -> None:
        first, words = model.vocabulary.tokens, opened(model)
        assert model.vocabulary.names[first : first + 4] == self.ORDERED
        assert (words.first, words.known, words.often, words.rare) == (first, 4, 2, first + 4)
        assert words.free == model.vocabulary.free == open_words.FREE_COLUMNS
        assert model.vocab_size == len(model.vocabulary) == first + len(words) == first + 5 + words.free
        assert [column_of(model, word) for word in self.ORDERED] == list(range(first, first + 4))

    def test_of_one_frequency_stand_ever_alike(self) -> None:
        tokenizer = build_tokenizer()
        vocabulary = Vocabulary.from_tokenizer(tokenizer, len(tokenizer))
        found = [
            split_words_of(encode_texts([f"film {word}" for word in words], tokenizer, 16), vocabulary)[0]
            for words in itertools.permutations(KNOWN + UNMET[:2])
        ]
        assert len(found[0]) == 4 and all(each == found[0] for each in found)

    def test_many_texts_are_counted_in_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tokenizer = build_tokenizer()
        vocabulary = Vocabulary.from_tokenizer(tokenizer, len(tokenizer))
        texts = encode_texts(["unwatchable " * (1 + n % 4) + "goodly" * (n % 2) for n in range(11)], tokenizer, 64)
        expected = split_words_of(texts, vocabulary)
        assert [vocabulary.name_of(word) for word in expected[0]] == ["unwatchable", "goodly"] and expected[1] == 1
        monkeypatch.setattr(open_words, "TEXTS_AT_A_TIME", 3)
        assert split_words_of(texts, vocabulary) == expected

    def test_frequent_ones_have_thresholds_of_their_own_and_rare_ones_share_one(self, model: LexicalSAE) -> None:
        first, words, gate = model.vocabulary.tokens, opened(model), model.encoder.gate
        before = gate.theta.detach().clone()
        followers = [*range(first + 2, first + 4), *range(words.rare, model.vocab_size)]  # rare, itself, free
        for moved, expected in ((first, [first]), (first + 1, [first + 1]), (first + 3, []), (words.rare, followers)):
            with torch.no_grad():
                gate.raw[moved] += 1.0
            assert (gate.theta != before).nonzero().flatten().tolist() == expected
            before = gate.theta.detach().clone()

    @pytest.mark.parametrize("word", ["goodly", "filmness", "zzzing"])
    def test_the_shared_threshold_learns_from_each_of_them(self, model: LexicalSAE, word: str) -> None:
        raw = model.encoder.gate.raw
        model.train().classify(model(*encode(model, [word]))).rows.value.sum().backward()
        assert raw.grad is not None and raw.grad.nonzero().flatten().tolist() == [opened(model).rare]

    def test_a_frequent_words_threshold_learns_alone(self, model: LexicalSAE) -> None:
        raw = model.encoder.gate.raw
        model.train().classify(model(*encode(model, ["unwatchable"]))).rows.value.sum().backward()
        assert raw.grad is not None
        assert raw.grad.nonzero().flatten().tolist() == [column_of(model, "unwatchable")]

    def test_texts_without_split_words_leave_room_for_later_ones(self, tmp_path: Path) -> None:
        model = build(tmp_path, texts=toy_reviews(8)[0])
        assert (opened(model).known, opened(model).often) == (0, 0)
        assert active_names(model, "unwatchable") == {"unwatchable"}


class TestRows:
    def expected(self, model: LexicalSAE, word: str, centre: Tensor, mapped: Tensor) -> Tensor:
        """[r̂, 1]·M."""
        [reading] = opened(model).reader.read([pieces_of(model, word)])
        return torch.cat([F.normalize(reading - centre, dim=0), torch.ones(1)]) @ mapped

    def test_maps_that_exist_are_found(self, tmp_path: Path) -> None:
        """Where whole words' rows are linear in what is read in them, each gives back its own row, and a split word
        gets the row that the same map gives it."""
        model = build(tmp_path)
        words, content = opened(model), model.vocabulary.content
        readings = words.reader.read([(token,) for token in content.tolist()])
        centre = readings.mean(0)
        design = F.pad(F.normalize(readings - centre, dim=1), (0, 1), value=1.0)
        generator = torch.Generator().manual_seed(3)
        maps = [torch.randn(design.shape[1], 32, generator=generator) for _ in range(2)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(open_words, "RIDGE", 1e-9)
            words.fit(readings, design @ maps[0], design @ maps[1])
        torch.testing.assert_close(words._design(readings) @ words.to_decoder, design @ maps[0], rtol=1e-2, atol=1e-2)
        torch.testing.assert_close(words._design(readings) @ words.to_head, design @ maps[1], rtol=1e-2, atol=1e-2)
        for word in ("unwatchable", "zzzing"):  # their first pieces write no word
            column = column_of(model, word)
            tables = (model.encoder.weight, model.head.words.float())
            for table, mapped in zip(tables, maps, strict=True):
                assert F.cosine_similarity(table[column], self.expected(model, word, centre, mapped), dim=0) > 0.999

    def test_a_whole_word_gives_back_about_its_own_row(self, tmp_path: Path) -> None:
        """With the penalty as it is, of rows that are linear in the readings up to some noise."""
        model = build(tmp_path)
        words, content = opened(model), model.vocabulary.content
        readings = words.reader.read([(token,) for token in content.tolist()])
        design = words._design(readings)
        generator = torch.Generator().manual_seed(3)
        rows = design @ torch.randn(design.shape[1], 32, generator=generator)
        rows += 0.01 * torch.randn(rows.shape, generator=generator)
        words.fit(readings, rows, rows)
        found = F.normalize(words._design(readings) @ words.to_decoder, dim=1)
        cosines = found @ F.normalize(rows, dim=1).T  # (W, W)
        assert (cosines.argmax(1) == torch.arange(len(rows))).float().mean() > 0.95
        assert cosines.diagonal().median() > 0.95

    @pytest.mark.parametrize("known", [True, False])
    @pytest.mark.parametrize("family", FAMILIES)
    def test_are_as_long_as_whole_words_rows(self, tmp_path: Path, family: str, known: bool) -> None:
        model = build(tmp_path, family=family, known=known)
        for word in ("unwatchable", "goodly"):
            column = column_of(model, word)
            for table in (model.encoder.weight.detach(), model.head.words.float()):
                of_tokens = table[: model.vocabulary.tokens].norm(dim=1)
                torch.testing.assert_close(table[column].norm(), of_tokens.mean(), rtol=2e-3, atol=0)

    def test_have_no_part_along_the_word_that_their_first_piece_writes(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        words, table = opened(model), model.head.words.float()
        for word in ("goodly", "filmness", "cityer"):  # known; met later
            column, [first, *_] = column_of(model, word), pieces_of(model, word)
            assert model.vocabulary.whole_word[first]
            table = model.head.words.float()
            assert (
                F.cosine_similarity(table[column], table[first], dim=0).abs() < 2e-3
            )  # the table is in half precision
            read = self.expected(model, word, words.centre, words.to_head)
            along = F.normalize(table[first], dim=0)
            assert F.cosine_similarity(table[column], read - (read @ along) * along, dim=0) > 0.999

    def test_keep_all_where_the_first_piece_writes_none(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        words = opened(model)
        for word in ("unwatchable", "zzzing"):
            column, [first, *_] = column_of(model, word), pieces_of(model, word)
            assert not model.vocabulary.whole_word[first]
            read = self.expected(model, word, words.centre, words.to_head)
            assert F.cosine_similarity(model.head.words[column].float(), read, dim=0) > 0.999

    def test_of_the_decoder_are_in_the_copy_that_a_scan_uses(self, tmp_path: Path) -> None:
        """A scan in bfloat16 keeps its own copy of the decoder, made before the word is met."""
        model, unused = build(tmp_path), build(tmp_path)
        for each, texts in ((model, ["film", "zzzing film"]), (unused, ["zzzing film"])):
            for text in texts:
                ids, mask = encode(each, [text])
                sequence = each(ids, mask)
                rough = type(sequence)(sequence.hidden.bfloat16(), ids, mask, each.encoder)
                rows, _ = each.encoder.pool(rough)
        assert column_of(model, "zzzing") in rows.token.tolist()
        scan = model.encoder._decoder_for_scan(torch.bfloat16)
        column = column_of(model, "zzzing")
        assert torch.equal(scan[column], model.encoder.weight.detach()[column].bfloat16()) and scan[column].any()


class TestFreeColumns:
    @pytest.fixture
    def model(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LexicalSAE:
        monkeypatch.setattr("splade.models.lexical_sae.FREE_COLUMNS", 3)
        return build(tmp_path)

    def test_the_longest_unused_is_given_anew(self, model: LexicalSAE) -> None:
        a, b, c, d, e = UNMET
        columns = [column_of(model, word) for word in (a, b, c)]
        first = opened(model).rare + 1
        assert columns == [first, first + 1, first + 2]
        assert column_of(model, a) == columns[0]  # used again: now b is the longest unused
        assert column_of(model, d) == columns[1] and column_of(model, e) == columns[2]
        assert [model.vocabulary.names[column] for column in columns] == [a, d, e]
        assert active_names(model, b) == {b}  # in the place of a
        assert model.vocabulary.names[columns[0]] == b

    def test_never_of_a_word_in_the_present_batch(self, model: LexicalSAE) -> None:
        a, b, c, d, e = UNMET
        for word in (a, b, c):
            column_of(model, word)
        columns = opened(model).columns_of([pieces_of(model, word) for word in (d, a, e, a)])
        assert len(set(columns)) == 3 and columns[1] == columns[3] == opened(model).rare + 1
        assert [model.vocabulary.names[column] for column in columns] == [d, a, e, a]

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.lists(st.sampled_from([*UNMET, *KNOWN, "makers"]), min_size=1, max_size=4), max_size=6))
    def test_whatever_comes_each_word_finds_its_own(self, model: LexicalSAE, batches: list[list[str]]) -> None:
        everyone = [*UNMET, *KNOWN, "makers"]
        rows = {}
        for word in everyone:
            column = column_of(model, word)
            rows[word] = model.encoder.weight[column].detach().clone(), model.head.words[column].clone()
        for batch in batches:
            if len(set(batch) - set(KNOWN)) > 3:
                continue
            columns = opened(model).columns_of([pieces_of(model, word) for word in batch])
            assert len(set(columns)) == len(set(batch))
            for word, column in zip(batch, columns, strict=True):
                assert model.vocabulary.names[column] == word
                torch.testing.assert_close(model.encoder.weight[column], rows[word][0], rtol=1e-4, atol=1e-5)
                torch.testing.assert_close(model.head.words[column], rows[word][1], rtol=2e-3, atol=1e-4)

    def test_a_batch_with_more_than_fit_is_refused_in_one_sentence(self, model: LexicalSAE) -> None:
        text = " ".join([*UNMET[:4], *KNOWN])
        with pytest.raises(ModelError) as caught:
            logits(model, [text])
        said = str(caught.value)
        assert said.startswith("4 different words") and "3 have room" in said and "smaller batch size" in said
        assert said.count(". ") == 0 and said.endswith(".") and "\n" not in said
        assert logits(model, [" ".join([*UNMET[:3], *KNOWN, UNMET[0]])]).isfinite().all()  # nothing is broken by it

    def test_known_words_need_none_of_them(self, model: LexicalSAE) -> None:
        logits(model, [" ".join(KNOWN * 4)])
        assert column_of(model, "zzzing") == opened(model).rare + 1

    def test_what_is_said_of_a_text_does_not_depend_on_who_had_the_column_before(self, model: LexicalSAE) -> None:
        texts = [f"a {word} film" for word in UNMET]
        expected = torch.cat([logits(copy.deepcopy(model), [text]) for text in texts])
        for _ in range(2):
            found = torch.cat([logits(model, [text]) for text in texts])
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)

    def test_a_shut_word_does_not_shut_the_next_in_its_column(self, model: LexicalSAE) -> None:
        a, b, c, d, _ = UNMET
        for word in (a, b, c):
            column_of(model, word)
        model.suppress([a])
        column = column_of(model, d)  # takes the place of a
        assert column == opened(model).rare + 1
        assert active_names(model, d) == {d}
        assert active_names(model, a) == set()
        assert model.suppressed_words == [a]

    @pytest.mark.parametrize("forgotten", [True, False])
    def test_suppressing_a_word_that_lost_its_column_shuts_nobody_else(
        self, model: LexicalSAE, forgotten: bool
    ) -> None:
        a, b, c, d, _ = UNMET
        for word in (a, b, c):
            column_of(model, word)
        model.vocabulary.match(a)  # whatever is remembered of names
        if forgotten:
            opened(model).forget()
        assert column_of(model, d) == opened(model).rare + 1  # where a was
        model.suppress([a])
        assert active_names(model, d) == {d} and active_names(model, a) == set()
        assert model.suppressed_words == [a]


class TestSameLogits:
    @pytest.mark.parametrize("family", FAMILIES)
    def test_whether_a_word_was_met_before_alone_or_among_others(self, tmp_path: Path, family: str) -> None:
        model = build(tmp_path, family=family)
        texts = [f"the film was {word} ." for word in [*KNOWN, *UNMET]]
        fresh = torch.cat([logits(copy.deepcopy(model), [text]) for text in texts])
        together = logits(copy.deepcopy(model), texts)
        torch.testing.assert_close(together, fresh, rtol=0, atol=1e-5)
        logits(model, [" ".join(reversed(UNMET)), "serious makers"])
        torch.testing.assert_close(logits(model, texts), fresh, rtol=0, atol=1e-5)
        again = torch.cat([logits(model, [text]) for text in reversed(texts)]).flip(0)
        torch.testing.assert_close(again, fresh, rtol=0, atol=1e-5)
        opened(model).forget()
        torch.testing.assert_close(logits(model, texts), fresh, rtol=0, atol=1e-5)

    @pytest.mark.parametrize("train_decoder", [True, False])
    def test_after_other_weights_are_loaded(self, tmp_path: Path, train_decoder: bool) -> None:
        model, other = (build(tmp_path, train_decoder=train_decoder) for _ in range(2))
        with torch.no_grad():
            other.head.mix += 0.1
        texts = ["a zzzing film", "unwatchable filmness"]
        expected = logits(other, texts)
        assert not torch.allclose(logits(model, texts), expected, atol=1e-3)
        model.load_state_dict(other.state_dict())
        torch.testing.assert_close(logits(model, texts), expected, rtol=0, atol=1e-5)


class TestSaving:
    SAID: ClassVar = ["the film was unwatchable", "a goodly cityer film", "zzzing xqj", "good", "Unwatchable", ""]

    @pytest.mark.parametrize("head", HEADS)
    @pytest.mark.parametrize("family", FAMILIES)
    def test_a_loaded_model_says_the_same_of_known_and_unmet_words(
        self, tmp_path: Path, family: str, head: str
    ) -> None:
        model = build(tmp_path, family=family, head=head)
        expected = logits(model, self.SAID)
        model.save_pretrained(tmp_path / "saved")
        loaded = LexicalSAE.from_pretrained(tmp_path / "saved", "cpu")
        torch.testing.assert_close(logits(loaded, self.SAID), expected, rtol=0, atol=1e-5)
        for text in self.SAID:
            assert active_names(loaded, text) == active_names(model, text)
        first, known = model.vocabulary.tokens, opened(model).known
        assert loaded.vocabulary.names[: first + known] == model.vocabulary.names[: first + known]
        assert (opened(loaded).known, opened(loaded).often) == (known, opened(model).often)
        check_identity(loaded, self.SAID)

    def test_free_rows_are_not_in_the_file(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        logits(model, self.SAID)
        model.save_pretrained(tmp_path / "saved")
        tensors = load_file(tmp_path / "saved" / WEIGHTS)
        kept = model.vocabulary.tokens + len(KNOWN) + 1
        for name in ("encoder.weight", "encoder.bias", "encoder.suppressed", "encoder.gate.raw", "head.words"):
            assert len(tensors[name]) == kept, name
        saved = json.loads((tmp_path / "saved" / SETTINGS).read_text())
        assert (saved["format"], saved["open_words"], saved["frequent_open_words"]) == (4, len(KNOWN), 0)
        assert saved["shut_words"] == []

    def test_meeting_words_leaves_no_trace_in_it(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        before = model.save_pretrained(tmp_path / "before")
        logits(model, self.SAID)
        assert model.save_pretrained(tmp_path / "after") == before
        assert (tmp_path / "before" / WEIGHTS).read_bytes() == (tmp_path / "after" / WEIGHTS).read_bytes()

    def test_saved_loaded_and_saved_again_is_the_same_file(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        first = model.save_pretrained(tmp_path / "first")
        loaded = LexicalSAE.from_pretrained(tmp_path / "first", "cpu")
        logits(loaded, self.SAID)
        assert loaded.save_pretrained(tmp_path / "second") == first

    def test_a_state_dict_goes_into_a_model_made_alike(self, tmp_path: Path) -> None:
        model, other = build(tmp_path), build(tmp_path)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.mul_(1.05)  # alike for all columns of nobody
        assert not torch.allclose(logits(other, self.SAID), logits(model, self.SAID), atol=1e-3)
        other.load_state_dict(model.state_dict())
        torch.testing.assert_close(logits(other, self.SAID), logits(model, self.SAID), rtol=0, atol=1e-5)

    def test_after_senses_too(self, tmp_path: Path) -> None:
        model = with_senses(tmp_path)
        expected = logits(model, self.SAID)
        model.save_pretrained(tmp_path / "saved")
        loaded = LexicalSAE.from_pretrained(tmp_path / "saved", "cpu")
        torch.testing.assert_close(logits(loaded, self.SAID), expected, rtol=0, atol=1e-5)
        tensors = load_file(tmp_path / "saved" / WEIGHTS)
        kept = model.vocabulary.tokens + len(KNOWN) + 1
        assert len(tensors["encoder.gate.raw"]) == len(tensors["encoder.suppressed"]) == kept + 4
        assert len(tensors["encoder.weight"]) == len(tensors["head.words"]) == kept

    def test_a_first_word_of_one_piece_is_found_alike_by_a_loaded_model(self, tmp_path: Path) -> None:
        """A byte-level tokenizer may write a text's first word by one token that begins no word: the names that known
        words have been given must not be taken for tokens."""
        tokenizer = build_tokenizer("bpe")
        vocabulary = Vocabulary.from_tokenizer(tokenizer, len(tokenizer))
        wanted = [
            name
            for token, name in enumerate(vocabulary.names)
            if vocabulary.speaker[token] < 0 and name.isalpha() and name.isascii() and not vocabulary.stop[token]
        ]
        words = [word for word in wanted if len(tokenizer(word, add_special_tokens=False)["input_ids"]) == 1]
        assert words
        model = build(tmp_path, family="roberta", texts=[f"film {word}" for word in words])
        model.save_pretrained(tmp_path / "saved")
        loaded = LexicalSAE.from_pretrained(tmp_path / "saved", "cpu")
        assert torch.equal(loaded.vocabulary.speaker, model.vocabulary.speaker)
        for word in words:
            assert word in active_names(model, f"{word} film") and word in active_names(loaded, f"{word} film")
        texts = [f"{word} film" for word in words]
        torch.testing.assert_close(logits(loaded, texts), logits(model, texts), rtol=1e-5, atol=1e-5)


class TestSuppressing:
    @pytest.mark.parametrize("when", ["known", "met", "unmet"])
    @pytest.mark.parametrize("family", FAMILIES)
    def test_shuts_a_split_word_for_good(self, tmp_path: Path, family: str, when: str) -> None:
        model = build(tmp_path, family=family, known=when == "known")
        texts = ["an unwatchable film", "unwatchable", "Unwatchable film", "a goodly film"]
        if when == "met":
            logits(model, texts)
        model.suppress(["unwatchable"])
        model.save_pretrained(tmp_path / "saved")
        for each in (model, LexicalSAE.from_pretrained(tmp_path / "saved", "cpu")):
            spoken = [{name.lower() for name in active_names(each, text)} for text in texts]
            assert not any("unwatchable" in names for names in spoken)
            assert "film" in spoken[0] and not spoken[1] and "goodly" in spoken[3]
            assert "unwatchable" in each.suppressed_words
            assert {name.lower() for name in each.suppressed_words} == {"unwatchable"}
            opened(each).forget()
            assert "unwatchable" not in active_names(each, texts[0])
            check_identity(each, texts)

    def test_shuts_it_however_it_is_written(self, tmp_path: Path) -> None:
        model = build(tmp_path, family="roberta")
        model.suppress(["Unwatchable"])
        for text in ("unwatchable", "film unwatchable", "Unwatchable", "film Unwatchable", "UNWATCHABLE"):
            assert active_names(model, text) <= {"film"} | active_names(model, "film"), text

    @pytest.mark.parametrize("head", HEADS)
    def test_together_with_whole_words(self, tmp_path: Path, head: str) -> None:
        model = build(tmp_path, head=head, neighbours=1)
        model.suppress(["good", "unwatchable", "zzzing"])
        assert active_names(model, "good unwatchable zzzing film") == {"film"}
        assert sorted(model.suppressed_words) == ["good", "unwatchable", "zzzing"]

    def test_several_words_at_once_are_refused_as_before(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        with pytest.raises(LexicalSAEError, match="good unwatchable"):
            model.suppress(["good unwatchable"])
        assert model.suppressed_words == []

    def test_where_split_words_do_not_speak_they_cannot_be_shut(self, tmp_path: Path) -> None:
        with pytest.raises(LexicalSAEError, match="unwatchable"):
            build(tmp_path, "full").suppress(["unwatchable"])


class TestHeadsWithoutMeanings:
    """A table that is learned row by row has none for words that training never met."""

    @pytest.mark.parametrize("head", ["relu_mlp", "bcos"])
    def test_known_words_speak_and_others_are_silent(self, tmp_path: Path, head: str) -> None:
        model = build(tmp_path, head=head)
        words = opened(model)
        assert (words.free, len(words)) == (0, len(KNOWN) + 1)
        assert len(model.head.words) == model.vocab_size == model.vocabulary.tokens + len(KNOWN) + 1
        assert active_names(model, "unwatchable goodly") == set(KNOWN)
        assert active_names(model, "zzzing xqj") == set()
        assert "film" in active_names(model, "zzzing film")
        assert words.columns_of([pieces_of(model, "zzzing")]) == [-1]
        check_identity(model, [*TEXTS, *UNMET, ""])

    @pytest.mark.parametrize("head", ["relu_mlp", "bcos"])
    def test_what_a_known_word_says_is_learned(self, tmp_path: Path, head: str) -> None:
        model = build(tmp_path, head=head).train()
        model.classify(model(*encode(model, ["unwatchable zzzing"]))).logits[:, 0].sum().backward()
        grad = model.head.words.grad
        assert grad is not None and grad[column_of(model, "unwatchable")].any()
        if head == "relu_mlp":  # a B-cos head's lengths are of all words
            assert not grad[column_of(model, "goodly")].any()

    def test_without_training_texts_all_are_silent(self, tmp_path: Path) -> None:
        model = build(tmp_path, head="relu_mlp", known=False)
        assert active_names(model, "unwatchable zzzing") == set()
        check_identity(model, [*TEXTS, *UNMET])


def with_senses(tmp_path: Path, **settings: object) -> LexicalSAE:
    """Two words have three senses each."""
    tokenizer = build_tokenizer()
    tokens = sorted(tokenizer.convert_tokens_to_ids(["bank", "good"]))
    starts = 5 * F.normalize(torch.randn(2, 3, 32, generator=torch.Generator().manual_seed(0)), dim=-1)
    return build(tmp_path, senses=3, chosen=(tokens, starts), **settings)


class TestAmongOtherParts:
    TEXTS: ClassVar = ["the bank was unwatchable , a good zzzing bank", "goodly good cityer", "", "unwatchable"]

    @pytest.mark.parametrize("pooling", ["max", "attention"])
    @pytest.mark.parametrize("head", HEADS)
    def test_senses_stand_after_all_words(self, tmp_path: Path, head: str, pooling: str) -> None:
        model = with_senses(tmp_path, head=head, pooling=pooling)
        ordered = sorted(["bank", "good"], key=model.tokenizer.convert_tokens_to_ids)
        assert model.vocabulary.names[-4:] == [f"{word}#{number}" for word in ordered for number in (2, 3)]
        words = opened(model)
        assert model.vocab_size == model.vocabulary.tokens + len(words) + 4
        check_identity(model, self.TEXTS)
        expected = {"unwatchable", "zzzing"} if head == "tied_mlp" else {"unwatchable"}
        found = active_names(model, self.TEXTS[0])
        assert found & {*KNOWN, *UNMET} == expected
        assert any(name.startswith("bank") for name in found)

    def test_a_shut_word_with_senses_beside_it(self, tmp_path: Path) -> None:
        model = with_senses(tmp_path)
        model.suppress(["zzzing", "bank"])
        assert not {name.split("#")[0] for name in active_names(model, self.TEXTS[0])} & {"zzzing", "bank"}
        assert model.suppressed_words == ["bank", "zzzing"]

    @pytest.mark.parametrize("known", [True, False])
    def test_attention_takes_a_word_from_all_its_pieces(self, tmp_path: Path, known: bool) -> None:
        model = build(tmp_path, pooling="attention", known=known)
        ids, mask = encode(model, ["film unwatchable"])
        with torch.no_grad():
            sequence = model(ids, mask)
            rows = model.classify(sequence).rows
            expected = model.encoder.pooling.weights(sequence)[..., None] * sequence.to_dense()  # (B, L, V)
        column = column_of(model, "unwatchable")
        [value] = rows.value[rows.token == column]
        torch.testing.assert_close(value, expected[0, :, column].sum())
        entry, position, _ = rows.by_position()
        pieces = (model.vocabulary.word_groups(ids, mask)[0] == 1).nonzero().flatten()
        assert position[rows.token[entry] == column].tolist() == pieces.tolist()
        check_identity(model, self.TEXTS)

    @pytest.mark.parametrize("word_pieces", ["first", "all"])
    @pytest.mark.parametrize("known", [True, False])
    def test_a_tagged_split_word_is_itself(self, tmp_path: Path, known: bool, word_pieces: str) -> None:
        sentences = tagged_sentences(8)[0]
        own = {"texts": [" ".join(words) for words in sentences] if known else None, "word_pieces": word_pieces}
        model = build(tmp_path, task="tagging", **own)
        ids, mask = encode(model, ["john saw oslo in 1987"])
        groups = model.vocabulary.word_groups(ids, mask)
        with torch.no_grad():
            state = model.tag_words(model(ids, mask), groups)
        assert len(state.logits) == 5 and float(dla_errors(state).max()) <= 1e-4
        names = [
            {model.vocabulary.names[t] for t in state.rows.token[state.rows.row == row].tolist()} for row in (2, 4)
        ]
        assert names == [{"oslo"}, {"1987"}]  # asked for, a number says what it is
        assert "john" in {model.vocabulary.names[t] for t in state.rows.token[state.rows.row == 0].tolist()}
        check(model.by_word(model(ids, mask), groups))

    def test_explanations_name_the_word(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        for text, word in (("an unwatchable film", "unwatchable"), ("film zzzing", "zzzing")):
            [explanation] = explain_batch(model, [text])
            assert explanation.check() <= 1e-4
            found = json.loads(json.dumps(explanation.to_json()))
            [entry] = [token for token in found["tokens"] if token["token"] == word]
            assert entry["value"] > 0 and entry["score"] != 0
            [said] = [each for each in found["words"] if each["word"] == word]
            assert text[said["start"] : said["end"]] == word
            assert said["score"] == pytest.approx(entry["score"], abs=1e-5)  # it speaks for nobody else
            assert not any(token["token"] == "" for token in found["tokens"])

    def test_a_copy_is_a_model_of_its_own(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        expected = logits(model, ["zzzing film", *self.TEXTS])
        copied = copy.deepcopy(model)
        assert opened(copied) is not opened(model) and opened(copied)._owners[0] is copied.encoder
        before = list(model.vocabulary.names), copy.deepcopy(model.state_dict())
        free = model.encoder.weight[opened(model).rare :].detach().clone()
        torch.testing.assert_close(logits(copied, ["zzzing film", *self.TEXTS]), expected, rtol=0, atol=1e-5)
        copied.suppress(["unwatchable", "zzzing"])
        logits(copied, ["filmness xqj watchly"])
        assert model.vocabulary.names == before[0] and model.suppressed_words == []
        assert torch.equal(model.encoder.weight[opened(model).rare :], free)
        assert all(torch.equal(tensor, before[1][name]) for name, tensor in model.state_dict().items())
        torch.testing.assert_close(logits(model, ["zzzing film", *self.TEXTS]), expected, rtol=0, atol=1e-5)
        copied.save_pretrained(tmp_path / "copied")
        loaded = LexicalSAE.from_pretrained(tmp_path / "copied", "cpu")
        assert sorted(loaded.suppressed_words) == ["unwatchable", "zzzing"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], LexicalSAE]:
    folder = tmp_path_factory.mktemp("models")
    return {(family, head): build(folder, family=family, head=head) for family in FAMILIES for head in HEADS}


WRITTEN = [*KNOWN, *UNMET, "1987", "the", "not", "Good", "café", "it", ".", "!", ",", "'", "Unwatchable", *WORDS[::9]]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(FAMILIES),
    st.sampled_from(HEADS),
    st.lists(st.lists(st.sampled_from(WRITTEN), max_size=8), min_size=1, max_size=4),
    st.sampled_from([" ", "  ", " - ", "'"]),
)
def test_a_decision_is_the_sum_of_its_words_whatever_stands_there(
    models: dict[tuple[str, str], LexicalSAE], family: str, head: str, texts: list[list[str]], between: str
) -> None:
    check_identity(models[family, head], [between.join(text) for text in texts])


class TestTraining:
    CHANGES: ClassVar = {"model__head": "tied_mlp", "training__epochs": 2}

    @pytest.fixture
    def run(self, toy_run: ToyRun, tmp_path: Path) -> ToyRun:
        """Validated on split words too that no training text has."""
        texts, labels = toy_reviews(24, seed=9)
        names = [("negative", "positive")[label] for label in labels]
        spoken = [f"{text} {UNMET[row % 5]}" for row, text in enumerate(texts)]
        for part in ("train", "test"):
            (tmp_path / "data").mkdir(exist_ok=True)
            (tmp_path / "data" / f"{part}.csv").write_bytes((toy_run.data / f"{part}.csv").read_bytes())
        write_csv(tmp_path / "data" / "validation.csv", spoken, names)
        return ToyRun(toy_run.folder, tmp_path / "data", toy_run.backbone, toy_run.settings, toy_run.result)

    def test_repeats_and_resumes_alike(self, run: ToyRun, tmp_path: Path) -> None:
        whole = setup_and_train(run.config(tmp_path / "whole", **self.CHANGES)).prepared.model
        setup_and_train(run.config(tmp_path / "again", **self.CHANGES))
        assert weights(tmp_path / "again") == weights(tmp_path / "whole")
        train_until_killed(run, tmp_path / "killed", 11, **self.CHANGES)
        assert "Resuming after step 9 of 16." in resume(run, tmp_path / "killed", **self.CHANGES)
        assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
        first = whole.vocabulary.tokens
        assert sorted(whole.vocabulary.names[first : first + 4]) == sorted(SPLIT_WORDS)

    @pytest.mark.parametrize("changes", [{}, {"model__train_decoder": True}])
    def test_a_saved_training_says_of_unmet_words_what_it_said_before(
        self, run: ToyRun, tmp_path: Path, changes: dict[str, object]
    ) -> None:
        """Also of those that it met while it was validated."""
        model = setup_and_train(run.config(tmp_path / "out", **self.CHANGES, **changes)).prepared.model.eval()
        texts = [f"the film was {word}" for word in [*UNMET, *SPLIT_WORDS, "goodly"]]
        expected = logits(model, texts)
        fresh = LexicalSAE.from_pretrained(tmp_path / "out" / "model", "cpu")
        torch.testing.assert_close(logits(fresh, texts), expected, rtol=0, atol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_buffers_follow_the_model_to_its_device(tmp_path: Path) -> None:
    model = build(tmp_path)
    expected = logits(model, [*TEXTS, *UNMET])
    opened(model).forget()
    model.to("cuda")
    buffers = [*opened(model).buffers(), model.encoder.gate.same_as, model.head.words]
    assert {each.device.type for each in buffers if each is not None} == {"cuda"}
    with torch.no_grad():
        ids, mask = (tensor.to("cuda") for tensor in encode(model, [*TEXTS, *UNMET]))
        found = model.classify(model(ids, mask)).logits
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-3, atol=1e-3)
