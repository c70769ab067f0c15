"""Words that the tokenizer splits: a column each, seen in training or not, alike however and whenever they are met."""

from __future__ import annotations

import copy
import itertools
from pathlib import Path
from typing import ClassVar

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from splade.data.batching import encode_texts
from splade.errors import ModelError
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models import open_words
from splade.models.lexical_sae import LexicalSAE
from splade.models.open_words import OFTEN, split_words_of
from splade.models.vocabulary import Vocabulary
from tests.builders import build_tokenizer, encode, toy_reviews
from tests.models.open_word_models import (
    FAMILIES,
    KNOWN,
    TEXTS,
    UNMET,
    active_names,
    build,
    check_identity,
    column_of,
    logits,
    opened,
    pieces_of,
)


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


def test_a_word_met_within_a_step_of_training_leaves_the_way_back_open(tmp_path: Path) -> None:
    """Texts with words deleted may hold split words that no text did."""
    model = build(tmp_path)
    state = model.classify(model(*encode(model, ["the unwatchable film"])))
    said = compute_attribution_tensor(state, torch.zeros(1, dtype=torch.long)).value.sum()
    logits(model, [f"a {UNMET[0]}"])
    said.backward()
