"""Explanations and results with made-up numbers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from splade.attribution.explanation import Explanation, TokenScore, WordScore
from splade.evaluation.class_scores import ConfusionMeter

Scored = dict[str, tuple[float, list[str]]]

JOURNEY = "it 's a charming and often affecting journey ."
JOURNEY_SCORES: Scored = {
    "charming": (1.23456, ["delightful", "charming", "witty"]),
    "often": (-0.21777, ["sometimes"]),
    "affecting": (0.33333, ["touching", "moving"]),
    "journey": (0.1111, ["quest"]),
}


def build_explanation(text: str = JOURNEY, scores: Scored | None = None, bias: float = 0.1234) -> Explanation:
    """An explanation whose identities hold: each word's score is shared out evenly over its tokens."""
    scores = JOURNEY_SCORES if scores is None else scores
    words, cursor = [], 0
    for word in text.split():
        start = text.index(word, cursor)
        cursor = start + len(word)
        score, tokens = scores.get(word, (0.0, []))
        words.append(WordScore(word, start, cursor, score, tokens))
    named = [(name, word.score / len(word.tokens)) for word in words for name in word.tokens]
    tokens = [TokenScore(name, 100 + i, score, 1.5, i + 1) for i, (name, score) in enumerate(named)]
    logit = math.fsum(word.score for word in words) + bias
    return Explanation(
        text=text,
        label="positive",
        target="positive",
        logits={"negative": -logit, "positive": logit},
        probabilities={"negative": 0.03, "positive": 0.97},
        bias=bias,
        tokens=tokens,
        words=words,
    )


def build_classes(confusion: dict[str, list[int]]) -> dict[str, Any]:
    """Figures a label and the confusion matrix, given by its rows."""
    scores = ConfusionMeter(list(confusion))
    scores.counts += np.array(list(confusion.values()))
    found = dataclasses.asdict(scores.result())
    return {key: found[key] for key in ("per_class", "confusion")}


def build_many_classes(labels: int = 77) -> dict[str, Any]:
    """The same of many labels, of 40 texts each; of label n, n texts are taken for the one after."""
    counts = np.diag(40 - np.arange(labels) % 40) + np.roll(np.diag(np.arange(labels) % 40), 1, axis=1)
    return build_classes({f"label_{n}": row for n, row in enumerate(counts.tolist())})


def build_results() -> dict[str, Any]:
    return {
        "task": "classification",
        "dataset": "toy",
        "dataset_source": "made up",
        "backbone": "minilm",
        "recipe": "cajt",
        "support": ["neighbourhood", "dictionary"],
        "seed": 42,
        "versions": {"torch": "2.13.0"},
        "seconds": {"train": 210.0, "eval": 20.0, "per_step": 0.27},
        "peak_rss_mb": 1834.2,
        "accuracy": 0.832,
        "macro_f1": 0.831,
        "accuracy_interval": {"low": 0.805, "high": 0.856},
        **build_classes({"negative": [330, 70], "positive": [73, 380]}),
        "dense": {
            "accuracy": 0.841,
            "macro_f1": 0.84,
            "seconds_per_step": 0.2,
            **build_classes({"negative": [340, 60], "positive": [75, 378]}),
        },
        "dense_accuracy": 0.841,
        "dla": {"max_error": 3.2e-6, "mean_error": 4e-7},
        "active_tokens": {
            "mean": 27.3,
            "p50": 26,
            "p95": 45,
            "max": 63,
            "histogram": {"edges": [0, 10, 20, 30], "counts": [4, 20, 7]},
        },
        "sparsity": 0.9991,
        "vocab_size": 30522,
        "completeness": {
            "0.1": {"accuracy": 0.8, "kl": 0.11, "random_accuracy": 0.58},
            "0.01": {"accuracy": 0.71, "kl": 0.31, "random_accuracy": 0.55},
        },
        "separation": {
            "cosine": 0.12,
            "jaccard": 0.2,
            "within_cosine": 0.4,
            "within_jaccard": 0.3,
            "size_cosine": 0.2,
            "within_size_cosine": 0.5,
            "overlap": None,
            "within_overlap": 0.4,
        },
        "grounding": {
            "input_share": 0.11,
            "frozen_share": 0.6,
            "self_activation": 0.4,
            "heaviest": {"token": "bad", "share": 0.041, "rows": 853, "by_class": {}},
            "heaviest_word": {"word": "awful", "share": 0.06, "label": "negative"},
            "artefacts": [],
            "lexicon": {
                "name": "ratings",
                "coverage": 0.47,
                "right_sign": 0.94,
                "heaviest_token": "bad",
                "heaviest_share": 0.04,
            },
        },
        "constraint": {"tau": 0.26, "satisfied": True, "step": 720},
        "training": {"steps": 800, "epochs": 2, "examples": 6824, "truncated": 12},
        "labels": ["negative", "positive"],
        "notes": ["31 duplicate texts were dropped."],
        "samples": {"train": 6141, "validation": 683, "test": 853},
    }


OF_CLASSES = {"macro_f1", "per_class", "confusion"}


def build_tagging_results() -> dict[str, Any]:
    """The same of a tagger."""
    shared = {key: value for key, value in build_results().items() if "accuracy" not in key and key not in OF_CLASSES}
    kept = {"0.1": {"accuracy": 0.7, "kl": 0.2, "random_accuracy": 0.3}}
    found = {"f1": 0.883, "precision": 0.875, "recall": 0.891, "support": 1668}
    grounding = {key: value for key, value in shared["grounding"].items() if key not in ("lexicon", "heaviest_word")}
    return shared | {
        "task": "tagging",
        "f1": 0.883,
        "precision": 0.875,
        "recall": 0.891,
        "token_accuracy": 0.975,
        "per_type": {"LOC": found, "PER": found},
        "confusion": [[38000, 10, 20], [30, 1600, 38], [40, 50, 1578]],
        "topk_per_position": {"20": {"f1": 0.881, "active_tokens": 15.0, "capped": 0.4}},
        "dense": {"f1": 0.891, "token_accuracy": 0.98, "per_type": {"LOC": found}, "seconds_per_step": 0.2},
        "dense_f1": 0.891,
        "active_tokens_entities": {"mean": 90.4, "p50": 88, "p95": 120, "max": 150, "histogram": {}},
        "completeness_entities": kept,
        "completeness_entities_tokens": {},
        "words": 46435,
        "strongest": {"B-LOC": {"token": "beijing", "share": 0.6, "different": 7, "rows": 1668}},
        "grounding": grounding,
        "labels": ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"],
    }


def build_history(steps: int = 20, circuit_from: int = 10) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for step in range(1, steps + 1):
        circuit = step >= circuit_from
        phase = "circuit" if circuit else "warmup"
        row: dict[str, Any] = {"step": step, "epoch": 0, "phase": phase, "ce": 1 / step, "active": 100 / step}
        row |= {"tau": 0.2 if circuit else None, "lambda": 1.5 if circuit else None}
        row |= {name: 0.3 if circuit else None for name in ("completeness", "separation", "sparsity", "frequency")}
        rows.append(row)
        if step % 5 == 0:
            validation = {"accuracy": 0.5 + step / 100, "ce": 0.4, "active": 30}
            rows.append({"step": step, "phase": phase, "validation": validation})
    return rows
