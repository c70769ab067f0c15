"""What a run leaves behind beside its model: results, report and model card."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from splade.attribution.explanation import Explanation
from splade.attribution.tagged import ExplainedText
from splade.config.load import config_to_yaml
from splade.config.schema import Config
from splade.data.types import Dataset, TaggedSplit, TextSplit
from splade.models.lexical_sae import LexicalSAE
from splade.reporting.model_card import write_model_card
from splade.reporting.report import write_report
from splade.run_folder import file_hashes, from_anywhere
from splade.tasks import Task
from splade.utils.atomic import write_json

LOOKED_THROUGH = 10
"""Texts explained for each that is shown, in order to find wrong predictions too: of a hundred texts, a model that is
right nine times out of ten has ten."""


def training_record(config: Config, dataset: Dataset[TextSplit | TaggedSplit]) -> dict[str, Any]:
    """What is saved beside a trained model, so that it can be measured again and texts like its own be read."""
    experiment = {key: value for key, value in asdict(from_anywhere(config)).items() if key != "output_dir"}
    experiment["data"] |= dataset.columns  # those that were found, so that they need not be again
    return {
        "dataset": dataset.name,
        "seed": config.seed,
        "numbered_labels": dataset.numbered,
        "data_files": file_hashes(config.data),
        "experiment": experiment,
    }


def write_outputs(folder: Path, config: Config, results: dict[str, Any], model: LexicalSAE, test: Task) -> None:
    """`results.json`, `report.html` and the model card, beside what the training left."""
    folder.mkdir(parents=True, exist_ok=True)
    right, wrong = _explained(model, test, config)
    history_file = folder / "metrics.jsonl"
    history = [json.loads(line) for line in history_file.read_text().splitlines()] if history_file.exists() else []
    write_report(folder / "report.html", results, history, right, wrong)
    write_model_card(folder / "README.md", results, config_to_yaml(config), model.surgery)
    write_json(folder / "results.json", results)  # last and whole: where it is, the run is finished


def _explained(
    model: LexicalSAE, test: Task, config: Config
) -> tuple[list[Explanation | ExplainedText], list[tuple[Explanation | ExplainedText, str]]]:
    """Test texts drawn by the seed, explained: right ones and, up to half of all, wrong ones with what the data say."""
    most = config.evaluation.explain_samples
    rows = np.random.default_rng(config.seed).permutation(len(test.split))[: most * LOOKED_THROUGH]
    answers = test.explain_rows(model, rows)
    mistakes = [test.mistake(int(row), answer) for row, answer in zip(rows, answers, strict=True)]
    wrong = [(answer, gold) for answer, gold in zip(answers, mistakes, strict=True) if gold is not None][: most // 2]
    right = [answer for answer, gold in zip(answers, mistakes, strict=True) if gold is None][: most - len(wrong)]
    shown = test.with_largest_interactions(model, [*right, *(answer for answer, _ in wrong)])
    golds = [gold for _, gold in wrong]
    return shown[: len(right)], list(zip(shown[len(right) :], golds, strict=True))
