"""Do words speak for what people say they mean: figures on attributions made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from splade.errors import ConfigError
from splade.evaluation import lexicon
from splade.evaluation.lexicon import LexiconMeter, load_lexicon, positive_class
from tests.evaluation.builders import VOCABULARY, attribution

RATINGS = {"good": 1.9, "charming": 2.8, "bad": -2.5, "film": 0.4}


class TestLexicon:
    def test_coverage_and_sign_by_hand(self) -> None:
        """film is rated too near to zero; of |2| + |3| + |1| rated, bad (+1, rated −2.5) has the wrong sign."""
        meter = LexiconMeter("mine", RATINGS, VOCABULARY)
        meter.add(attribution({"good": 2.0, "film": 4.0}, {"charming": 3.0}))
        meter.add(attribution({"bad": 1.0}))
        found = meter.result()
        assert (found.name, found.coverage, found.right_sign) == ("mine", 0.6, pytest.approx(5 / 6))
        assert (found.heaviest_token, found.heaviest_share) == ("film", 0.4)

    def test_the_heaviest_token_is_over_the_whole_data(self) -> None:
        meter = LexiconMeter("mine", RATINGS, VOCABULARY)
        for _ in range(3):
            meter.add(attribution({"plot": -2.0, "bad": -3.0} if _ else {"plot": 9.0}))
        found = meter.result()
        assert (found.heaviest_token, found.heaviest_share) == ("plot", pytest.approx(13 / 19))
        assert found.right_sign == 1.0

    def test_without_contributions_all_is_zero(self) -> None:
        meter = LexiconMeter("mine", RATINGS, VOCABULARY)
        meter.add(attribution({}))
        assert (meter.result().coverage, meter.result().right_sign) == (0.0, 0.0)

    def test_a_continuation_piece_is_not_the_word(self) -> None:
        meter = LexiconMeter("mine", {"able": 3.0}, VOCABULARY)
        meter.add(attribution({"##able": 1.0}))
        assert meter.result().coverage == 0.0

    def test_a_file_of_ratings(self, tmp_path: Path) -> None:
        path = tmp_path / "ratings.tsv"
        path.write_text("good\t1.9\nschön\t2\tmore columns\n", encoding="utf-8")
        assert load_lexicon(str(path)) == {"good": 1.9, "schön": 2.0}

    def test_vader(self) -> None:
        pytest.importorskip("vaderSentiment", reason="the demo extra is not installed")
        ratings = load_lexicon("vader")
        assert len(ratings) > 7000 and ratings["charming"] > 1 > -1 > ratings["terrible"]

    def test_refusals(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(ConfigError, match=r"lexicon names 'nowhere', which is no file; name one, or 'vader'"):
            load_lexicon("nowhere")
        (tmp_path / "bad.txt").write_text("good\t1\nbad -1\n")
        with pytest.raises(ConfigError, match=r"bad.txt, line 2 is not a word, a tab and a rating: 'bad -1'"):
            load_lexicon(str(tmp_path / "bad.txt"))

        def missing(name: str) -> None:
            raise lexicon.metadata.PackageNotFoundError(name)

        monkeypatch.setattr(lexicon.metadata, "distribution", missing)
        with pytest.raises(ConfigError, match="vaderSentiment is not installed"):
            load_lexicon("vader")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["negative", "positive"], 1),
        (["Pos", "Neg"], 0),
        (["bad", "good"], 1),
        (["0", "1"], None),
        (["positive"], None),
    ],
)
def test_the_class_that_good_words_speak_for(labels: list[str], expected: int | None) -> None:
    assert positive_class(labels) == expected
