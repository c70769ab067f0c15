"""The table of headline figures in the terminal."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from splade.reporting.results_table import print_results
from tests.reporting.builders import build_results, build_tagging_results

MEASURED = {"evaluated": 853, "completeness_tokens": {}}


def printed(results: dict[str, Any]) -> str:
    stream = io.StringIO()
    print_results(results, Console(file=stream, width=120))
    return stream.getvalue()


def test_a_classifier() -> None:
    shown = printed(build_results() | MEASURED)
    assert "0.8320  (dense head: 0.8410)" in shown and "accuracy keeping 10%" in shown
    assert "active tokens a text" in shown and "over 853 texts" in shown and "entity F1" not in shown
    assert "Note: 31 duplicate texts were dropped." in shown


def test_a_tagger() -> None:
    shown = printed(build_tagging_results() | MEASURED)
    assert "0.8830  (dense head: 0.8910)" in shown and "0.8750, 0.8910" in shown
    assert "F1 of LOC" in shown and "1,668 entities" in shown
    assert "0.8810  (40.0% of words had more)" in shown and "at most 20 tokens a word" in shown
    assert "active tokens a word (entities)" in shown and "90.4 of 30,522 (95 % have ≤ 120)" in shown
    assert "active tokens a word" in shown and "over 46,435 words" in shown
    assert "accuracy keeping 10% (entities)" in shown and "macro" not in shown
