"""Using a model: the sums are exact for every text and support, texts keep their order, and batches change nothing."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import splade
from splade import tagging
from splade.attribution.explanation import NO_WORD, NOT_A_WORD, Explanation
from splade.data.columns import clean_text
from splade.errors import ConfigError, DataError, ModelError
from splade.inference import (
    explain_batch,
    explain_model,
    explain_model_spans,
    predict_batch,
    predict_model,
    score_model,
)
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.lexical_sae import LexicalSAE
from tests.builders import MAX_POSITIONS, WORDS, build_model, position_scores, toy_reviews

SUPPORTS = ("full", "neighbourhood", "dictionary", "neighbourhood+dictionary")

# Words the tokenizer knows, mixed with whatever Unicode there is, lone surrogates included.
TEXTS = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=8)), max_size=20).map(" ".join)

HARD_TEXTS = [
    "",
    "   \t\n",
    "🎬👍🏽 charming 👨‍👩‍👧",
    "فيلم رائع good",
    "\ud800 good \udfff",
    "unwatchable , don't-care isn’t",
    "a\u0301\u200b good\u2028film\x00",
    "charming " * 300,
    "[CLS] [MASK] good ##ing",
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LexicalSAE]:
    """One model a support; `full` is dense and has stop words, so that also special tokens and positions speak."""
    folder = tmp_path_factory.mktemp("inference")
    sparse = {support: build_model(folder, support, classes=3) for support in SUPPORTS[1:]}
    return {"full": build_model(folder, "full", classes=3, active=100, exclude_stop_words=False), **sparse}


@pytest.fixture(scope="module")
def model(models: dict[str, LexicalSAE]) -> LexicalSAE:
    return models["neighbourhood"]


def assert_exact(explanation: Explanation) -> None:
    logit = explanation.logits[explanation.target]
    assert math.fsum(t.score for t in explanation.tokens) + explanation.bias == pytest.approx(logit, abs=1e-4)
    assert math.fsum(w.score for w in explanation.words) + explanation.bias == pytest.approx(logit, abs=1e-4)
    assert explanation.check() <= 1e-4
    for word in explanation.words:
        assert math.fsum(score for _, score in word.parts) == pytest.approx(word.score, abs=1e-4)
        assert {name for name, _ in word.parts} == set(word.tokens)


@pytest.mark.parametrize("support", SUPPORTS)
@given(text=TEXTS, target=st.sampled_from([None, "class 0", "class 2"]))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("", None)
@example("\ud800 good \udfff", None)
def test_tokens_and_words_add_up_to_the_logit(
    models: dict[str, LexicalSAE], support: str, text: str, target: str | None
) -> None:
    explanation = explain_model(models[support], text, target)
    assert_exact(explanation)
    assert explanation.target == (target or explanation.label)
    assert explanation.label == max(explanation.logits, key=explanation.logits.__getitem__)
    assert sum(explanation.probabilities.values()) == pytest.approx(1.0, abs=1e-5)
    for word in explanation.words:
        assert word.word == (explanation.text[word.start : word.end] or NO_WORD)


@pytest.mark.parametrize("support", SUPPORTS)
def test_hard_texts_one_by_one_and_together(models: dict[str, LexicalSAE], support: str) -> None:
    """The order is kept, and a text's neighbours in the batch and its padding change nothing."""
    together = explain_batch(models[support], HARD_TEXTS, batch_size=4)
    assert [e.text for e in together] == [clean_text(text) for text in HARD_TEXTS]
    for explanation, text in zip(together, HARD_TEXTS, strict=True):
        assert_exact(explanation)
        alone = explain_model(models[support], text)
        assert explanation.logits == pytest.approx(alone.logits, abs=1e-5)
        assert [(w.word, w.start, w.tokens) for w in explanation.words] == [
            (w.word, w.start, w.tokens) for w in alone.words
        ]
        assert [w.score for w in explanation.words] == pytest.approx([w.score for w in alone.words], abs=1e-5)


