from __future__ import annotations

import pytest

from splade.data.tags import TagLabels, raw_tags
from splade.data.types import Columns, RawTags, Table
from splade.errors import DataError

WORDS = ["Ann", "met", "Bo", "Li"]


def sentence(columns: Columns, tokens: str | None = None, tags: str | None = None) -> str:
    with pytest.raises(DataError) as raised:
        raw_tags(Table(columns, "a.jsonl"), tokens, tags)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def raw(*lines: str) -> RawTags:
    """Sentences of numbered words with the given tags."""
    tags = [line.split() for line in lines]
    return RawTags([[f"w{place}" for place in range(len(each))] for each in tags], tags, "a.conll")


def refused(*lines: str, given: list[str] | None = None) -> str:
    with pytest.raises(DataError) as raised:
        TagLabels(given, raw(*lines)).encode(raw(*lines))
    assert "\n" not in str(raised.value)
    return str(raised.value)


class TestColumns:
    def test_words_and_tags(self) -> None:
        split = raw_tags(Table({"tokens": [WORDS, []], "tags": [["B-PER", "O", "B-PER", "I-PER"], []]}, "a"))
        assert split.sentences == [WORDS, []] and split.tags[0][3] == "I-PER"

    def test_columns_have_usual_names_and_can_be_named(self) -> None:
        columns: Columns = {"tokens": [["a"]], "ner_tags": [[0]], "words": [["b"]], "pos": [["O"]]}
        assert raw_tags(Table(columns, "a")).tags == [["0"]]
        named = raw_tags(Table(columns, "a"), "words", "pos")
        assert (named.sentences, named.tags) == ([["b"]], [["O"]])

    def test_counts_that_differ_name_the_sentence(self) -> None:
        columns: Columns = {"tokens": [["a"], ["one", "two", "three"]], "tags": [["O"], ["O", "O"]]}
        assert sentence(columns) == (
            "a.jsonl has 3 words but 2 tags in sentence 2 ('one two three'), where each word needs one tag; correct "
            "the sentence."
        )

    def test_a_classification_file_is_refused_as_such(self) -> None:
        assert sentence({"text": ["a"], "label": [1]}) == (
            "a.jsonl holds 'text' for classification, but tagging needs 'tokens' and 'tags' columns; choose a tagged "
            "set, or set task: classification."
        )

    def test_words_alone(self) -> None:
        said = "a.jsonl has words alone, but each needs a tag; add the tags, in a column file as the last column."
        assert sentence({"tokens": [["a"]]}) == said

    def test_a_missing_column(self) -> None:
        assert sentence({"tokens": [["a"]], "tagz": [["x"]]}) == (
            "a.jsonl has no column 'tags', and which other has the tags is not clear: tagz (1 different words); name "
            "it with data.tags_column."
        )
        said = sentence({"words": [["a", "b"]], "tags": [["O", "O"]]}, tokens="wrods")
        assert "has no column 'wrods', only: words, tags; name the right one with data.tokens_column. Did you" in said

    def test_columns_of_other_names_are_found_and_it_is_said(self) -> None:
        columns: Columns = {"words": [["a", "b", "c"]], "ner": [["O", "O", "B-X"]], "id": [1]}
        found = raw_tags(Table(columns, "a"))
        assert found.columns == {"tokens_column": "words", "tags_column": "ner"} and found.tags == columns["ner"]
        assert found.notes == (
            "The words are the column 'words' (data.tokens_column can name another).",
            "The tags are the column 'ner' (data.tags_column can name another).",
        )

    @pytest.mark.parametrize(("value", "shown"), [(None, "nothing"), ("['a', 'b']", "\"['a', 'b']\"")])
    def test_what_is_no_list_names_the_row(self, value: object, shown: str) -> None:
        assert f"a.jsonl has {shown} in row 1 of column 'tokens', where a list was expected" in sentence(
            {"tokens": [value], "tags": [["O"]]}
        )

    def test_words_and_tags_of_the_wrong_type(self) -> None:
        assert "has 5 in row 1 of column 'tokens', where a word" in sentence({"tokens": [["a", 5]], "tags": [[0, 0]]})
        assert "has None in row 1 of column 'tags', where a tag" in sentence({"tokens": [["a"]], "tags": [[None]]})

    def test_no_words(self) -> None:
        assert sentence({"tokens": [[]], "tags": [[]]}).startswith("a.jsonl has no words")

    def test_half_a_surrogate_pair_is_made_harmless(self) -> None:
        assert raw_tags(Table({"tokens": [["a\ud800"]], "tags": [["O"]]}, "a")).sentences == [["a?"]]


