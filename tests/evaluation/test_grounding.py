"""Do the words mean what they say: figures on attributions made by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from splade.data.types import TextSplit
from splade.errors import ConfigError
from splade.evaluation import grounding
from splade.evaluation.grounding import (
    LexiconMeter,
    StrongestMeter,
    StrongestToken,
    frozen_share,
    input_share,
    load_lexicon,
    positive_class,
    self_activation,
)
from splade.models.backbone import Backbone
from splade.models.vocabulary import Vocabulary
from splade.tasks import Batch, ClassificationTask
from tests.builders import build_model, build_tokenizer, sparse_rows, toy_reviews

TOKENIZER = build_tokenizer()
VOCABULARY = Vocabulary.from_tokenizer(TOKENIZER, len(TOKENIZER))
RATINGS = {"good": 1.9, "charming": 2.8, "bad": -2.5, "film": 0.4}


def token(word: str) -> int:
    return TOKENIZER.convert_tokens_to_ids(word)


def attribution(*rows: dict[str, float]):  # type: ignore[no-untyped-def]
    return sparse_rows(*[{token(w): a for w, a in row.items()} for row in rows], vocab_size=len(TOKENIZER))


class TestInputShare:
    def batch(self, *texts: str) -> Batch:
        encoded = TOKENIZER(list(texts), padding=True, return_tensors="pt")
        return Batch(encoded["input_ids"], encoded["attention_mask"], torch.zeros(len(texts)), np.arange(len(texts)))

    def test_counts_the_size_of_what_stands_in_the_text(self) -> None:
        found = input_share(self.batch("a good film"), attribution({"good": 2.0, "film": -1.0, "charming": 5.0}))
        assert found == (3.0, 8.0)

    def test_a_word_of_another_text_is_not_in_this_one(self) -> None:
        found = input_share(self.batch("a good film", "bad"), attribution({"bad": 1.0}, {"bad": 4.0, "good": 2.0}))
        assert found == (4.0, 7.0)

    def test_of_nothing_is_nothing(self) -> None:
        assert input_share(self.batch("good"), attribution({})) == (0.0, 0.0)


def test_the_strongest_token_of_each_class_by_hand() -> None:
    meter = StrongestMeter(["a", "b", "never"], VOCABULARY)
    rows = attribution({"good": 2.0, "bad": -9.0}, {"good": 1.0}, {"film": 3.0, "good": 2.0}, {"bad": 1.0}, {})
    meter.add(rows, torch.tensor([0, 0, 0, 1, 1]))  # the last has no token at all
    meter.add(attribution({"good": 5.0}), torch.tensor([0]))
    assert meter.result() == {"a": StrongestToken("good", 0.75, 2, 4), "b": StrongestToken("bad", 1.0, 1, 1)}


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
            raise grounding.metadata.PackageNotFoundError(name)

        monkeypatch.setattr(grounding.metadata, "distribution", missing)
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


def test_an_untrained_model_says_what_the_frozen_backbone_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a support that holds each position's highest scores, all contribution is on the backbone's proposals."""
    model = build_model(tmp_path, "full", exclude_stop_words=False, active=4)
    task = ClassificationTask(TextSplit(*toy_reviews(12)), model.tokenizer, 64)
    frozen, _ = Backbone.from_name(str(tmp_path / "bert"))
    assert frozen_share(model, frozen.eval(), task, np.arange(12), 8) == pytest.approx(1.0)
    monkeypatch.setattr(grounding, "FROZEN_TOP", 1)
    few = frozen_share(model, frozen, task, np.arange(12), 8)
    assert 0 < few < 1
    with torch.no_grad():  # a model that has drifted away from the backbone it came from
        model.encoder.weight.copy_(model.encoder.weight.flip(0))
    assert frozen_share(model, frozen, task, np.arange(12), 8) < few


class TestSelfActivation:
    @pytest.fixture
    def measured(self, tmp_path: Path):  # type: ignore[no-untyped-def]
        model = build_model(tmp_path, "full", exclude_stop_words=False)
        task = ClassificationTask(TextSplit(["good film", "bad plot"], [0, 1]), model.tokenizer, 64)
        return model, task

    def set_activations(self, model, monkeypatch, strongest: dict[str, str]) -> None:  # type: ignore[no-untyped-def]
        """Let each word's position have one strongest token, and a weaker one."""

        class Dense:
            def __init__(self, ids: torch.Tensor):
                self.ids = ids

            def to_dense(self) -> torch.Tensor:
                out = torch.zeros(*self.ids.shape, model.vocab_size)
                for b, row in enumerate(self.ids.tolist()):
                    for place, piece in enumerate(row):
                        if said := strongest.get(model.tokenizer.convert_ids_to_tokens(piece)):
                            out[b, place, token(said)] = 2.0
                            out[b, place, token("camera")] = 1.0
                return out

        monkeypatch.setattr(type(model), "forward", lambda self, ids, mask: Dense(ids))

    def test_counts_words_whose_own_token_is_strongest(self, measured, monkeypatch) -> None:  # type: ignore[no-untyped-def]
        model, task = measured
        words = {"good": "good", "film": "movie", "bad": "bad", "[CLS]": "good"}  # plot is silent, [CLS] is no word
        self.set_activations(model, monkeypatch, words)
        assert self_activation(model, task, np.arange(2)) == pytest.approx(2 / 3)
        assert self_activation(model, task, np.array([1])) == 1.0

    def test_words_of_several_tokens_do_not_count(self, tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
        model = build_model(tmp_path, "full", exclude_stop_words=False)
        pieces = model.tokenizer.tokenize("gooding bad")
        assert len(pieces) > 2 and pieces[-1] == "bad"  # the first word is cut, though it begins with a word
        task = ClassificationTask(TextSplit(["gooding bad"], [0]), model.tokenizer, 64)
        self.set_activations(model, monkeypatch, {pieces[0]: "movie", "bad": "bad"})
        assert self_activation(model, task, np.arange(1)) == 1.0

    def test_of_silence_is_zero(self, measured, monkeypatch) -> None:  # type: ignore[no-untyped-def]
        self.set_activations(measured[0], monkeypatch, {})
        assert self_activation(*measured, np.arange(2)) == 0.0
