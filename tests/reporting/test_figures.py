from __future__ import annotations

from splade.reporting.figures import about, dense_figures, grounding, headline, per_type, percent, separation
from tests.reporting.builders import build_results, build_tagging_results


def test_headline_stands_beside_dense() -> None:
    figures = {figure.name: figure for figure in headline(build_results())}
    assert figures["Accuracy"].value == "83.2 %"
    assert figures["Accuracy"].beside == "dense head 84.1 % (-0.9 points)"
    assert figures["Seconds a step"].beside == "1.35 × the dense head's"
    assert figures["Largest error of the sum"].value == "3.2e-06"
    assert figures["On rated words"].beside == "94.0 % of it with the right sign"
    assert all(figure.meaning for figure in figures.values())


def test_what_was_not_measured_is_left_out_and_not_shown_as_zero() -> None:
    assert headline({}) == grounding({}) == separation({}) == about({}) == []
    assert [figure.name for figure in headline({"accuracy": 0.0, "macro_f1": float("nan")})] == ["Accuracy"]
    assert headline({"accuracy": 0.5})[0].beside == ""
    assert percent(None) == percent(True) == "–"


def test_a_lexicon_figure_is_a_pair_or_nothing() -> None:
    results = build_results()
    del results["grounding"]["lexicon"]["right_sign"]
    assert "On rated words" not in [figure.name for figure in headline(results)]


def test_who_carries_most_is_shown_with_or_without_a_lexicon() -> None:
    results = build_results()
    shown = {figure.name: figure for figure in grounding(results)}
    assert shown["Heaviest token"].value == "bad, 4.1 %" and shown["Heaviest word"].value == "awful, 6.0 %"
    assert "most of it for negative;" in shown["Heaviest word"].meaning
    del results["grounding"]["heaviest"]  # as in results of earlier versions
    assert {figure.name: figure.value for figure in grounding(results)}["Heaviest token"] == "bad, 4.0 %"
    results["grounding"] = {"heaviest_word": {"word": "card", "share": 0.14, "label": None}}
    (figure,) = grounding(results)
    assert figure.value == "card, 14.0 %" and "most of it for" not in figure.meaning


def test_dense_accuracy_is_found_where_the_run_wrote_it() -> None:
    assert dense_figures({"dense_accuracy": 0.7}) == {"accuracy": 0.7}
    assert dense_figures({"dense": {"accuracy": 0.8}, "dense_accuracy": None}) == {"accuracy": 0.8}


def test_about_names_model_and_data() -> None:
    rows = dict(about(build_results()))
    assert rows["Support"] == "neighbourhood + dictionary"
    assert rows["Texts"] == "6,141 train, 683 validation, 853 test"
    assert rows["Training"] == "800 steps, 2 epochs, 6,824 examples"
    assert rows["Constraint"] == "training cross-entropy near 0.2600 or below, and sparse: met by the model of step 720"
    assert dict(about({"labels": [f"l{i}" for i in range(77)]}))["Labels"].endswith("and 67 more")


def test_separation_is_read_between_and_within() -> None:
    assert separation(build_results())[0] == {"name": "Cosine", "between": "0.120", "within": "0.400"}


def test_a_tag_that_one_token_says_is_shown() -> None:
    figure = {figure.name: figure for figure in grounding(build_tagging_results())}["Strongest for B-LOC"]
    assert figure.value == "beijing, 60.0 %" and figure.meaning.endswith("Different ones: 7.")


def test_a_taggers_figures_are_of_entities_and_words() -> None:
    figures = {figure.name: figure for figure in headline(build_tagging_results())}
    assert list(figures)[:4] == ["Entity F1", "Precision", "Recall", "Right tags"]
    assert figures["Entity F1"].beside == "dense head 89.1 % (-0.8 points)"
    assert figures["Entity F1, 20 tokens"].value == "88.1 %" and "Active tokens a word" in figures
    assert figures["Active tokens a word of an entity"].value == "90.4"
    (loc, per) = per_type(build_tagging_results())
    assert (loc["name"], loc["f1"], loc["dense"], loc["support"]) == ("LOC", "88.3 %", "88.3 %", "1,668")
    assert per["dense"] == "–"
    assert per_type(build_results()) == []
