"""This model beside the dense head and beside glass boxes, on the same texts: accuracy, size, time, price of a reason.

    parameters          of what predicts: all weights of a network, the coefficients of a linear model
    train seconds       on this machine; for linear models, the choice of the regularisation is part of it
    explain seconds     for one text at a time
    explain passes      forward passes that one explanation takes

A dense head has no reasons of its own. Its price is that of leaving out one word at a time, the simplest honest way to
ask it: as many forward passes as the text has words, and one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from torch import nn

from splade.attribution.span_aggregation import word_spans
from splade.config.schema import Config
from splade.data.loader import load_dataset
from splade.evaluation.figure import COUNT, SHARE
from splade.inference import BATCH_SIZE, explain_model
from splade.models.dense import DenseClassifier
from splade.models.lexical_sae import LexicalSAE
from splade.models.starting_point import load_backbone
from splade.run_folder import fingerprint
from splade.studies.linear import VECTORIZERS, measure_linear
from splade.studies.plots import draw_variations
from splade.studies.study import Part, check_classification, run_study
from splade.studies.summary import Column, measured, rows_of, summary
from splade.studies.tables import cells_of, interval_note, leave_table
from splade.studies.variations import Variation
from splade.utils.atomic import write_json
from splade.utils.cuda import pick_device

NAME = "sota_comparison"
OWN, DENSE = "Lexical-SAE", "dense head"
COMPARISON = "comparison.json"

COLUMNS = (
    Column("accuracy", "accuracy", "accuracy", SHARE),
    Column("macro_f1", "macro-F1", "macro_f1", SHARE, panel=False),
    Column("parameters", "parameters", "parameters", COUNT, log=True),
    Column("train_seconds", "train seconds", "train_seconds", log=True),
    Column("explain_ms", "explain milliseconds", "explain_ms", log=True),
    Column("explain_passes", "explain passes", "explain_passes", log=True),
)


def compare_with_others(config: Config, *, overwrite: bool, console: Console, out: Console) -> Path:
    """Train this model and the dense head, fit the others on the same texts, and leave table, plot and results."""
    check_classification(NAME, config)
    variation = Variation(OWN, {"evaluation.dense_baseline": True})
    run = run_study(NAME, config, [variation], overwrite=overwrite, console=console)
    results: dict[str, list[dict[str, Any]]] = {}
    for part in run.finished:
        for name, found in compare_part(part, config.study.explained).items():
            results.setdefault(name, []).append(found | {"explain_ms": 1000 * found["explain_seconds"]})
    rows = rows_of(results, COLUMNS)
    figures = measured(rows, COLUMNS)
    headings, cells = cells_of(rows, figures, "model")
    how = {name: runs[0]["explanation"] for name, runs in results.items()}
    notes = [f"{name} is explained by {way}." for name, way in how.items()] + interval_note(rows) + run.notes
    leave_table(run.folder, out, f"{config.experiment_name}: {NAME}", headings, cells, notes)
    draw_variations(run.folder, NAME, rows, figures)
    write_json(run.folder / "results.json", summary(run, rows, lambda row: {"explanation": how[row.name]}))
    return run.folder


def compare_part(part: Part, explained: int) -> dict[str, dict[str, Any]]:
    """The figures of every model for one seed, read from the part's folder if they are there already."""
    config, path = part.config, part.folder / COMPARISON
    dataset = load_dataset(config.data, config.seed)
    identity = f"{fingerprint(config, dataset)} {explained}"
    if path.exists():
        saved = json.loads(path.read_text(encoding="utf-8"))
        if saved["fingerprint"] == identity:
            return saved["models"]
    results = json.loads((part.folder / "results.json").read_text(encoding="utf-8"))
    rows = np.sort(np.random.default_rng(config.seed).permutation(len(dataset.test))[:explained])
    texts = [dataset.test.texts[row] for row in rows]
    models = {
        OWN: _own(part, results, texts),
        DENSE: _dense(config, results, dataset.label_names, texts),
        **{name: measure_linear(make, dataset, texts, config.seed) for name, make in VECTORIZERS.items()},
    }
    write_json(path, {"fingerprint": identity, "models": models})
    return models


def _own(part: Part, results: dict[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    model = LexicalSAE.from_pretrained(part.folder / "model")
    explain_model(model, texts[0])  # the first call loads what the others find loaded
    began = time.perf_counter()
    for text in texts:
        explain_model(model, text)
    return {
        "accuracy": results["accuracy"],
        "macro_f1": results["macro_f1"],
        "parameters": _parameters(model),
        "train_seconds": results["seconds"]["train"],
        "explain_seconds": (time.perf_counter() - began) / len(texts),
        "explain_passes": 1.0,
        "explanation": "its own sum of words, exact",
    }


def _dense(config: Config, results: dict[str, Any], labels: list[str], texts: Sequence[str]) -> dict[str, Any]:
    # The weights do not change what a forward pass costs, so an untrained head serves to take the time.
    backbone, tokenizer = load_backbone(config.model.name, revision=config.model.revision)
    model = DenseClassifier(backbone, tokenizer, labels, config.model, max_length=config.data.max_length)
    model.to(pick_device()).eval()
    leave_one_out(model, tokenizer, texts[0], config.data.max_length)
    began = time.perf_counter()
    passes = [leave_one_out(model, tokenizer, text, config.data.max_length) for text in texts]
    return {
        "accuracy": results["dense"]["accuracy"],
        "macro_f1": results["dense"]["macro_f1"],
        "parameters": _parameters(model),
        "train_seconds": results["dense"]["seconds"],
        "explain_seconds": (time.perf_counter() - began) / len(texts),
        "explain_passes": float(np.mean([len(scores) + 1 for scores in passes])),
        "explanation": "leaving out one word at a time, an approximation",
    }


@torch.no_grad()
def leave_one_out(model: DenseClassifier, tokenizer: Any, text: str, max_length: int) -> list[float]:
    """For each word, how much the predicted class's logit falls when the word is left out."""
    spans = word_spans(text)
    variants = [text, *(text[:start] + text[end:] for start, end in spans)]
    max_length = min(max_length, model.backbone.max_length)
    logits, device = [], next(model.parameters()).device
    for start in range(0, len(variants), BATCH_SIZE):
        batch = tokenizer(
            variants[start : start + BATCH_SIZE],
            padding=True,
            truncation=True,
            max_length=max_length,
            return_tensors="pt",
        )
        ids, mask = (batch[name].to(device) for name in ("input_ids", "attention_mask"))
        logits.append(model.classify(model(ids, mask), mask).logits)
    every = torch.cat(logits)  # (words + 1, C)
    target = int(every[0].argmax())
    return (every[0, target] - every[1:, target]).tolist()


def _parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
