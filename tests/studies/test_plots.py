"""Panels of variations: intervals inside what is possible, and ticks whose labels can be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from splade.studies import plots, sota
from splade.studies.plots import draw_frontier, draw_variations
from splade.studies.summary import Column, Row, columns

BY_KEY = {column.key: column for column in (*columns("classification"), *sota.COLUMNS)}


def drawn(monkeypatch: pytest.MonkeyPatch, folder: Path, values: dict[str, list[list[float]]]) -> list[Axes]:
    """The panels of a study: by figure, each variation's values over seeds."""
    kept: list[Canvas] = []
    save = plots._save
    monkeypatch.setattr(plots, "_save", lambda canvas, *rest: kept.append(canvas) or save(canvas, *rest))  # type: ignore[func-returns-value]
    figures: list[Column] = [BY_KEY[key] for key in values]
    rows = [
        Row(f"variation {index}", {figure.key: figure.over(values[figure.key][index]) for figure in figures}, {})
        for index in range(len(next(iter(values.values()))))
    ]
    draw_variations(folder, "study", rows, figures)
    return kept[0].axes


def test_no_axis_reaches_beyond_what_is_possible(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two seeds at 0.67 and 0.88: the t-interval alone would end at −0.55 and 2.09."""
    shares, tokens = drawn(monkeypatch, tmp_path, {"accuracy": [[0.667, 0.875]], "active_tokens": [[3.0, 19.0]]})
    assert shares.get_xlim()[0] >= -10 and shares.get_xlim()[1] <= 110
    assert tokens.get_xlim()[0] >= -10


@pytest.mark.parametrize(
    "values",
    [
        {"active_tokens": [[16.02], [16.025], [16.03]], "tokens_kl": [[0.12341], [0.12352], [0.12347]]},
        {"train_seconds": [[11.2], [12.9], [13.1]], "parameters": [[1.1e8], [1.2e8], [2e4]]},
        {"accuracy": [[0.5, 0.9], [0.85, 0.86]], "explain_ms": [[0.01, 0.4], [900.0, 1200.0]]},
    ],
)
def test_labels_of_ticks_do_not_overlap(
    values: dict[str, list[list[float]]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    every: list[str] = []
    for axes in drawn(monkeypatch, tmp_path, values):
        low, high = axes.get_xlim()
        labels = [
            label
            for minor in (False, True)
            for tick, label in zip(axes.get_xticks(minor=minor), axes.get_xticklabels(minor=minor), strict=True)
            if low <= tick <= high and label.get_text()
        ]
        boxes = [label.get_window_extent() for label in labels]
        every += [label.get_text() for label in labels]
        assert len(labels) >= 2
        assert not any(box.count_overlaps(boxes[:index]) for index, box in enumerate(boxes)), every


def test_without_a_figure_that_is_drawn_there_is_no_plot(tmp_path: Path) -> None:
    """A study whose runs take one measure may have figures for its table alone."""
    error = BY_KEY["dla_error"]
    rows = [Row("variation", {"dla_error": error.over([1e-6])}, {})]
    assert draw_variations(tmp_path, "study", rows, [error]) == [] and list(tmp_path.iterdir()) == []
    assert len(draw_frontier(tmp_path, "frontier", rows)) == 2  # empty, and whole
