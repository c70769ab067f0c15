"""A new measure is one class: registered, it is found in the results, the table, the report, the card and the docs."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from splade.evaluation.figure import Figure
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen
from splade.pipelines import run_experiment
from splade.reporting.documentation import documented, keys_table
from splade.reporting.results_table import print_results
from splade.studies.summary import columns
from tests.runs import ToyRun


@dataclass(frozen=True)
class Surprise:
    surprise: float


@pytest.fixture
def toy_measure() -> Iterator[type[Measure[Surprise]]]:
    @MEASURES.register("surprise")
    class ToyMeasure(Measure[Surprise]):
        """Share of rows whose prediction is less than sure."""

        title = "Surprise"
        about = "Is the model ever in doubt?"
        section = "doubts"
        figures = (
            Figure("doubts.surprise", "unsure {units}", "Share of {units} predicted below 99 %.", column="surprise"),
        )

        def __init__(self, scope: Scope):
            super().__init__(scope)
            self._unsure = self._rows = 0

        def update(self, seen: Seen) -> None:
            sure = seen.state.logits.softmax(-1).amax(-1)
            self._unsure, self._rows = self._unsure + int((sure < 0.99).sum()), self._rows + len(sure)

        def result(self) -> Surprise:
            return Surprise(self._unsure / self._rows)

        def findings(self, result: Surprise) -> list[str]:
            return [f"The toy measure found {result.surprise:.3f}."]

    yield ToyMeasure
    MEASURES.unregister("surprise")


def test_a_new_measure_is_shown_everywhere(
    toy_measure: type[Measure[Surprise]], toy_run: ToyRun, tmp_path: Path
) -> None:
    results = run_experiment(toy_run.config(tmp_path / "run"))
    share = results["doubts"]["surprise"]
    assert 0 < share <= 1 and f"The toy measure found {share:.3f}." in results["notes"]

    table = io.StringIO()
    print_results(results, Console(file=table, width=200))
    report, card = ((tmp_path / "run" / name).read_text(encoding="utf-8") for name in ("report.html", "README.md"))
    for shown in (table.getvalue(), report, card):
        assert "nsure texts" in shown and f"{100 * share:.1f} %" in shown
    for page in (report, card):
        assert "Surprise" in page and "Is the model ever in doubt?" in page and "predicted below 99 %" in page
    assert "| `doubts.surprise` |" in keys_table()
    assert [column.title for column in columns("classification") if column.key == "surprise"] == ["unsure texts"]


def test_the_documentation_is_that_of_the_measures_there_are() -> None:
    page = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
    assert documented(page) == page, "run: python -m splade.reporting.documentation docs/results.md"
