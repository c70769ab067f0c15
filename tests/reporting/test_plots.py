from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from splade.evaluation.figure import Bars
from splade.reporting import plots
from splade.reporting.sections import sections
from tests.reporting.builders import build_history, build_results


def every_plot() -> dict[str, str | None]:
    results, history = build_results(), build_history()
    return {
        "losses": plots.loss_terms(history),
        "constraint": plots.constraint(history),
        "multiplier": plots.multiplier(history),
        "active": plots.active_tokens(history, target=30),
        "validation": plots.validation_score(history, "accuracy", "accuracy"),
        **{
            drawing.name: plots.draw(drawing.name, drawing.title, drawing.content)
            for section in sections(results)
            for drawing in section.drawings
        },
    }


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    return {name: svg for name, svg in every_plot().items() if svg is not None}


def test_every_figure_is_drawn_and_well_formed(drawn: dict[str, str]) -> None:
    assert len(drawn) == 8
    for svg in drawn.values():
        root = ET.fromstring(svg)
        assert root.get("viewBox") and root.get("aria-label")
        assert root.get("width") is None and root.get("height") is None


def test_no_two_figures_of_a_page_share_an_id_and_every_reference_resolves(drawn: dict[str, str]) -> None:
    page = "".join(drawn.values())
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    references = re.findall(r'href="#([^"]+)"', page) + re.findall(r"url\(#([^)]+)\)", page)
    assert references and set(references) <= set(ids)


def test_nothing_refers_outside(drawn: dict[str, str]) -> None:
    for svg in drawn.values():
        without_namespaces = re.sub(r'xmlns(:\w+)?="[^"]*"', "", svg)
        assert "http" not in without_namespaces and "<image" not in svg


def test_lines_and_letters_follow_the_colour_of_the_page(drawn: dict[str, str]) -> None:
    assert all("currentColor" in svg and "#010203" not in svg for svg in drawn.values())


def test_a_drawing_is_the_same_each_time(drawn: dict[str, str]) -> None:
    assert every_plot() == drawn


def test_labels_name_what_is_drawn(drawn: dict[str, str]) -> None:
    assert "circuit phase starts" in drawn["constraint"] and "limit τ" in drawn["constraint"]
    assert "target 30" in drawn["active"]
    assert "random ones" in drawn["completeness"] and "all active tokens" in drawn["completeness"]
    assert "active tokens in a text" in drawn["sparsity"] and "95 % have at most 45" in drawn["sparsity"]


def test_the_phase_change_is_the_first_step_of_the_circuit_phase() -> None:
    assert plots.phase_change(build_history(20, circuit_from=10)) == 10
    assert plots.phase_change(build_history(20, circuit_from=1)) is None  # nothing came before it
    assert plots.phase_change(build_history(20, circuit_from=99)) is None


def test_missing_and_broken_numbers_are_left_out_of_a_curve() -> None:
    rows = [{"step": 1, "ce": 1.0}, {"step": 2, "ce": None}, {"step": 3}, {"step": 4, "ce": float("nan")}]
    rows += [{"step": 5, "ce": 2}, {"step": 5, "validation": {"ce": 9.0}}]
    assert plots.curve(rows, "ce") == [(1, 1.0), (5, 2.0)]
    assert plots.validation_curve(rows, "ce") == [(5, 9.0)]


def test_a_long_history_is_thinned_and_keeps_its_last_point() -> None:
    points = plots.curve([{"step": step, "ce": 1.0} for step in range(10_001)], "ce")
    assert len(points) <= plots.MAX_POINTS
    assert points[-1][0] == 10_000


def test_what_was_not_measured_is_not_drawn() -> None:
    assert plots.loss_terms([]) is None
    assert plots.multiplier(build_history(20, circuit_from=99)) is None
    assert plots.validation_score(build_history(), "f1", "entity F1") is None


def test_scores_stand_beside_those_of_the_dense_head() -> None:
    bars = next(
        drawing.content
        for section in sections({"accuracy": 0.9, "macro_f1": 0.8, "dense": {"accuracy": 0.5, "macro_f1": 0.25}})
        for drawing in section.drawings
        if drawing.name == "beside-dense"
    )
    assert isinstance(bars, Bars) and bars.groups == ("accuracy", "macro-F1")
    assert bars.bars == {"Lexical-SAE": [90.0, 80.0], "dense head": [50.0, 25.0]}
