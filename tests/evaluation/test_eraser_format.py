"""ERASER's files, as others write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from splade.data.rationales import rationale_texts
from splade.errors import DataError
from splade.evaluation.eraser_format import EraserPrediction, in_order, read_predictions, unique_names, write_eraser

TEXTS = rationale_texts(["a dull film", "good"], {"rationale": [[0, 1, 0], [1]], "id": ["neg.txt", "pos.txt"]}) or []

PUBLISHED = {
    "annotation_id": "neg.txt",
    "rationales": [
        {
            "docid": "neg.txt",
            "hard_rationale_predictions": [{"start_token": 1, "end_token": 2}],
            "soft_rationale_predictions": [0.1, 0.9, 0.2],
        }
    ],
    "classification": "NEG",
    "classification_scores": {"NEG": 0.9, "POS": 0.1},
    "comprehensiveness_classification_scores": {"NEG": 0.5, "POS": 0.5},
    "sufficiency_classification_scores": {"NEG": 0.8, "POS": 0.2},
}


def test_what_is_read_is_written_again_field_for_field() -> None:
    assert EraserPrediction.from_json(PUBLISHED, "line 1").to_json() == PUBLISHED


def test_what_is_not_at_hand_is_left_out() -> None:
    assert EraserPrediction("x", [1.0], [(0, 1)]).to_json().keys() == {"annotation_id", "rationales"}


def test_a_folder_has_documents_marked_words_and_predictions(tmp_path: Path) -> None:
    predictions = [EraserPrediction("pos.txt", [0.5], []), EraserPrediction.from_json(PUBLISHED, "")]
    write_eraser(tmp_path, TEXTS, ["NEG", "POS"], predictions)
    documents, marked = (
        [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
        for name in ("docs", "test")
    )
    assert documents[0] == {"docid": "neg.txt", "document": "a dull film"}
    assert marked[0]["evidences"][0][0]["text"] == "dull" and marked[1]["classification"] == "POS"
    found = in_order(read_predictions(tmp_path / "predictions.jsonl"), TEXTS)
    assert [scores.tolist() for scores in found] == [[0.1, 0.9, 0.2], [0.5]], "whatever their order"


def test_names_that_are_there_twice_get_numbers() -> None:
    assert unique_names([TEXTS[0], TEXTS[1], TEXTS[0]]) == ["neg.txt_1", "pos.txt", "neg.txt_3"]


@pytest.mark.parametrize("line", ["{}", "[]", '{"annotation_id": "x", "rationales": []}', '{"annotation_id": "x"'])
def test_what_is_no_prediction_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "found.jsonl").write_text(line)
    with pytest.raises(DataError, match=r"found.jsonl"):
        read_predictions(tmp_path / "found.jsonl")


def test_scores_must_be_one_a_word(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"have 0 soft scores for 'pos.txt', which has 1 words; give one a word"):
        in_order([EraserPrediction.from_json(PUBLISHED, "")], TEXTS)
    with pytest.raises(DataError, match="cannot be read"):
        read_predictions(tmp_path)
