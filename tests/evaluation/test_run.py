"""One pass for all measures, or for those asked for: the same figures, whichever others are taken."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from splade.config.load import load_config
from splade.config.schema import EvaluationConfig
from splade.data.types import TaggedSplit, TextSplit
from splade.errors import ConfigError
from splade.evaluation.completeness import Completeness
from splade.evaluation.identity import Identity
from splade.evaluation.measure import MEASURES, References
from splade.evaluation.measures import declared
from splade.evaluation.run import Evaluation, check_measures, chosen_measures, evaluate
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask, TaggingTask, Task
from tests.builders import TAGS, build_model, tagged_sentences, toy_reviews

COMMON = {"evaluated", "findings", "vocab_size"}


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> tuple[LexicalSAE, Task]:
    model = build_model(tmp_path_factory.mktemp("classifier"))
    return model, ClassificationTask(TextSplit(*toy_reviews(24)), model.tokenizer, 64)


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> tuple[LexicalSAE, Task]:
    model = build_model(tmp_path_factory.mktemp("tagger"), "neighbourhood+dictionary", task="tagging", active=25)
    return model, TaggingTask(TaggedSplit(*tagged_sentences(16)), model.tokenizer, 10, TAGS)


@pytest.fixture(params=["classifier", "tagger"])
def measured(request: pytest.FixtureRequest) -> tuple[LexicalSAE, Task]:
    return request.getfixturevalue(request.param)


def run(measured: tuple[LexicalSAE, Task], **settings: Any) -> Evaluation:
    model, task = measured
    config = EvaluationConfig(batch_size=8, **settings)
    return evaluate(model, task, config, share=0.1, references=References(lambda: model.backbone), seed=3)


def leaves(found: object, path: str = "") -> dict[str, object]:
    """Every value of nested mappings by its path."""
    if not isinstance(found, dict):
        return {path: found}
    return {name: value for key, below in found.items() for name, value in leaves(below, f"{path}/{key}").items()}


def test_each_measure_alone_finds_what_it_finds_among_all(measured: tuple[LexicalSAE, Task]) -> None:
    task = measured[1]
    whole = leaves(run(measured, max_samples=9).to_json())
    alone: dict[str, object] = {}
    for measure in chosen_measures(EvaluationConfig(), task.name):
        if measure.name in ("lexicon", "documents"):  # no ratings are named, and no text is longer than is read at once
            continue
        found = run(measured, max_samples=9, measures=[measure.name])
        assert list(found.results) == [measure]
        alone |= leaves(found.to_json())
    findings = {key: alone.pop(key) for key in ("/findings",)}
    assert alone == {key: value for key, value in whole.items() if key not in findings}


def test_only_the_keys_of_the_measures_asked_for(classifier: tuple[LexicalSAE, Task]) -> None:
    found = run(classifier, measures=["completeness", "identity"])
    assert list(found.results) == [Identity, Completeness]  # in the order of their declaration
    assert found.to_json().keys() == {"completeness", "completeness_tokens", "dla", *COMMON}
    assert run(classifier, measures=["input_share"]).to_json()["grounding"].keys() == {"input_share"}
    with pytest.raises(KeyError):
        run(classifier, measures=["identity"])[Completeness]


def test_findings_are_of_the_measures_asked_for(classifier: tuple[LexicalSAE, Task]) -> None:
    every = run(classifier).findings
    assert any(note.startswith("With 24 test texts") for note in every)
    assert run(classifier, measures=["identity"]).findings == []
    assert set(run(classifier, measures=["class_scores"]).findings) <= set(every)


@pytest.mark.parametrize("name", ["strongest", "capped", "entity_scores"])
def test_a_measure_of_the_other_task_is_one_sentence(name: str, classifier: tuple[LexicalSAE, Task]) -> None:
    model, task = classifier
    with pytest.raises(ConfigError) as error:
        check_measures(model, task, EvaluationConfig(measures=[name]))
    sentence = (
        f"evaluation.measures names '{name}', which is for tagging, but the task is classification; leave it out."
    )
    assert str(error.value) == sentence
    with pytest.raises(ConfigError, match="which is for classification, but the task is tagging"):
        chosen_measures(EvaluationConfig(measures=["class_scores"]), "tagging")


def test_an_unknown_measure_is_one_sentence_with_the_choices() -> None:
    with pytest.raises(ConfigError) as error:
        load_config(None, ["evaluation.measures=[completness]"])
    said = str(error.value)
    assert "\n" not in said and "evaluation.measures" in said and "completness" in said and "completeness" in said


@pytest.mark.parametrize("measures", [[], ["identity", "identity"]])
def test_a_list_names_one_or_more_different_measures(measures: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"evaluation\.measures") as error:
        load_config(None, [f"evaluation.measures={measures}"])
    assert "\n" not in str(error.value)


def test_measures_come_in_the_order_of_their_declaration_whatever_was_imported_first() -> None:
    program = """
import splade.evaluation.strongest, splade.evaluation.self_activation, splade.evaluation.identity
from splade.config.schema import EvaluationConfig
from splade.evaluation.run import chosen_measures
for task in ("classification", "tagging"):
    print(*(measure.name for measure in chosen_measures(EvaluationConfig(), task)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    measures = [
        one.name
        for task in ("classification", "tagging")
        for one in declared(task)
        if one.name in MEASURES.names() and not MEASURES.get(one.name).on_request
    ]
    assert done.stdout.split() == measures


def test_the_rows_explained_are_counted_whichever_measures_are_taken(measured: tuple[LexicalSAE, Task]) -> None:
    whole = run(measured, max_samples=7)
    for name in ("identity", "self_activation", "frozen_share"):
        assert run(measured, max_samples=7, measures=[name]).rows == whole.rows
    scores = "class_scores" if measured[1].name == "classification" else "entity_scores"
    assert run(measured, max_samples=7, measures=[scores]).rows == whole.rows


def test_progress_is_told_of_every_text_once(measured: tuple[LexicalSAE, Task]) -> None:
    model, task = measured
    told: dict[str, list[int]] = defaultdict(list)
    totals: dict[str, int] = {}

    def progress(title: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        totals[title] = total
        return nullcontext(told[title].append)

    evaluate(model, task, EvaluationConfig(batch_size=8), share=0.1, progress=progress)
    assert totals["evaluating"] == len(task)
    assert {title: sum(done) for title, done in told.items()} == totals