class TestExplanation:
    def test_a_score_is_its_value_times_its_effective_weight(self, model: LexicalSAE) -> None:
        """Removing one token's activation, on the same linear region, removes just its score."""
        text = "the movie was charming and the plot dull ."
        explanation = explain_model(model, text, "class 1")
        batch = model.tokenizer([text], return_tensors="pt")
        with torch.no_grad():
            state = model.classify(model(batch["input_ids"], batch["attention_mask"]))
        assert len(explanation.tokens) > 3
        for token in explanation.tokens:
            assert token.value == pytest.approx(float(state.sparse_vector[0, token.token_id]), abs=1e-6)
            weight = state.W_eff[0, 1, token.token_id].item()
            assert token.score == pytest.approx(token.value * weight, abs=1e-5)
            assert token.token == model.vocabulary.names[token.token_id]

    def test_a_word_has_what_fired_at_its_place(self, model: LexicalSAE) -> None:
        """Before the maximum is taken: with one word there is one place, and all of the sum is its."""
        explanation = explain_model(model, "charming")
        (word,) = explanation.words
        assert word.score == pytest.approx(sum(t.score for t in explanation.tokens))
        assert set(word.tokens) == {t.token for t in explanation.tokens} and {
            t.position for t in explanation.tokens
        } == {1}
        sizes = {t.token: abs(t.score) for t in explanation.tokens}
        assert word.tokens == sorted(sizes, key=lambda name: -sizes[name])

    def test_what_is_no_word_has_a_row_of_its_own(self, models: dict[str, LexicalSAE]) -> None:
        explanation = explain_model(models["full"], "good film")
        names = [t.token for t in explanation.tokens]
        assert not any(name.startswith(("##", "[")) for name in names)
        assert names.count(NOT_A_WORD) == 1 and [w.word for w in explanation.words].count(NO_WORD) == 1

    def test_word_scores_are_the_scores_of_their_positions(self, models: dict[str, LexicalSAE]) -> None:
        model, text = models["full"], "good filmed plot"  # [CLS] good film ##ed plot [SEP]
        batch = model.tokenizer([text], return_tensors="pt")
        with torch.no_grad():
            state = model.classify(model(batch["input_ids"], batch["attention_mask"]))
            scores = position_scores(compute_attribution_tensor(state, torch.tensor([2])), 6).tolist()
        expected = {
            "good": scores[1],
            "filmed": scores[2] + scores[3],
            "plot": scores[4],
            NO_WORD: scores[0] + scores[5],
        }
        found = {word.word: word.score for word in explain_model(model, text, "class 2").words}
        assert found == pytest.approx(expected, abs=1e-5) and abs(expected[NO_WORD]) > 1e-3

    def test_an_empty_text_is_decided_by_the_bias(self, model: LexicalSAE) -> None:
        explanation = explain_model(model, "")
        assert explanation.tokens == [] == explanation.words
        assert explanation.bias == pytest.approx(explanation.logits[explanation.target], abs=1e-6)

    def test_an_unknown_target_names_the_labels_and_the_nearest(self, model: LexicalSAE) -> None:
        with pytest.raises(ModelError) as error:
            explain_model(model, "good", "clas 1")
        assert str(error.value) == (
            "The model has no label 'clas 1'; its labels are: class 0, class 1, class 2. Did you mean 'class 1'?"
        )

    def test_cut_texts_are_marked(self, model: LexicalSAE) -> None:
        fits, cut = explain_batch(model, ["good " * (MAX_POSITIONS - 2), "good " * (MAX_POSITIONS - 1)])
        assert (fits.truncated, cut.truncated) == (False, True)
        assert fits.logits == pytest.approx(cut.logits)
        assert cut.words[-1].score == 0.0  # its end has no say


