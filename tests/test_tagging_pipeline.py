"""A tagging run from end to end: what it leaves, that it repeats, and that a model is of one task."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from splade.config.load import load_config
from splade.config.schema import Config
from splade.data.types import Dataset, TaggedSplit
from splade.errors import ModelError
from splade.evaluation.entity_scores import entity_scores
from splade.evaluation.scores import score_decisions
from splade.inference import predict_batch
from splade.models.lexical_sae import LexicalSAE, check_task
from splade.pipelines import preparation, run_experiment, setup_and_train
from splade.run_folder import run_id
from splade.tasks import TaggingTask
from tests.builders import TAGS, build_backbone_folder, build_tokenizer, tagged_sentences
from tests.runs import ToyRun, overrides, read_json, weights


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_backbone_folder(tmp_path_factory.mktemp("backbone"), "bert", dropout=0.1)


@pytest.fixture(autouse=True)
def sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Toy sentences in the place of files."""
    parts = [TaggedSplit(*tagged_sentences(size, seed)) for seed, size in enumerate((64, 16, 24))]
    dataset = Dataset("toy", "Toy sentences.", TAGS, *parts)
    monkeypatch.setattr(preparation, "load_dataset", lambda data, seed, task: dataset)


def config(backbone: Path, output: Path, **changes: object) -> Config:
    changes = {"task": "tagging", "model__support": "dictionary", "training__active_target": 6, **changes}
    return load_config(None, overrides(output, backbone, output, **changes))


def test_leaves_figures_of_entities_and_a_model_that_knows_its_task(
    backbone: Path, tmp_path: Path, toy_run: ToyRun
) -> None:
    results = run_experiment(config(backbone, tmp_path / "out", evaluation__dense_baseline=True))
    written = read_json(tmp_path / "out" / "results.json")
    assert written.keys() == results.keys() >= {"f1", "precision", "recall", "per_type", "token_accuracy", "dla"}
    assert (written["task"], written["labels"]) == ("tagging", TAGS)
    assert written["per_type"].keys() <= {"LOC", "PER"} and written["dla"]["max_error"] < 1e-4
    assert written["samples"] == {"train": 64, "validation": 16, "test": 24}
    assert list(written["completeness_entities"]) == ["0.01", "0.05", "0.1", "0.2", "0.5"]
    assert written["topk_per_position"].keys() == {"20", "200"}
    assert written["dense"].keys() >= {"f1", "per_type", "seconds_per_step"} and "dense_f1" in written
    assert written["validation"].keys() == {"f1", "ce", "active"}

    tagger = LexicalSAE.from_pretrained(tmp_path / "out" / "model")
    assert tagger.task == "tagging"
    with pytest.raises(ModelError, match=r"tags words .* classification was expected"):
        predict_batch(tagger, ["a movie"])
    with pytest.raises(ModelError, match=r"classifies texts .* tagging was expected"):
        check_task(LexicalSAE.from_pretrained(toy_run.folder / "model"), "tagging")

    again = tmp_path / "again"
    setup_and_train(config(backbone, again))
    assert weights(again) == weights(tmp_path / "out")


def test_a_dense_tagger_is_decoded_as_a_sparse_one_is() -> None:
    task = TaggingTask(TaggedSplit(*tagged_sentences(12)), build_tokenizer(), 64, TAGS)
    logits = torch.randn(len(task.labels), len(TAGS), generator=torch.Generator().manual_seed(0))
    decoded = task.decode(logits)
    assert (decoded != logits.argmax(-1).numpy()).any()
    scores = score_decisions(task, TAGS, logits)
    assert {key: scores[key] for key in scores if key != "calibration"} == asdict(entity_scores(task, decoded))


def test_a_run_of_the_other_task_is_another_run(backbone: Path, tmp_path: Path) -> None:
    dataset = preparation.load_dataset(None, 0, "tagging")  # type: ignore[arg-type]
    ids = {run_id(config(backbone, tmp_path, task=task), dataset) for task in ("tagging", "classification")}
    assert len(ids) == 2


def test_a_classifier_is_the_start_of_a_tagger(toy_run: ToyRun, tmp_path: Path) -> None:
    classifier = LexicalSAE.from_pretrained(toy_run.folder / "model")
    changes = {"training__learning_rate": 1e-9}
    run = setup_and_train(config(toy_run.folder / "model", tmp_path / "out", **changes)).prepared
    assert (run.model.task, run.model.labels) == ("tagging", TAGS)
    for name, weight in run.model.backbone.named_parameters():  # a learning rate of next to nothing: as they began
        torch.testing.assert_close(weight, classifier.backbone.get_parameter(name), rtol=0, atol=1e-6)
