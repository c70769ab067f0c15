"""What measures declare, filled in for one run: the dense baseline beside it, and nothing that was not measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from splade.evaluation.figure import Curves, Histogram
from splade.evaluation.measures import declared
from splade.reporting.sections import (
    Section,
    ShownFigure,
    brief_figures,
    figure_title,
    headline,
    sections,
    spoken,
    spoken_of_any,
)
from tests.reporting.builders import build_results, build_tagging_results


def by_title(figures: list[ShownFigure]) -> dict[str, ShownFigure]:
    return {figure.title: figure for figure in figures}


def all_figures(results: dict[str, Any]) -> list[ShownFigure]:
    """Those of the headline and of all sections."""
    return [*headline(results), *(figure for section in sections(results) for figure in section.figures)]


def of_title(results: dict[str, Any], title: str) -> Section:
    (section,) = [section for section in sections(results) if section.title == title]
    return section


def cells(section: Section, table: str) -> list[list[str]]:
    (grid,) = [shown.grid for shown in section.tables if shown.title == table]
    return [list(grid.columns), *([cell.text for cell in row] for row in grid.rows)]


def test_headline_stands_beside_dense() -> None:
    figures = by_title(headline(build_results()))
    assert figures["accuracy"].value == "83.2 %"
    assert figures["accuracy"].beside == "dense head 84.1 % (-0.9 points), 95 % interval 80.5 % to 85.6 %"
    assert figures["macro-F1"].beside == "dense head 84.0 % (-0.9 points)"
    assert figures["seconds a step"].beside == "1.35 × the dense head's"
    assert (figures["largest error of the sum"].value, figures["largest error of the sum"].beside) == (
        "3.2e-06",
        "mean 4.0e-07",
    )
    assert figures["on rated words"].beside == "94.0 % of it of the right sign"
    assert all(figure.meaning for figure in figures.values())


def test_what_was_not_measured_is_left_out_and_not_shown_as_zero() -> None:
    assert headline({}) == brief_figures({}) == sections({}) == []
    results = {"accuracy": 0.0, "macro_f1": float("nan"), "sparsity": None, "dla": {"max_error": True}}
    assert [(figure.title, figure.value, figure.beside) for figure in all_figures(results)] == [
        ("accuracy", "0.0 %", "")
    ]


TABLES = {"per_class", "per_type", "strongest", "completeness", "completeness_entities", "topk_per_position"}
"""Keys with a row a name, which is there or not, never null."""


@pytest.mark.parametrize("build", [build_results, build_tagging_results])
def test_any_key_may_be_missing(build: Callable[[], dict[str, Any]]) -> None:
    """Each key of the results, and each below it, taken away or null: what is shown of the others stays as it was."""
    whole = {figure.title: figure.value for figure in all_figures(build())}
    for key, value in build().items():
        for below in [None, *(value if isinstance(value, dict) else [])]:
            for null in (False, True) if below is None or key not in TABLES else (False,):
                results = build()
                place, name = (results, key) if below is None else (results[key], below)
                if null:
                    place[name] = None
                else:
                    del place[name]
                sections(results)
                if key != "task":  # without it, another task's figures are shown
                    left = {figure.title: figure.value for figure in all_figures(results)}
                    changed = {title for title in left if left[title] != whole.get(title)}
                    assert changed <= {"heaviest token"}, (key, below)  # which the lexicon also has


def test_what_goes_beside_a_figure_is_left_out_where_it_was_not_measured() -> None:
    """A dash in a sentence says less than no sentence."""
    results = build_results() | {"completeness": {"0.1": {"accuracy": 0.8}}, "dla": {"max_error": 1e-6}}
    results["grounding"]["lexicon"] = {"coverage": 0.4}
    results |= {key: None for key in ("accuracy_interval", "dense", "vocab_size")}
    del results["active_tokens"]["p95"]
    assert not any(figure.beside for figure in all_figures(results))
    results = build_tagging_results() | {"topk_per_position": {"20": {"f1": 0.8}}}
    assert by_title(headline(results))["entity F1, 20 tokens"].beside == ""


def test_headline_figures_are_told_again_only_beside_others_of_their_section() -> None:
    results = build_results()
    assert of_title(results, "Label by label").figures == []
    assert [figure.title for figure in of_title(results, "Identity").figures] == [
        "largest error of the sum",
        "mean error of the sum",
    ]
    deletion = {"r2": 0.5, "tau": 0.3, "texts": 200, "words": 4046}
    assert [figure.title for figure in of_title({"deletion": deletion}, "Deletion").figures] == [
        "deletion explained by the sum, R²",
        "ranks of words, Kendall's τ",
    ]


def test_a_section_says_on_how_much_it_was_measured() -> None:
    assert of_title({"deletion": {"tau": 0.3, "texts": 200, "words": 4046}}, "Deletion").counts == (
        "200 texts and 4,046 words"
    )
    eraser = {"eraser": {"aopc": {"sufficiency": {"mean": 0.1}}, "rows": 869}}
    assert of_title(eraser, "ERASER").counts == "869 texts"
    assert of_title(eraser | {"task": "tagging"}, "ERASER").counts == "869 words"
    shared = {"grounding": {"input_share": 0.1, "texts": 256}}  # of several measures, each on texts of its own
    assert of_title(shared, "Grounding").counts == ""


def test_a_terminal_has_the_headline_and_some_of_the_others() -> None:
    results = build_results()
    brief = by_title(brief_figures(results))
    assert by_title(headline(results)).keys() < brief.keys() < by_title(all_figures(results)).keys()
    assert "mean error of the sum" not in brief  # it stands beside the largest


def test_sections_come_in_order_and_none_twice() -> None:
    assert [section.title for section in sections(build_results())] == [
        *("Label by label", "Beside a dense head", "Sparsity", "Identity", "Completeness", "Separation", "Grounding"),
        "Cost",
    ]
    titles = [section.title for section in sections(build_tagging_results())]
    assert titles[0] == "Entities by type" and "Label by label" not in titles and len(titles) == len(set(titles))


def test_who_carries_most_is_shown_with_or_without_a_lexicon() -> None:
    results = build_results()
    shown = by_title(of_title(results, "Grounding").figures)
    assert shown["heaviest token"].value == "bad, 4.1 %"
    assert shown["heaviest word"].value == "awful, 6.0 %, most of it for negative"
    del results["grounding"]["heaviest"]  # as in results of earlier versions
    assert by_title(of_title(results, "Grounding").figures)["heaviest token"].value == "bad, 4.0 %"
    results["grounding"] = {"heaviest_word": {"word": "card", "share": 0.14, "label": None}}
    (figure,) = of_title(results, "Grounding").figures
    assert figure.value == "card, 14.0 %"


def test_separation_is_read_between_and_within() -> None:
    table = cells(of_title(build_results(), "Separation"), "Circuits of classes")
    assert table[:2] == [["likeness", "between labels", "within a label"], ["cosine", "0.120", "0.400"]]
    assert [row[0] for row in table[1:]] == ["cosine", "cosine of sizes", "Jaccard"]  # of overlap, one is not known


def test_drawings_are_of_the_results() -> None:
    results = build_results()
    (kept,), (active,) = (of_title(results, title).drawings for title in ("Completeness", "Sparsity"))
    assert isinstance(kept.content, Curves) and isinstance(active.content, Histogram)
    strongest, random = kept.content.lines
    assert list(strongest.points) == [(1.0, 71.0), (10.0, 80.0)] and not strongest.quiet  # in the order of their size
    assert list(random.points) == [(1.0, pytest.approx(55.0)), (10.0, pytest.approx(58.0))] and random.quiet
    assert kept.content.levels == {"all active tokens": 83.2}
    assert (active.content.x, active.content.y) == ("active tokens in a text", "texts")
    assert active.content.counts == [4, 20, 7] and active.content.marks == {"mean": 27.3, "95 % have at most": 45}
    del results["active_tokens"]["histogram"]["edges"]
    assert of_title(results, "Sparsity").drawings == []


class TestTaggers:
    def test_figures_are_of_entities_and_words(self) -> None:
        figures = by_title(headline(build_tagging_results()))
        assert list(figures)[:4] == ["entity F1", "precision", "recall", "right tags"]
        assert figures["entity F1"].beside == "dense head 89.1 % (-0.8 points)"
        assert figures["entity F1, 20 tokens"].value == "88.1 %" and "entity F1, 200 tokens" not in figures
        assert figures["entity F1, 20 tokens"].beside == "40.0 % of words had more"
        assert figures["active tokens a word"].value == "27.3"
        assert figures["active tokens a word of an entity"].value == "90.4"

    def test_types_stand_beside_the_dense_baselines(self) -> None:
        head, loc, per = cells(of_title(build_tagging_results(), "Entities by type"), "Types")
        assert head == ["type", "F1", "F1, dense head", "precision", "recall", "entities"]
        assert loc == ["LOC", "88.3 %", "88.3 %", "87.5 %", "89.1 %", "1,668"] and per[:3] == ["PER", "88.3 %", "–"]

    def test_a_tag_that_one_token_says_is_shown(self) -> None:
        table = cells(of_title(build_tagging_results(), "Strongest tokens"), "Strongest for a tag")
        assert table[1:] == [["B-LOC", "beijing", "60.0 %", "7", "1,668"]]

    def test_completeness_is_shown_at_the_words_of_entities(self) -> None:
        section = of_title(build_tagging_results(), "Completeness")
        assert cells(section, "Kept tokens")[1:] == [["10 %", "70.0 %", "30.0 %", "0.200"]]
        (drawing,) = section.drawings
        assert isinstance(drawing.content, Curves) and list(drawing.content.lines[0].points) == [(10.0, 70.0)]


def test_texts_are_spoken_in_the_words_of_the_task() -> None:
    text = "a {unit}, many {units}, of {items}"
    assert spoken(text, {}) == "a text, many texts, of texts"
    assert spoken(text, {"task": "tagging"}) == "a word, many words, of sentences"


def test_what_is_for_one_task_alone_is_said_to_no_other() -> None:
    text = "kept{tagging:, at {units} of entities}; of {classification:a whole text}{tagging:a word}"
    assert spoken(text, {}) == "kept; of a whole text"
    assert spoken_of_any("of {classification:a text}{tagging:a word}", {}) == (
        "of a text (classification) or a word (tagging)"
    )
    for one in declared("classification"):
        texts = [one.about, *(figure.meaning for figure in one.figures), *(each.caption for each in one.drawings)]
        assert "tagger" not in " ".join(spoken(text, {"task": "classification"}) for text in texts)


def test_headings_of_tables_are_spoken_too() -> None:
    circuits: dict[str, Any] = {"circuits": {"negative": {"rows": 12, "tokens": []}}}
    circuits["circuits"]["negative"]["tokens"] = [{"token": "bad", "mean": 0.5, "spread": 0.1, "rows": 3}]
    grids = [table.grid for section in sections(circuits) for table in section.tables]
    assert [list(grid.columns)[:2] for grid in grids] == [["label", "texts"]]


def test_a_figure_is_called_by_its_title() -> None:
    assert (figure_title("f1"), figure_title("accuracy"), figure_title("no.such")) == (
        "entity F1",
        "accuracy",
        "no.such",
    )


@pytest.mark.parametrize("build", [build_results, build_tagging_results])
def test_no_placeholder_is_left(build: Callable[[], dict[str, Any]]) -> None:
    """Whatever a reader sees: titles, meanings, captions, axes, headings."""
    results = build()
    assert "{" not in str(all_figures(results)) + str([vars(section)["about"] for section in sections(results)])
    for section in sections(results):
        for table in section.tables:
            assert "{" not in table.title + table.grid.note + str(table.grid.columns)
        for drawing in section.drawings:
            assert "{" not in drawing.title + drawing.caption + drawing.content.x + drawing.content.y