class TestSpans:
    TEXT = "the movie was charming and the plot dull ."

    def test_words_and_the_rest_are_the_logit(self, models: dict[str, LexicalSAE]) -> None:
        for model in models.values():
            rows, whole = explain_model_spans(model, self.TEXT), explain_model(model, self.TEXT)
            assert [name for name, _ in rows] == [*self.TEXT.split(), NO_WORD]
            assert sum(score for _, score in rows) + whole.bias == pytest.approx(whole.logits[whole.target], abs=1e-4)

    def test_given_spans_hold_the_words_that_start_in_them(self, model: LexicalSAE) -> None:
        words = dict(explain_model_spans(model, self.TEXT, target="class 2"))
        spans = [(0, 22), (27, 40)]  # the movie was charming | the plot dull
        rows = explain_model_spans(model, self.TEXT, spans, "class 2")
        assert [name for name, _ in rows] == ["the movie was charming", "the plot dull", "(elsewhere)"]
        scores = dict(rows)
        assert scores["the plot dull"] == pytest.approx(words["plot"] + words["dull"], abs=1e-5)
        assert sum(scores.values()) == pytest.approx(
            sum(s for _, s in explain_model_spans(model, self.TEXT, target="class 2")), abs=1e-5
        )
        assert explain_model_spans(model, self.TEXT, np.array(spans), "class 2") == rows  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("spans", "sentence"),
        [
            ([(0, 43)], r"The span \(0, 43\) is no part of the text, which has 42 characters"),
            ([(5, 3)], "give 0 ≤ start < end ≤ 42"),
            ([(3, 3)], "is no part"),
            ([(-3, 3)], "is no part"),
            ([(20, 30), (0, 22)], r"The spans \(0, 22\) and \(20, 30\) overlap"),
            ([(0, 3, 5)], "A span is a pair of whole numbers"),
            ([(0.0, 3.0)], "A span is a pair of whole numbers"),
            (["ab"], "A span is a pair of whole numbers"),
            ([3], "A span is a pair of whole numbers"),
            (3, "A span is a pair of whole numbers"),
        ],
    )
    def test_spans_that_are_none(self, model: LexicalSAE, spans: object, sentence: str) -> None:
        with pytest.raises(DataError, match=sentence):
            explain_model_spans(model, self.TEXT, spans)  # type: ignore[arg-type]


class TestPrediction:
    def test_agrees_with_the_explanation(self, model: LexicalSAE) -> None:
        texts = [*toy_reviews(9)[0], *HARD_TEXTS]
        for prediction, explanation in zip(predict_batch(model, texts, 4), explain_batch(model, texts), strict=True):
            assert (prediction.text, prediction.label) == (explanation.text, explanation.label)
            assert prediction.probabilities == pytest.approx(explanation.probabilities, abs=1e-5)
            assert prediction.truncated == explanation.truncated
            assert prediction.active_tokens == len(explanation.tokens)

    def test_one_text_and_none(self, model: LexicalSAE) -> None:
        assert predict_model(model, "").active_tokens == 0
        assert predict_batch(model, []) == [] == explain_batch(model, [])

    def test_leaves_training_mode_out_of_it(self, model: LexicalSAE) -> None:
        expected = predict_model(model, "a charming film").probabilities
        model.train()
        assert predict_model(model, "a charming film").probabilities == expected


class TestSeries:
    """A pandas Series is read by the places of its texts, whatever its index, and what is found has that index."""

    @pytest.mark.parametrize("call", [predict_batch, explain_batch])
    @pytest.mark.parametrize("index", [[3, 0, 2, 1, 5, 4], [7, 7, 0, 0, 1, 1], list("fedcba"), [0, 1, 2, 3, 4, 5]])
    def test_keeps_order_and_index(self, model: LexicalSAE, call: Callable[..., object], index: list[object]) -> None:
        texts = [*toy_reviews(5)[0], ""]
        found = call(model, pd.Series(texts, index=index))
        assert isinstance(found, pd.Series) and found.index.tolist() == index
        assert [one.text for one in found] == texts and found.tolist() == call(model, texts)

    def test_shuffled_texts_score_as_before(self, model: LexicalSAE) -> None:
        table = pd.DataFrame({"text": toy_reviews(20)[0]})
        table["label"] = [p.label for p in predict_batch(model, table.text)]
        shuffled = table.sample(frac=1, random_state=3)
        part = shuffled[5:12]  # as train_test_split gives one: labels 0 … n−1 are not all there
        for rows in (shuffled, part):
            assert score_model(model, rows.text, rows.label)["accuracy"] == 1.0
            assert (predict_batch(model, rows.text).map(lambda p: p.label) == rows.label).all()

    def test_none(self, model: LexicalSAE) -> None:
        found = predict_batch(model, pd.Series([], dtype=str))
        assert isinstance(found, pd.Series) and found.empty


