"""From subword positions to words: nothing is lost, and each position goes to the word it lies in."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from splade.attribution.explanation import NO_WORD
from splade.attribution.span_aggregation import aggregate_subword_attributions, word_spans, words_of_positions
from splade.errors import ModelError
from tests.builders import TokenizerKind, build_tokenizer

TOKENIZERS = {kind: build_tokenizer(kind) for kind in ("wordpiece", "bpe", "unigram")}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]


def test_words_keep_inner_hyphens_and_apostrophes_and_marks_stand_alone() -> None:
    assert words("It's scene-stealing, isn’t it?!") == ["It's", "scene-stealing", ",", "isn’t", "it", "?", "!"]
    assert words(" \t\n") == [] == words("")
    assert words("الفيلم رائع 👍") == ["الفيلم", "رائع", "👍"]
    assert words("बहुत अच्छी ดีมาก cafe\u0301! ❤\ufe0fgood") == [
        "बहुत",
        "अच्छी",
        "ดีมาก",
        "cafe\u0301",
        "!",
        "❤\ufe0f",
        "good",
    ]


@given(TEXTS)
def test_words_cover_all_but_white_space_once_and_in_order(text: str) -> None:
    spans = word_spans(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert "".join(words(text)) == "".join(text.split())


class TestPositions:
    SPANS = ((0, 3), (4, 9), (9, 10))

    @pytest.mark.parametrize(
        ("offsets", "expected"),
        [
            ([(0, 0), (0, 3), (4, 6), (6, 9), (9, 10), (0, 0)], [-1, 0, 1, 1, 2, -1]),
            ([(3, 9)], [1]),  # a piece that holds the space before its word, as byte-level tokenizers may
            ([(3, 4)], [-1]),  # white space
            ([(10, 12)], [-1]),  # past the last word
            ([(9, 10), (0, 3), (12, 13), (4, 6)], [2, 0, -1, 1]),  # out of order
            ([(0, 10)], [0]),  # over several words: the first
        ],
    )
    def test_each_position_is_in_the_word_it_overlaps(
        self, offsets: list[tuple[int, int]], expected: list[int]
    ) -> None:
        assert words_of_positions(offsets, list(self.SPANS)) == expected

    def test_without_words_there_is_none_to_lie_in(self) -> None:
        assert words_of_positions([(0, 0), (0, 2)], []) == [-1, -1]


class TestAggregation:
    TEXT = "unwatchable , charming !"  # un ##watch ##able , charming !

    def ids(self) -> list[int]:
        return TOKENIZERS["wordpiece"](self.TEXT)["input_ids"]

    def test_the_pieces_of_a_word_are_summed(self) -> None:
        scores = torch.tensor([0.25, 1.0, -3.0, 0.5, 0.125, 2.0, -0.5, 0.25])  # [CLS] first, [SEP] last
        assert aggregate_subword_attributions(self.ids(), scores, TOKENIZERS["wordpiece"], self.TEXT) == [
            ("unwatchable", -1.5),
            (",", 0.125),
            ("charming", 2.0),
            ("!", -0.5),
            (NO_WORD, 0.5),
        ]

    def test_max_abs_keeps_the_strongest_piece_with_its_sign(self) -> None:
        scores = torch.tensor([0.25, 1.0, -3.0, 0.5, 0.125, 2.0, -0.5, -0.5])
        found = aggregate_subword_attributions(self.ids(), scores, TOKENIZERS["wordpiece"], self.TEXT, "max_abs")
        assert dict(found)["unwatchable"] == -3.0 and dict(found)[NO_WORD] == -0.5

    def test_scores_over_positions_and_vocabulary_are_summed_over_the_vocabulary(self) -> None:
        table = torch.arange(8 * 5.0).view(8, 5)
        tokenizer = TOKENIZERS["wordpiece"]
        assert aggregate_subword_attributions(self.ids(), table, tokenizer, self.TEXT) == (
            aggregate_subword_attributions(self.ids(), table.sum(1), tokenizer, self.TEXT)
        )

    def test_a_vocabulary_score_is_shared_by_the_places_of_its_token(self) -> None:
        tokenizer, text = TOKENIZERS["wordpiece"], "good good film"
        scores = torch.zeros(len(tokenizer))
        scores[tokenizer.convert_tokens_to_ids("good")] = 3.0
        found = aggregate_subword_attributions(tokenizer(text)["input_ids"], scores, tokenizer, text)
        assert found == [("good", 1.5), ("good", 1.5), ("film", 0.0), (NO_WORD, 0.0)]

    @pytest.mark.parametrize("kind", list(TOKENIZERS))
    @given(text=TEXTS, seed=st.integers(0, 9))
    @settings(max_examples=25, deadline=None)
    def test_nothing_is_lost(self, kind: TokenizerKind, text: str, seed: int) -> None:
        tokenizer = TOKENIZERS[kind]
        ids = tokenizer(text, truncation=True, max_length=30)["input_ids"]
        scores = torch.randn(len(ids), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        found = aggregate_subword_attributions(ids, scores, tokenizer, text)
        assert [name for name, _ in found] == [*words(text), NO_WORD]
        assert sum(score for _, score in found) == pytest.approx(float(scores.sum()), abs=1e-9)

    def test_refusals_say_what_was_expected(self) -> None:
        tokenizer = TOKENIZERS["wordpiece"]
        with pytest.raises(ModelError, match=r"Unknown method 'som'; .* Did you mean 'sum'"):
            aggregate_subword_attributions([1], torch.zeros(1), tokenizer, "", "som")  # type: ignore[arg-type]
        with pytest.raises(ModelError, match="not those of the text"):
            aggregate_subword_attributions(self.ids(), torch.zeros(8), tokenizer, "another text")
        with pytest.raises(ModelError, match=r"shape \(3,\) fit neither 8 positions nor a vocabulary"):
            aggregate_subword_attributions(self.ids(), torch.zeros(3), tokenizer, self.TEXT)
