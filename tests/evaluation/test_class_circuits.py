"""Classes in words, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from splade.config.schema import EvaluationConfig
from splade.data.types import TextSplit
from splade.evaluation.class_circuits import ClassCircuits
from splade.evaluation.measure import Scope, Seen
from splade.tasks import ClassificationTask
from tests.builders import build_model, toy_reviews
from tests.evaluation.builders import attribution


def test_means_are_over_all_rows_of_a_class_and_spreads_over_those_where_a_token_speaks(tmp_path: Path) -> None:
    model = build_model(tmp_path)
    model.labels = ["bad", "good"]
    task = ClassificationTask(TextSplit(*toy_reviews(4)), model.tokenizer, 64, model.labels)
    measure = ClassCircuits(Scope(model, task, EvaluationConfig(), share=0.1))
    rows = attribution({"good": 1.0, "film": -1.0}, {"good": 3.0}, {"dull": 2.0}, {})
    batch = task.batch([0, 1, 2, 3])
    measure.update(Seen(batch, None, torch.tensor([1, 1, 0, 1]), rows))  # type: ignore[arg-type]  # no state is asked for
    found = measure.result().circuits
    assert list(found) == ["bad", "good"] and (found["bad"].rows, found["good"].rows) == (1, 3)
    [good] = found["good"].tokens  # what speaks against a class is no part of its circuit
    assert (good.token, good.rows) == ("good", 2)
    assert (good.mean, good.spread) == pytest.approx((4 / 3, 1.0))
    assert [(one.token, one.mean, one.spread) for one in found["bad"].tokens] == [("dull", 2.0, 0.0)]
    grid = ClassCircuits.tables[0].read({"circuits": ClassCircuits.to_json(measure.result())["circuits"]})
    assert grid is not None and [row[0].text for row in grid.rows] == ["bad", "good"]
    assert grid.rows[1][2].text == "good +1.333"


def test_a_class_that_nothing_was_given_is_left_out(tmp_path: Path) -> None:
    model = build_model(tmp_path)
    task = ClassificationTask(TextSplit(*toy_reviews(2)), model.tokenizer, 64)
    measure = ClassCircuits(Scope(model, task, EvaluationConfig(), share=0.1))
    measure.update(Seen(task.batch([0]), None, torch.tensor([1]), attribution({})))  # type: ignore[arg-type]
    assert list(measure.result().circuits) == [model.labels[1]]
