"""A wrapper around a model, of no class that the program knows, is trained, measured and explained as the model is."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from splade.config.schema import EvaluationConfig, TrainingConfig
from splade.data.types import TaggedSplit, TextSplit
from splade.evaluation.run import evaluate
from splade.inference import explain_batch, predict_batch
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask, TaggingTask, Task
from splade.training.loop import Trainer
from tests.builders import TAGS, Wrapper, build_model, tagged_sentences, toy_reviews

SETTINGS = TrainingConfig(
    learning_rate=1e-3, head_learning_rate=1e-2, lr_warmup_steps=2, active_target=10.0, eval_every=4, max_steps=12
)


def task_of(model: LexicalSAE, name: str, size: int, seed: int) -> Task:
    if name == "tagging":
        return TaggingTask(TaggedSplit(*tagged_sentences(size, seed)), model.tokenizer, 24, TAGS)
    return ClassificationTask(TextSplit(*toy_reviews(size, seed)), model.tokenizer, 24)


@pytest.mark.parametrize("task", ["classification", "tagging"])
def test_a_wrapped_model_is_trained_and_measured_as_the_model_is(tmp_path: Path, task: str) -> None:
    alone, inside = (
        build_model(tmp_path / name, "neighbourhood+dictionary", task=task, active=10) for name in ("alone", "inside")
    )
    wrapped = Wrapper(inside)
    figures, histories = [], []
    for name, model in (("alone", alone), ("wrapped", wrapped)):
        train, validation = task_of(alone, task, 48, 0), task_of(alone, task, 16, 1)
        folder = tmp_path / f"{name} run"
        Trainer(model, train, validation, SETTINGS, batch_size=8, seed=3, folder=folder).run()  # type: ignore[arg-type]
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        histories.append([line.partition('"words_per_second"')[0] for line in lines])
        found = evaluate(model, validation, EvaluationConfig(), share=0.1)  # type: ignore[arg-type]
        figures.append(found.to_json())
    assert "completeness" in histories[0][-2] and histories[0] == histories[1]
    assert figures[0] == figures[1]
    for parameter, other in zip(alone.parameters(), inside.parameters(), strict=True):
        assert torch.equal(parameter, other)


def test_a_wrapped_model_is_asked_as_the_model_is(tmp_path: Path) -> None:
    model = build_model(tmp_path)
    texts = toy_reviews(8)[0]
    assert predict_batch(Wrapper(model), texts) == predict_batch(model, texts)  # type: ignore[arg-type]
    assert explain_batch(Wrapper(model), texts) == explain_batch(model, texts)  # type: ignore[arg-type]
