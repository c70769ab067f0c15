from __future__ import annotations

from splade.reporting.about import about
from tests.reporting.builders import build_results, build_tagging_results


def test_names_model_and_data() -> None:
    rows = dict(about(build_results()))
    assert rows["Support"] == "neighbourhood + dictionary"
    assert rows["Texts"] == "6,141 train, 683 validation, 853 test"
    assert rows["Training"] == "800 steps, 2 epochs, 6,824 examples"
    assert rows["Truncated"] == "12 texts were cut"
    assert rows["Constraint"] == "training cross-entropy near 0.2600 or below, and sparse: met by the model of step 720"
    assert rows["Time"] == "210 s training, 20 s evaluation"
    assert dict(about({"labels": [f"l{i}" for i in range(77)]}))["Labels"].endswith("and 67 more")


def test_a_tagger_is_trained_on_sentences_and_cut_at_words() -> None:
    rows = dict(about(build_tagging_results()))
    assert "Texts" not in rows and rows["Sentences"] == "6,141 train, 683 validation, 853 test"
    assert rows["Truncated"] == "12 words were cut"


def test_what_is_not_known_is_left_out() -> None:
    assert about({}) == []
    assert about({"labels": None, "samples": None, "constraint": {}, "seconds": {"train": None}}) == []