class TestLabels:
    def test_both_tags_of_a_type_are_there_though_one_never_occurs(self) -> None:
        labels = TagLabels(None, raw("O B-PER", "B-LOC O"))
        assert labels.names == ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"] and labels.classes == ["LOC", "PER"]
        assert labels.encode(raw("B-PER I-PER O B-LOC")).tags == [[3, 4, 0, 1]]

    def test_numbers_stand_for_the_given_names_in_their_order(self) -> None:
        given = ["B-PER", "I-PER", "O"]
        labels = TagLabels(given, raw("2 0 1"))
        assert labels.names == ["O", "B-PER", "I-PER"]
        assert labels.encode(raw("2 0 1", "O B-PER I-PER")).tags == [[0, 1, 2]] * 2

    def test_numbers_mean_nothing_where_tags_have_only_names(self) -> None:
        labels = TagLabels(["O", "B-PER", "I-PER"], raw("O"), numbered=False)
        assert labels.encode(raw("O B-PER")).tags == [[0, 1]] and not labels.numbered
        with pytest.raises(
            DataError, match=r"has the tag '1' in sentence 1 \(at 'w1'\), a number, but the tags are know"
        ):
            labels.encode(raw("O 1"))
        assert TagLabels(["O", "B-PER", "I-PER"], raw("O")).numbered
        assert not TagLabels(["B-PER", "I-PER", "O"], raw("O")).numbered  # the order of a model's tags is another

    def test_other_schemes_are_rewritten_and_it_is_said(self) -> None:
        sample = raw("I-PER I-PER O I-LOC", "I-LOC B-LOC O I-PER")
        split = TagLabels(None, sample).encode(sample)
        assert split.tags == [[3, 4, 0, 1], [1, 1, 0, 3]]
        assert split.notes == ("a.conll: the tags are IOB1 and were rewritten as IOB2.",)
        closed = TagLabels(None, raw("B-PER E-PER O S-LOC"))
        assert closed.encode(raw("S-PER O B-LOC E-LOC")).tags == [[3, 0, 1, 2]]

    def test_repairs_are_counted_with_an_example(self) -> None:
        labels = TagLabels(None, raw("O B-PER"))
        split = labels.encode(raw("O B-PER", "O O O I-PER I-PER O O", "I-PER", "B-PER B-PER O B-PER"))
        assert split.tags == [[0, 1], [0, 0, 0, 1, 2, 0, 0], [1], [1, 1, 0, 1]]
        assert split.notes == (
            "a.conll: 2 tag(s) break IOB2, the first in sentence 2 ('w1/O w2/O w3/I-PER w4/I-PER w5/O'); a tag that "
            "cannot continue an entity was read as the start of one.",
        )
        assert labels.encode(raw("B-PER O")).notes == ()

    @pytest.mark.parametrize(
        ("lines", "notes"),
        [
            ("B-PER I-PER O B-PER", ()),
            ("I-PER I-PER O I-PER", ("a.conll: the tags are IOB1 and were rewritten as IOB2.",)),
            ("B-PER E-PER O S-PER", ("a.conll: the tags are BIOES and were rewritten as IOB2.",)),
            ("B-PER L-PER O U-PER", ("a.conll: the tags are BILOU and were rewritten as IOB2.",)),
        ],
    )
    @pytest.mark.parametrize("training", ["B-PER I-PER O", "B-PER E-PER O S-PER"])
    def test_each_file_has_a_scheme_of_its_own(self, training: str, lines: str, notes: tuple[str, ...]) -> None:
        split = TagLabels(None, raw(training)).encode(raw(lines))
        assert split.tags == [[1, 2, 0, 1]] and split.notes == notes

    def test_sentences_without_words_are_left_out_and_counted(self) -> None:
        split = TagLabels(None, raw("B-PER O")).encode(raw("", "B-PER", ""))
        assert split.sentences == [["w0"]] and split.notes == ("a.conll: 2 sentence(s) without words were left out.",)

    def test_an_unknown_tag_names_sentence_word_and_nearest(self) -> None:
        labels = TagLabels(None, raw("O B-PER"))
        with pytest.raises(DataError) as raised:
            labels.encode(raw("O O", "O B-PRE"))
        assert str(raised.value) == (
            "a.conll has the tag 'B-PRE' in sentence 2 (at 'w1'), but the known tags are: O, B-PER, I-PER; correct it, "
            "or name all tags in data.labels. Did you mean 'B-PER'?"
        )
        assert "has the tag '7' in sentence 1" in refused("O 7", given=["O", "B-PER"])

    def test_a_label_set_without_o(self) -> None:
        assert refused("B-PER I-PER") == (
            "a.conll has no tag 'O' (but: B-PER, I-PER), which words outside every entity must have; check "
            "which column has the tags (of a column file the last, unless data.tags_column says another), add it, or "
            "set task: classification if these are classes of texts."
        )
        assert refused("O B-PER", given=["B-PER", "I-PER"]).startswith("The label set has no tag 'O'")

    def test_tags_of_no_scheme(self) -> None:
        assert refused("O PER") == (
            "a.conll has the tag 'PER' in sentence 1 (at 'w1'), which no known scheme has (IOB1, IOB2, BIOES, BILOU); "
            "write B-PER where an entity starts and I-PER where it goes on."
        )
        assert "write B-LOC where" in refused("O b_LOC")
        assert "The label set has the tag 'PER', which no" in refused("O B-PER", given=["O", "PER"])

    @pytest.mark.parametrize("tag", ["o", "0"])
    @pytest.mark.parametrize("others", ["B-PER", "O B-PER"])
    def test_nearly_o(self, tag: str, others: str) -> None:
        said = refused(f"{others} {tag}")
        assert f"has the tag '{tag}' in sentence 1 (at 'w" in said and "'O', a capital letter, was expected" in said

    def test_a_header(self) -> None:
        labels = TagLabels(None, raw("O B-PER"))
        assert "(at 'w0'), which no known scheme has" in refused("ner O B-PER")
        assert "if this is a header, remove it, else write" in refused("ner O B-PER")
        assert "header" not in refused("PER O", "PER O")
        with pytest.raises(DataError, match="if this is a header, remove it"):  # of a test file
            labels.encode(raw("ner O B-PER"))

    def test_blank_words_are_kept_and_said(self) -> None:
        sample = RawTags([["Ann", "", " ", "met"]], [["B-PER", "O", "O", "O"]], "a.jsonl")
        split = TagLabels(None, sample).encode(sample)
        assert split.sentences == sample.sentences
        assert split.notes == ("a.jsonl: 2 word(s) are blank; they keep their tags and are read as unknown words.",)

    def test_sentences_run_together_are_said(self) -> None:
        labels = TagLabels(None, raw("O B-PER"))
        (note,) = labels.encode(raw(" ".join(["O O B-PER"] * 20))).notes
        assert note.startswith("a.conll: the 1 sentence(s) have 60 words on average") and "a blank line must" in note
        assert labels.encode(raw(" ".join(["O O B-PER"] * 20), *["O B-PER"] * 9)).notes == ()

    def test_numbers_without_names(self) -> None:
        assert refused("0 1 2").startswith(
            "a.conll has numbers for tags (0, 1, 2), and nothing says what they stand for"
        )

    def test_no_entities(self) -> None:
        assert refused("O O") == (
            "a.conll has no tag but 'O', and a tagger needs entities; check which column has the tags (of a column "
            "file the last, unless data.tags_column says another)."
        )
