"""The published protocols: figures by hand, and those that are known of the two sets."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from splade.data.rationales import RationaleText, rationale_texts, runs
from splade.evaluation.rationale_protocols import PROTOCOLS, Reading, iou_f1, protocol_figures, trapezoid_auprc

ONE_PIECE = Reading(pieces=lambda text: np.ones(len(text.words), dtype=int), share=0.4)


def text(*marks: int) -> RationaleText:
    found = rationale_texts([" ".join("w" for _ in marks)], {"rationale": [list(marks)]})
    assert found is not None
    return found[0]


def test_the_trapezoid_rewards_silence() -> None:
    gold = np.array([True, False, False, False])
    assert trapezoid_auprc(gold, np.zeros(4)) == (1 + 0.25) / 2
    assert trapezoid_auprc(gold, np.array([4.0, 3, 2, 1])) == 1.0
    assert trapezoid_auprc(gold, np.array([1.0, 2, 3, 4])) < 0.2


class TestSpans:
    def test_one_marked_span_by_hand(self) -> None:
        """Half of it is found: intersection 2, union 4."""
        assert iou_f1([[(0, 4)]], [[(2, 4)]]) == 1.0
        assert iou_f1([[(0, 4)]], [[(3, 4)]]) == 0.0

    def test_mean_precision_and_mean_recall(self) -> None:
        """Text one: 1 of 2 predicted right, 1 of 1 found; text two: nothing predicted, none of 2 found.

        Precision is a mean over texts with predictions: 1/2; recall (1 + 0)/2; F1 = 1/2.
        """
        assert iou_f1([[(0, 1)], [(0, 1), (2, 3)]], [[(0, 1), (5, 6)], []]) == pytest.approx(0.5)
        assert iou_f1([[(0, 1)]], [[]]) == 0.0

    def test_words_by_themselves_hardly_overlap_with_a_span_of_three(self) -> None:
        judged = [PROTOCOLS.get("eraser")(text(1, 1, 1, 0, 0, 0, 0), np.array([3.0, 3, 3, 0, 0, 0, 0]), ONE_PIECE)]
        figures = protocol_figures(judged)  # 0.4 of seven words are three
        assert (figures.iou_f1_single, figures.iou_f1_merged, figures.token_f1, figures.auprc) == (0.0, 1.0, 1.0, 1.0)


class TestHateXplain:
    def test_pieces_by_hand(self) -> None:
        """The second of three words has two pieces and is marked: of [CLS] w w ##w w [SEP] the third and fourth are.

        Scores 0, 2, −1 become 0 0 2 2 0 0; the top five are all but [CLS], of which two are right: P 2/5, R 1.
        """
        reading = Reading(pieces=lambda text: np.array([1, 2, 1]), share=0.4)
        judged = PROTOCOLS.get("hatexplain")(text(0, 1, 0), np.array([0.0, 2.0, -1.0]), reading)
        assert judged.gold.tolist() == [False, False, True, True, False, False]
        assert judged.scores.tolist() == [0, 0, 2, 2, 0, 0]
        assert judged.chosen.tolist() == [False, True, True, True, True, True]
        figures = protocol_figures([judged])
        assert figures.token_f1 == pytest.approx(2 * 0.4 / 1.4) and figures.auprc == 1.0
        # Both pieces, by themselves, overlap by half with the one span of two: P 2/5, R 2/1.
        assert figures.iou_f1_single == pytest.approx(2 * 0.4 * 2 / 2.4)
        assert figures.iou_f1_merged == 0.0, "one span of five: 2/5 of it is right"

    def test_a_reversed_explanation_is_worse(self) -> None:
        marks = [0] * 6 + [1, 1] + [0] * 6
        good = np.array(marks, dtype=float)
        for protocol in ("eraser", "hatexplain"):
            found = [
                protocol_figures([PROTOCOLS.get(protocol)(text(*marks), scores, ONE_PIECE)])
                for scores in (good, 1 - good)
            ]
            assert found[0].auprc > found[1].auprc and found[0].token_f1 > found[1].token_f1


def _test_split(name: str) -> list[RationaleText]:
    file = Path(os.environ.get("LEXICAL_SAE_DATA", ""), name, "test.jsonl.gz")
    if "LEXICAL_SAE_DATA" not in os.environ or not file.exists():
        pytest.skip("LEXICAL_SAE_DATA names no data root with this set")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    columns = {key: [row.get(key) for row in rows] for key in ("rationale", "rationale_votes")}
    found = rationale_texts([row["text"] for row in rows], columns)  # type: ignore[arg-type]
    assert found is not None
    return [one for one in found if one.gold is not None]


@pytest.mark.parametrize(
    "name, texts, silence, chance", [("hatexplain", 1016, 0.658, 0.364), ("eraser_movies", 200, 0.651, 0.306)]
)
def test_silence_and_chance_on_real_rationales(name: str, texts: int, silence: float, chance: float) -> None:
    """The figures of the design: why the trapezoid is no headline."""
    partial = [one for one in _test_split(name) if not one.is_whole]
    generator = np.random.default_rng(0)
    random, empty = (
        protocol_figures([PROTOCOLS.get("eraser")(one, scores(len(one.words)), ONE_PIECE) for one in partial]).auprc
        for scores in (generator.random, np.zeros)
    )
    assert len(partial) == texts and empty == pytest.approx(silence, abs=5e-4)
    assert random == pytest.approx(chance, abs=3e-3)


def test_the_marked_words_themselves_do_not_agree_with_hatexplains_spans() -> None:
    texts = _test_split("hatexplain")
    gold = [runs(one.gold) for one in texts if one.gold is not None]
    words = [[(n, n + 1) for n in np.flatnonzero(one.gold).tolist()] for one in texts]
    assert len(texts) == 1142 and sum(one.is_whole for one in texts) == 126
    assert iou_f1(gold, words) == pytest.approx(0.469, abs=5e-4)
