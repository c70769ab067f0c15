"""Explainers on a bag of words, whose true scores are known: a good one, a reversed one, and one that knows nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from splade.evaluation.explained_texts import ComparedTexts, Decisions, Explained, explained, mean_rank_correlation
from splade.evaluation.explainer_figures import ExplainerFigures, TextValues, explainer_figures, text_values
from splade.explainers import Empty, Explainer, ExplainerParts, Random, Subject, WordScores, WordText
from tests.builders import NEGATIVE, NOUNS, POSITIVE, build_model, toy_reviews
from tests.explainers.builders import BagOfWords, subject

WEIGHTS = {word: 0.5 + n / 40 for n, word in enumerate(POSITIVE)}
WEIGHTS |= {word: -0.5 - n / 40 for n, word in enumerate(NEGATIVE)}
WEIGHTS |= {word: n / 100 for n, word in enumerate(NOUNS)}
BAG = BagOfWords(WEIGHTS)
TEXTS = [WordText.of(text) for text in toy_reviews(24)[0]]
MARKED: list[np.ndarray | None] = [
    np.array([abs(WEIGHTS.get(word, 0)) >= 0.5 for word in text.words]) for text in TEXTS
]
COMPARED = ComparedTexts(TEXTS, MARKED)
DECISIONS = Decisions.of(BAG, TEXTS, 0)


class Truth(Explainer):
    """What each word really adds."""

    in_logits = True
    sign = 1.0

    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        signs = [self.sign * (1 if target else -1) for target in classes]
        weights = [np.array([WEIGHTS.get(word, 0.0) for word in text.words]) for text in texts]
        return [WordScores(sign * weight, 0.0) for sign, weight in zip(signs, weights, strict=True)]


class Reversed(Truth):
    """Its opposite."""

    sign = -1.0


def said(explainer: type[Explainer], most: int = 100) -> Explained:
    return explained(explainer(ExplainerParts()), BAG, COMPARED, DECISIONS, most, 5)


def values(found: Explained) -> TextValues:
    return TextValues(text_values(found, COMPARED, DECISIONS))


def figures(explainer: type[Explainer], ours: TextValues | None = None, most: int = 100) -> ExplainerFigures:
    found = said(explainer, most)
    return explainer_figures(found, values(found), DECISIONS, 0, ours=ours)


def test_deleting_a_word_of_a_bag_does_what_it_weighs() -> None:
    for text, target, deleted, effects in zip(
        TEXTS, DECISIONS.classes, DECISIONS.deleted, DECISIONS.effects, strict=True
    ):
        assert deleted == list(range(len(text)))
        weights = [(1 if target else -1) * WEIGHTS.get(word, 0) for word in text.words]
        assert effects == pytest.approx(weights, abs=1e-5)


def test_the_truth_is_exact_constant_and_best() -> None:
    truth = figures(Truth)
    assert truth.texts == 24 and truth.deletion.r2 == pytest.approx(1) and truth.deletion.tau == pytest.approx(1)
    assert truth.sum_error is not None and truth.sum_error.max < 1e-5
    assert truth.stability == pytest.approx(1.0) and truth.stability_texts == 5
    assert truth.passes == 0 and truth.seconds < 0.1
    assert truth.agreement is not None and truth.agreement.mean == 1.0


@pytest.mark.parametrize("bad", [Reversed, Random, Empty])
def test_a_bad_explanation_scores_badly_on_every_figure(bad: type[Explainer]) -> None:
    truth, found = figures(Truth), figures(bad, values(said(Truth)))
    for name in ("comprehensiveness", "masked_comprehensiveness", "agreement"):
        assert getattr(found, name).mean < getattr(truth, name).mean - 0.05, name
        assert found.against_ours[name].high < 0, name
    for name in ("sufficiency", "masked_sufficiency"):
        assert getattr(found, name).mean > getattr(truth, name).mean + 0.05, name
        assert found.against_ours[name].low > 0, name
    assert found.deletion.tau is not None and found.deletion.tau < 0.3
    assert (found.deletion.r2 is None) == (bad is Random), "numbers that are no logits are not compared as such"
    assert found.deletion.r2 is None or found.deletion.r2 < 0.3
    assert found.deletion.top_word is not None and found.deletion.top_word < 0.5
    assert bad is not Reversed or (found.sum_error is not None and found.sum_error.median > 1)
    assert bad is not Random or (found.stability is not None and abs(found.stability) < 0.35)


def test_fewer_texts_are_the_first_ones() -> None:
    few = said(Truth, 3)
    assert few.told[0].scores == said(Truth).told[0].scores[:3] and len(few.told[0].changes) == len(few) == 3
    found = figures(Truth, values(said(Truth)), 3)
    assert found.texts == 3 and found.against_ours["tau"].mean == 0.0


def test_chance_is_the_mean_of_five_draws() -> None:
    found = said(Random)
    assert len(found.told) == 5 and len({str(told.scores) for told in found.told}) == 5
    alone = [text_values(replace(found, told=[told]), COMPARED, DECISIONS) for told in found.told]
    np.testing.assert_allclose(values(found).words, np.mean(alone, 0))
    draws = [explainer_figures(replace(found, told=[told]), values(found), DECISIONS, 0) for told in found.told]
    taus = [each.deletion.tau for each in draws if each.deletion.tau is not None]
    assert figures(Random).deletion.tau == pytest.approx(np.mean(taus)) and len(set(taus)) == 5
    silent = said(Empty)
    assert len({str(told.changes) for told in silent.told}) == 5, "words without scores come in five orders"
    assert len(said(Truth).told) == 1


def test_cost_is_of_the_same_texts_each_alone() -> None:
    class Reader(Truth):
        """Reads each text once, the first of a batch twice more."""

        def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
            subject.passes += len(texts) + 2
            return super().explain(subject, texts, classes)

    found = said(Reader)
    assert found.passes == [3] * 24 and len(found.seconds) == 24
    cost = explainer_figures(found, values(found), DECISIONS, 0, timed=7)
    assert (cost.passes, cost.timed_texts) == (3.0, 7) and cost.seconds == np.median(found.seconds[:7])


def test_one_that_says_something_else_each_time_is_not_stable() -> None:
    class Moody(Truth):
        """Says the opposite whenever it is asked about several texts."""

        def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
            found = super().explain(subject, texts, classes)
            return found if len(texts) == 1 else [WordScores(-one.scores) for one in found]

    assert said(Moody).stability == pytest.approx((4 * -1 + 6 * 1) / 10), "four pairs differ, six do not"


def test_what_adds_up_to_another_logit_has_no_error() -> None:
    class Other(Truth):
        """A model of its own."""

        in_logits = False

    assert figures(Other).sum_error is None and figures(Other).deletion.r2 is None
    assert figures(Other).deletion.right_sign is None and "r2" not in figures(Other).deletion.intervals
    assert figures(Other).deletion.tau == pytest.approx(1)


def test_what_is_affordable_depends_on_length_and_readings() -> None:
    lengths = [len(text) + 2 for text in TEXTS]
    assert COMPARED.affordable([10] * 24, 10 * sum(lengths[:5])) == 5
    assert COMPARED.affordable([10] * 24, 10 * sum(lengths[:5]) - 1) == 4
    assert COMPARED.affordable([10**9] * 24) == 1


def test_ranks_of_several_seeds_are_compared_by_pairs() -> None:
    """ρ of (1, 2, 3) with (1, 3, 2) is 1/2, with (3, 2, 1) is −1; of these two −1/2. Mean −1/3."""
    runs = [np.array([1.0, 2, 3]), np.array([10.0, 30, 20]), np.array([3.0, 2, 1])]
    assert mean_rank_correlation(runs) == pytest.approx(-1 / 3)
    assert np.isnan(mean_rank_correlation([np.zeros(3), np.arange(3.0)]))


def test_texts_are_cut_to_what_is_read_and_marks_with_them(tmp_path: Path) -> None:
    of_model = subject(build_model(tmp_path))
    long, short, empty = WordText.of("good film " * 60), WordText.of("good film"), WordText.of(" ")
    marks = [np.arange(120) == 0, np.array([True, True]), np.zeros(0, dtype=bool)]
    compared = ComparedTexts.given(of_model, [long, short, empty], marks)
    assert [len(text) for text in compared.texts] == [62, 2]  # 64 tokens with the special ones
    assert compared.marked[0] is not None and len(compared.marked[0]) == 62
    assert compared.marked[1] is None  # all are marked: nothing to tell apart