class TestScore:
    @pytest.fixture
    def numbered(self, model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> LexicalSAE:
        """A model whose training data had numbers."""
        monkeypatch.setitem(model.record, "numbered_labels", True)
        return model

    def test_by_names_or_numbers(self, numbered: LexicalSAE) -> None:
        texts, _ = toy_reviews(12)
        labels = [p.label for p in predict_batch(numbered, texts)]
        assert score_model(numbered, texts, labels)["accuracy"] == 1.0
        numbers: list[int | str] = [numbered.labels.index(label) for label in labels]
        numbers[0] = (int(numbers[0]) + 1) % 3
        scores = score_model(numbered, texts, numbers)
        assert scores["accuracy"] == pytest.approx(11 / 12) and scores["active_tokens"] > 1
        assert score_model(numbered, iter(texts), np.array(numbers, dtype=float)) == scores

    def test_numbers_are_refused_where_nothing_says_what_they_mean(self, model: LexicalSAE) -> None:
        with pytest.raises(DataError, match=r"is the number 0, but the model knows its labels by name \(class 0"):
            score_model(model, ["good"], [0])

    @pytest.mark.parametrize("label", ["clas 0", 3, -1])
    def test_an_unknown_label_is_named(self, numbered: LexicalSAE, label: str | int) -> None:
        with pytest.raises(DataError, match=f"The model has no label '{label}'.*; its labels are: class 0, class 1"):
            score_model(numbered, ["good"], [label])

    def test_each_text_needs_a_label(self, model: LexicalSAE) -> None:
        with pytest.raises(DataError, match="There are 2 texts but 1 labels"):
            score_model(model, ["good", "bad"], ["class 0"])

    def test_labels_of_another_order(self, model: LexicalSAE) -> None:
        texts, labels = pd.Series(["good", "bad"]), pd.Series(["class 0", "class 1"])
        with pytest.raises(DataError, match=r"another index than .* labels.loc\[texts.index\]"):
            score_model(model, texts, labels[::-1])
        assert score_model(model, texts, labels) == score_model(model, texts.to_numpy(), labels.tolist())


class TestArguments:
    @pytest.mark.parametrize("call", [predict_batch, explain_batch])
    @pytest.mark.parametrize("size", [-1, 0, True, 2.5, "32", None, np.nan])
    def test_a_batch_size_is_a_whole_number_above_0(
        self, model: LexicalSAE, call: Callable[..., object], size: object
    ) -> None:
        with pytest.raises(ConfigError, match=r"batch_size is .*, but a whole number from 1 on was expected"):
            call(model, ["good"], batch_size=size)
        with pytest.raises(ConfigError, match="batch_size"):
            score_model(model, ["good"], ["class 0"], batch_size=size)  # type: ignore[arg-type]

    def test_a_batch_size_of_numpys(self, model: LexicalSAE) -> None:
        assert len(predict_batch(model, ["good", "bad"], batch_size=np.int64(1))) == 2  # type: ignore[call-overload]

    @pytest.mark.parametrize(("one", "many"), [(predict_model, "predict_batch"), (explain_model, "explain_batch")])
    @pytest.mark.parametrize("text", [["good"], None, 3, b"good", pd.Series(["good"])])
    def test_one_text_is_a_string(self, model: LexicalSAE, one: Callable[..., object], many: str, text: object) -> None:
        with pytest.raises(DataError, match=f"One text, a string, was expected, but .* give several texts to {many}"):
            one(model, text)

    def test_one_text_is_no_list_of_texts(self, model: LexicalSAE) -> None:
        for call in (predict_batch, explain_batch):
            with pytest.raises(DataError, match="put it in a list"):
                call(model, "good")
        with pytest.raises(DataError, match="no texts to score"):
            score_model(model, [], [])

    def test_a_target_is_a_name(self, model: LexicalSAE) -> None:
        for target in (1, ["class 1"], True):
            with pytest.raises(ModelError, match="the name of a label was expected; those are: class 0"):
                explain_model(model, "good", target)  # type: ignore[arg-type]

    def test_a_model_is_loaded_first(self) -> None:
        with pytest.raises(ModelError, match="A model was expected first, but 'results/model' was given"):
            predict_batch("results/model", ["good"])  # type: ignore[call-overload]


def test_logits_that_are_no_numbers_are_no_prediction(tmp_path_factory: pytest.TempPathFactory) -> None:
    broken = build_model(tmp_path_factory.mktemp("broken"))
    with torch.no_grad():
        next(broken.head.parameters()).fill_(torch.nan)
    for call in (predict_batch, explain_batch):
        with pytest.raises(ModelError, match="no numbers"):
            call(broken, ["a charming film"])


def test_the_main_names_are_listed_before_they_are_loaded() -> None:
    assert set(splade.__all__) <= set(dir(splade))
    assert all(getattr(splade, name) for name in splade.__all__)
    assert splade.tag_batch is tagging.tag_batch and splade.predict_batch is predict_batch
