"""What measures declare, against what real runs write: no key that no run has, no number that cannot be."""

from __future__ import annotations

import dataclasses
import itertools
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from splade.config.load import load_config
from splade.evaluation import class_scores, entity_scores
from splade.evaluation.dense_scores import DenseScores
from splade.evaluation.documents import Documents
from splade.evaluation.figure import Column, Figure, Form, find, is_number
from splade.evaluation.measure import Declared, Measure
from splade.evaluation.measures import MEASURES, ORDER, declared
from splade.pipelines import measure_again
from splade.task_description import TASK_DESCRIPTIONS
from tests.runs import ToyRun, read_json

ROUNDING = 1e-6
"""Of floats: a cosine of a vector with itself may be a little more than 1."""

REQUESTED = ["scaling"]
"""Measures on request that are quick enough to be taken here; the others are held against their own tests."""

EVERY = [
    one
    for one in declared()
    if one not in (DenseScores, Documents)  # which a run has only when it is asked for, or texts are cut
    and (one.name in REQUESTED or not (issubclass(one, Measure) and one.on_request))
]


@pytest.fixture(scope="module")
def results(toy_run: ToyRun, toy_tagger: ToyRun, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """`results.json` of a classifier that was measured with a lexicon, and of a tagger, by task."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "ratings.tsv").write_text("good\t2\ncharming\t3\nawful\t-3\ndull\t-2\n")
    run = shutil.copytree(toy_run.folder, folder / "run")
    config = load_config(run / "config.yaml")
    names = [one.name for one in EVERY if one.name in MEASURES.names() and one.is_for("classification")]
    evaluation = dataclasses.replace(config.evaluation, lexicon=str(folder / "ratings.tsv"), measures=names)
    config = dataclasses.replace(config, output_dir=str(run), evaluation=evaluation)
    measure_again(config, console=Console(quiet=True))
    return {
        "classification": read_json(run / "results.json"),
        "tagging": read_json(toy_tagger.folder / "results.json"),
    }


def of_tasks(one: type[Declared], results: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The results of the tasks that something is declared for."""
    return [found for task, found in results.items() if one.is_for(task)]


def figures() -> list[Any]:
    return [pytest.param(one, figure, id=figure.key) for one in EVERY for figure in one.figures]


@pytest.mark.parametrize(("one", "figure"), figures())
def test_each_figure_is_in_the_results_of_a_run_and_within_its_bounds(
    one: type[Declared], figure: Figure, results: dict[str, dict[str, Any]]
) -> None:
    values = [value for found in of_tasks(one, results) if (value := figure.read(found)) is not None]
    assert values, f"no run has {figure.key}"
    low, high = figure.form.bounds
    assert all(low - ROUNDING <= value <= high + ROUNDING for value in values)
    assert any(figure.show(found) for found in of_tasks(one, results))


@pytest.mark.parametrize(
    ("one", "table"), [pytest.param(one, table, id=table.fields) for one in EVERY for table in one.tables]
)
def test_each_table_has_rows_in_a_run(one: type[Declared], table: Any, results: dict[str, dict[str, Any]]) -> None:
    grids = [grid for found in of_tasks(one, results) if (grid := table.read(found)) is not None]
    assert grids
    for grid in grids:
        assert all(len(row) == len(grid.columns) for row in grid.rows)
    assert any(find(found, table.key) is not None for found in of_tasks(one, results))


@pytest.mark.parametrize(
    ("one", "drawing"), [pytest.param(one, drawing, id=drawing.name) for one in EVERY for drawing in one.drawings]
)
def test_each_drawing_has_something_to_draw(
    one: type[Declared], drawing: Any, results: dict[str, dict[str, Any]]
) -> None:
    assert all(drawing.read(found) is not None for found in of_tasks(one, results))


def expanded(pattern: str) -> Iterator[str]:
    """The keys that the documentation's short form stands for: braces are choices, `a, b` are two."""
    for part in re.split(r", (?![^{]*\})", pattern):
        pieces = [piece.split(",") for piece in re.split(r"[{}]", part)]
        choices = [piece if number % 2 else [",".join(piece)] for number, piece in enumerate(pieces)]
        yield from ("".join(chosen) for chosen in itertools.product(*choices))


def at(found: Any, key: str) -> list[Any]:
    """The values at a key in which <name> stands for any name, and [] for any element of a list."""
    first, mark, rest = re.match(r"(.*?)(\.?<\w+>\.?|\[\]\.?|$)(.*)", key).groups()  # type: ignore[union-attr]
    value = find(found, first) if first else found
    if not mark:
        return [] if value is None else [value]
    below = list(value.values() if isinstance(value, dict) else value or [])
    return [each for one in below for each in (at(one, rest) if rest else [one])]


@pytest.mark.parametrize(
    ("one", "pattern"),
    [
        *(pytest.param(one, key.key, id=key.key) for one in EVERY for key in one.keys),
        *(
            pytest.param(one, table.fields, id=table.fields)
            for one in EVERY
            for table in one.tables
            if "…" not in table.fields
        ),
    ],
)
def test_each_documented_key_is_in_the_results_of_a_run(
    one: type[Declared], pattern: str, results: dict[str, dict[str, Any]]
) -> None:
    for key in expanded(pattern):
        if "[]" in key:  # a list that may well be empty
            key = key.partition("[]")[0]
        # A key that there is may be null, such as the label of a word that speaks for none.
        parent, _, last = key.rpartition(".")
        below = [each for found in of_tasks(one, results) for each in (at(found, parent) if parent else [found])]
        assert any(at(found, key) for found in of_tasks(one, results)) or any(last in each for each in below), key


def numbers(found: Any, columns: tuple[Column, ...]) -> list[tuple[Form, float]]:
    return [(column.form, row[column.key]) for row in found.values() for column in columns if column.key in row]


def test_the_numbers_of_tables_are_within_their_bounds(results: dict[str, dict[str, Any]]) -> None:
    read = [
        *numbers(results["classification"]["per_class"], class_scores.COLUMNS),
        *numbers(results["tagging"]["per_type"], entity_scores.COLUMNS),
    ]
    assert len(read) > 10
    for form, value in read:
        assert is_number(value) and form.bounds[0] <= value <= form.bounds[1]


def test_every_measure_is_declared_once_and_for_a_task_that_exists() -> None:
    assert {*MEASURES.entries()} <= {*ORDER} and len({*ORDER}) == len(ORDER)
    assert all(one.name and one.title for one in ORDER) and len({one.name for one in ORDER}) == len(ORDER)
    assert {task for one in ORDER for task in one.tasks or ()} <= {*TASK_DESCRIPTIONS.names()}
    for task in TASK_DESCRIPTIONS.names():
        assert any(figure.key == TASK_DESCRIPTIONS.get(task).figure for one in declared(task) for figure in one.figures)


@pytest.mark.parametrize("task", TASK_DESCRIPTIONS.names())
def test_no_two_figures_of_a_task_have_one_key_or_one_title(task: str) -> None:
    every = [figure for one in declared(task) for figure in one.figures]
    for names in ([figure.key for figure in every], [figure.title for figure in every]):
        assert sorted(set(names)) == sorted(names)
    assert all(figure.meaning.endswith((".", "?")) and figure.title == figure.title.strip() for figure in every)


def test_every_key_that_measures_write_is_documented(results: dict[str, dict[str, Any]]) -> None:
    """Sections by what is in them, everything else by its first part; the counts of `Evaluation.to_json` aside."""
    sections = {measure.section for measure in MEASURES.entries() if measure.section}
    patterns = [
        key
        for one in ORDER
        for pattern in (
            *(figure.key for figure in one.figures),
            *(table.fields for table in one.tables),
            *(key.key for key in one.keys),
        )
        for key in expanded(pattern)
    ]
    known = {re.split(r"[.<\[]", key)[0] for key in patterns}
    inside = {".".join(re.split(r"[.\[]", key)[:2]) for key in patterns}
    for found in results.values():
        for measure in (one for one in MEASURES.entries() if one.is_for(found["task"])):
            written = found.get(measure.section, {}) if measure.section else {}
            assert {f"{measure.section}.{key}" for key in written} - inside <= {
                f"separation.within_{key}"
                for key in ("jaccard", "overlap")  # the documentation writes within_…
            }
        assert sections <= known
        assert {key for key in found if key.startswith(("completeness", "active", "topk", "strongest"))} <= known
