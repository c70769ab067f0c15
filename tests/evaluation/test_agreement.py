"""Agreement with people: whose words are theirs, on a tiny model and toy reviews whose adjectives are the reason."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from splade.config.schema import EvaluationConfig
from splade.data.rationales import Marking, RationaleText, rationale_texts
from splade.data.types import TextSplit
from splade.errors import ConfigError
from splade.evaluation.agreement import Agreement
from splade.evaluation.agreement_rows import row_agreement
from splade.evaluation.agreement_table import FIGURES, TABLES, agreement_findings
from splade.evaluation.eraser_format import in_order, read_predictions
from splade.evaluation.measure import References
from splade.evaluation.paired import Difference
from splade.evaluation.run import evaluate
from splade.explainers import EXPLAINERS, ExplainerParts, Random, Subject, WordText
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask
from tests.builders import NEGATIVE, POSITIVE, build_model, toy_reviews


def reviews(texts: int, seed: int = 0, repeat: int = 1) -> TextSplit:
    """Toy reviews, the adjectives marked; `repeat`: how many make one text."""
    found, labels = toy_reviews(texts, seed)
    found = [" ".join([text] * repeat) for text in found]
    marks: list[object] = [[int(word in {*POSITIVE, *NEGATIVE}) for word in text.split()] for text in found]
    return TextSplit(found, labels, {"rationale": marks})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("agreement"))


def task(model: LexicalSAE, split: TextSplit) -> ClassificationTask:
    return ClassificationTask(split, model.tokenizer, model.max_length, model.labels)


def measured(model: LexicalSAE, split: TextSplit, references: References | None = None, **settings: object):  # type: ignore[no-untyped-def]
    config = EvaluationConfig(measures=["agreement"], **settings)  # type: ignore[arg-type]
    return evaluate(model, task(model, split), config, share=0.1, references=references)


class TestRow:
    TEXTS = rationale_texts(["a b c d", "a b", "a b c"], {"rationale": [[1, 0, 1, 0], [1, 1], [0, 0, 1]]}) or []

    def row(self, *scores: list[float], training: Marking | None = None):  # type: ignore[no-untyped-def]
        return row_agreement(self.TEXTS, [np.array(s, dtype=float) for s in scores], None, training=training, seed=0)

    def test_by_hand(self) -> None:
        """The whole text is left out. AP of the first: (1/1 + 2/3)/2 = 5/6; of the third: 1/2. Mean 2/3.

        F1 of as many as marked: of the first two words 1 is right of 2 marked: 1/2; of the third 0. At a share of 0.5,
        2 words of 4: 1/2; of 3 words 1.5 → 2: one right of one marked, 2·1/(2 + 1) = 2/3. Spread over the words
        around, the scores of the first keep their order; those of the third are 0.91, 1.08, 1.18: marked word first.
        """
        found = self.row([4, 3, 2, 1], [9, 9], [0, 2, 1], training=Marking(0.5, 3))
        assert found.ap_phrase.mean == pytest.approx((5 / 6 + 1) / 2)
        assert found.ap.mean == pytest.approx(2 / 3) and found.ap.low <= 2 / 3 <= found.ap.high
        assert found.ap_chance.mean == pytest.approx(2 / 3), "no score is there twice"
        assert found.f1_gold.mean == pytest.approx(0.25)
        assert found.f1_training is not None and found.f1_training.mean == pytest.approx((1 / 2 + 2 / 3) / 2)
        assert found.ap_label is None and found.accuracy is None and found.protocol is None

    def test_words_against_the_class_count_by_their_size(self) -> None:
        found = self.row([-4, 0, -3, 1], [0, 0], [0, 0, -1])
        assert found.ap_size.mean == 1.0 and found.ap.mean < 0.5

    def test_a_reversed_explanation_scores_badly(self) -> None:
        right, reversed_ = self.row([1, 0, 1, 0], [1, 1], [0, 0, 1]), self.row([0, 1, 0, 1], [0, 0], [1, 1, 0])
        assert right.ap.mean == right.f1_gold.mean == 1.0
        assert reversed_.ap.mean < 0.5 and reversed_.f1_gold.mean == 0.0


class TestMeasure:
    def test_rows_counts_and_what_they_know(self, model: LexicalSAE) -> None:
        split = reviews(30)
        split.extra["rationale"][:3] = [None, None, [1] * len(split.texts[2].split())]
        references = References(load_training=lambda: task(model, reviews(200, seed=1)), load_untrained=lambda: model)
        found = measured(model, split, references)[Agreement]
        assert list(found.explainers) == ["dla", "random", "empty", "content_words", "tfidf", "untrained"]
        assert (found.texts, found.without, found.whole, found.long) == (27, 2, 1, 0)
        assert found.seen == found.seen_at_once == 1.0
        ap = {name: row.ap.mean for name, row in found.explainers.items()}
        assert ap["empty"] == pytest.approx(found.share), "silence is worth the share of words marked"
        assert ap["tfidf"] > 0.95 > ap["content_words"] > ap["random"], "adjectives decide, and are no stop words"
        assert found.explainers["tfidf"].accuracy == 1.0 and found.explainers["random"].accuracy is None
        logits = np.array([list(one.logits.values()) for one in model.explain(split.texts)])
        assert found.explainers["dla"].accuracy == np.mean(logits.argmax(1) == split.labels)
        assert (
            found.training is not None
            and found.training.length > 0
            and found.explainers["tfidf"].f1_training is not None
        )

    def test_ours_are_the_words_of_the_explanations(self, model: LexicalSAE) -> None:
        split = reviews(12)
        found = measured(model, split)[Agreement].explainers["dla"]
        values = []
        for text in rationale_texts(split.texts, split.extra) or ():
            explained = model.explain([text.text])[0]
            scores = [sum(w.score for w in explained.words if start <= w.start < end) for start, end in text.words]
            values.append(average_precision_score(text.gold, scores))
        assert found.ap.mean == pytest.approx(np.mean(values), abs=1e-3)

    def test_long_texts_are_read_in_windows(self, model: LexicalSAE) -> None:
        found = measured(model, reviews(4, repeat=20))[Agreement]
        assert found.long == 4 and found.seen == 1.0 and 0.1 < found.seen_at_once < 0.5

    def test_further_explainers_are_asked_by_name(self, model: LexicalSAE) -> None:
        names = ["activations", "random", "integrated_gradients", "occlusion"]
        found = measured(model, reviews(4, repeat=12), agreement_explainers=names)[Agreement]
        assert list(found.explainers) == ["dla", *names] and found.long == 4
        ap = [row.ap.mean for row in found.explainers.values()]
        assert len(set(ap)) == 5, "each has words of its own"

    def test_the_protocols(self, model: LexicalSAE) -> None:
        evaluation = measured(model, reviews(8), protocol="hatexplain")
        figures = evaluation[Agreement].explainers["empty"].protocol
        assert figures is not None and figures.auprc > 0.5 and figures.texts == 8
        results = evaluation.to_json()
        whose, published = (table.read(results) for table in TABLES)
        assert whose is not None and whose.rows[0][0].text == "this model (DLA)"
        assert whose.note == "8 texts; left out are 0 without marked words and 0 in which all are."
        assert published is not None and published.columns[1] == "AUPRC"

    def test_without_marked_words_there_is_nothing_to_measure(self, model: LexicalSAE) -> None:
        split = reviews(6)
        for extra in ({}, {"rationale": [None] * 6}):
            with pytest.raises(ConfigError, match=r"no test text has some words that people marked and some that they"):
                measured(model, replace(split, extra=extra))

    def test_it_is_taken_on_request_only(self, model: LexicalSAE) -> None:
        split = replace(reviews(6), extra={"rationale": ["free text"] * 6})
        results = evaluate(model, task(model, split), EvaluationConfig(), share=0.1).to_json()
        assert "agreement" not in results, "and a column of another kind does no harm"


class TestEraserFiles:
    def test_our_words_are_written_and_read(self, model: LexicalSAE, tmp_path: Path) -> None:
        split = reviews(6, repeat=3)
        measured(model, split, eraser_folder=str(tmp_path / "eraser"))
        documents, marked, predictions = (
            [json.loads(line) for line in (tmp_path / "eraser" / f"{name}.jsonl").read_text().splitlines()]
            for name in ("docs", "test", "predictions")
        )
        texts = rationale_texts(split.texts, split.extra) or []
        assert [document["document"] for document in documents] == split.texts
        for text, annotation, prediction, label in zip(texts, marked, predictions, split.labels, strict=True):
            [evidences] = annotation["evidences"]
            assert [(one["start_token"], one["end_token"]) for one in evidences] == text.spans
            assert annotation["classification"] == model.labels[label]
            [rationale] = prediction["rationales"]
            assert len(rationale["soft_rationale_predictions"]) == len(text.words)
            for key in ("classification", "comprehensiveness_classification", "sufficiency_classification"):
                assert sum(prediction[f"{key}_scores"].values()) == pytest.approx(1.0)
            assert prediction["classification"] == model.explain([text.text])[0].label
        read = in_order(read_predictions(tmp_path / "eraser" / "predictions.jsonl"), texts)
        subject = Subject(model, model.tokenizer, model.max_length)
        classes = [model.labels.index(prediction["classification"]) for prediction in predictions]
        words = [WordText(text.text, tuple(text.words)) for text in texts]
        ours = EXPLAINERS.get("dla")(ExplainerParts()).explain_documents(subject, words, classes)
        for found, expected in zip(read, ours, strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-6)


def row_of(ap: float, less: Difference | None = None):  # type: ignore[no-untyped-def]
    """A row whose average precision is exactly `ap`."""
    text = RationaleText("a b", "", [(0, 1), (2, 3)], np.array([True, False]), [(0, 1)])
    row = row_agreement([text], [np.array([1.0, 0.0])], None, training=None, seed=0)
    return replace(row, ap=replace(row.ap, mean=ap), against_ours=less)


def test_what_agrees_more_is_said_plainly() -> None:
    ours = row_of(0.61)
    behind, ahead = Difference(-0.2, -0.3, -0.1, 40), Difference(0.039, 0.02, 0.05, 40)
    assert agreement_findings({"dla": ours, "random": row_of(0.41, behind), "tfidf": row_of(0.649, ahead)}) == [
        "TF-IDF's own words agree more with people than this model's: single words, whatever stands around them, "
        "explain what people marked better: 0.649 against 0.610 on 40 texts, difference 0.039 (95 %: 0.020 to 0.050)."
    ]
    assert "before its training" in agreement_findings({"dla": ours, "untrained": row_of(0.65, ahead)})[0]


def test_what_may_be_chance_is_not_said_to_agree_more() -> None:
    ours, level = row_of(0.61), Difference(0.04, -0.02, 0.1, 40)
    [sentence] = agreement_findings({"dla": ours, "tfidf": row_of(0.65, level)})
    assert sentence.startswith("In agreement with people, TF-IDF regression cannot be told apart from this model: 0.65")
    few = Difference(0.2, 0.1, 0.3, 19)
    assert agreement_findings({"dla": ours, "tfidf": row_of(0.81, few), "random": row_of(0.81, few)}) == [
        "Of 19 texts with marked words, fewer than 20, it cannot be told whose words agree more with people."
    ]


def test_a_row_is_held_against_ours_text_by_text() -> None:
    """The whole text is left out. AP of the first: 1 against 5/6; of the third: 1/3 against 1."""
    texts = TestRow.TEXTS
    theirs, ours = (
        [np.array(s) for s in scores]
        for scores in (([4, 1, 3, 2], [1, 2], [3, 2, 1]), ([4, 3, 2, 1], [1, 2], [0, 0, 1]))
    )
    found = row_agreement(texts, theirs, None, training=None, seed=0, ours=ours).against_ours
    assert found is not None and found.texts == 2 and found.mean == pytest.approx((1 / 6 - 2 / 3) / 2)


def test_a_row_by_chance_is_the_mean_of_its_draws(model: LexicalSAE) -> None:
    texts = TestRow.TEXTS
    first, second = ([np.random.default_rng(n).random(len(text.words)) for text in texts] for n in (0, 1))
    one, other = (row_agreement(texts, draw, None, training=None, seed=0) for draw in (first, second))
    both = row_agreement(texts, first, None, training=None, seed=0, draws=[second])
    assert both.ap.mean == pytest.approx((one.ap.mean + other.ap.mean) / 2) and one.ap.mean != other.ap.mean
    split = reviews(8)
    found = measured(model, split, agreement_explainers=["random"])[Agreement].explainers["random"]
    of_split, aps = rationale_texts(split.texts, split.extra) or [], []
    words = [WordText(text.text, tuple(text.words)) for text in of_split]
    for seed in range(5):
        drawn = Random(ExplainerParts(seed)).explain(Subject(model, model.tokenizer, 64), words, [0] * 8)
        aps += [average_precision_score(text.gold, each.scores) for text, each in zip(of_split, drawn, strict=True)]
    assert found.ap.mean == pytest.approx(np.mean(aps))


def test_what_is_declared_is_in_the_results(model: LexicalSAE) -> None:
    references = References(load_training=lambda: task(model, reviews(60, seed=1)))
    results = measured(model, reviews(5), references, protocol="eraser").to_json()
    assert all(0 <= (figure.read(results) or -1) <= 1 for figure in FIGURES)
    for table in TABLES:
        grid = table.read(results)
        assert grid is not None and len(grid.rows) == 5
        assert all(len(row) == len(grid.columns) for row in grid.rows)
    assert "TF-IDF regression" in str(FIGURES[0].beside and FIGURES[0].beside(results))
    assert json.loads(json.dumps(results["agreement"]))["texts"] == 5
