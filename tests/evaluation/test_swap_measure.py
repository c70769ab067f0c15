"""The measure of exchanged words: what it writes, shows and refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from splade.config.schema import EvaluationConfig
from splade.data.types import TextSplit
from splade.errors import LexicalSAEError
from splade.evaluation.run import chosen_measures, evaluate
from splade.evaluation.swap_measure import ModelSwaps, Swap
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask
from tests.builders import build_model, toy_reviews
from tests.evaluation.test_declared import at, expanded


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    model = build_model(tmp_path_factory.mktemp("swap"), exclude_stop_words=False)
    model.labels = ["normal", "hateful"]
    return model


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    (tmp_path / "terms.txt").write_text("noun: film, movie, plot\n")
    (tmp_path / "templates.txt").write_text("the {noun} was dull\n\ni like this {noun} .\n")
    return tmp_path


def measured(model: LexicalSAE, **settings: Any):  # type: ignore[no-untyped-def]
    task = ClassificationTask(TextSplit(*toy_reviews(60)), model.tokenizer, model.max_length, model.labels)
    return evaluate(model, task, EvaluationConfig(batch_size=32, measures=["swap"], **settings), share=0.1)


def test_templates_that_are_here_and_texts_without_such_words(model: LexicalSAE) -> None:
    found = measured(model)[Swap]
    assert found.templates is not None and found.templates.frames == 12 and found.positive == ["hateful"]
    assert found.texts is None and found.having == 0
    assert found.templates.sum_error < 1e-4


def test_words_of_ones_own_in_templates_and_texts(model: LexicalSAE, terms: Path) -> None:
    evaluation = measured(
        model, swap_terms=str(terms / "terms.txt"), swap_templates=str(terms / "templates.txt"), swap_texts=4
    )
    found, results = evaluation[Swap], evaluation.to_json()
    assert found.templates is not None and (found.templates.frames, found.templates.pairs) == (2, 6)
    assert found.texts is not None and found.texts.frames == 4 < found.having
    for figure in Swap.figures:
        assert figure.read(results) is not None, figure.key
    for pattern in (*(key.key for key in Swap.keys), *(table.fields for table in Swap.tables)):
        for key in expanded(pattern):
            parent, _, last = key.rpartition(".")
            assert at(results, key) or any(last in below for below in at(results, parent)), key
    for table in Swap.tables:
        grid = table.read(results)
        assert grid is not None and all(len(row) == len(grid.columns) for row in grid.rows)


def test_without_templates_for_words_of_ones_own_only_texts_are_looked_at(model: LexicalSAE, terms: Path) -> None:
    found = measured(model, swap_terms=str(terms / "terms.txt"), swap_texts=2)[Swap]
    assert found.templates is None and found.texts is not None
    assert measured(model, swap_terms=str(terms / "terms.txt"), swap_texts=0)[Swap].texts is None


def test_changed_decisions_are_said_with_their_words(model: LexicalSAE, terms: Path) -> None:
    from dataclasses import replace

    from splade.evaluation.estimate import Estimate

    found = measured(model, swap_terms=str(terms / "terms.txt"), swap_texts=3)[Swap]
    assert found.texts is not None
    changed = replace(found.texts, flips=Estimate(0.25, 0.2, 0.3), mean=Estimate(0.5, 0.4, 0.6))
    (said,) = Swap.findings(None, ModelSwaps(None, changed, ["hateful"], 3))  # type: ignore[arg-type]
    assert said.startswith(
        "In test texts, exchanging words for groups changes 25.0 % of the decisions and moves the logit by 0.50 in the "
        f"mean, by up to {changed.largest.change:.2f}; the largest shares of it are carried by "
        f"“{changed.carriers[0].word}” "
    )
    assert Swap.findings(None, ModelSwaps(None, None, [], 0)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (("noun: film\n", "{noun}"), "has the one word 'film'"),
        (("", "{noun}"), "has no terms"),
        (("noun: film, plot\n", "{verb}"), "names the set 'verb'"),
        (("noun: film, plot\n", ""), "There are no templates"),
    ],
)
def test_bad_files(model: LexicalSAE, tmp_path: Path, content: tuple[str, str], said: str) -> None:
    for name, text in zip(("terms.txt", "templates.txt"), content, strict=True):
        (tmp_path / name).write_text(text)
    with pytest.raises(LexicalSAEError, match=said):
        measured(model, swap_terms=str(tmp_path / "terms.txt"), swap_templates=str(tmp_path / "templates.txt"))
    with pytest.raises(LexicalSAEError, match="There is no file no/such of templates"):
        measured(model, swap_templates="no/such")


def test_it_is_taken_on_request_alone() -> None:
    assert Swap not in chosen_measures(EvaluationConfig(), "classification")
