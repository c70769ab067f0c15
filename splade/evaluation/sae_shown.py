"""How the comparison with post-hoc autoencoders is shown: what its rows and columns are called, and its drawing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from splade.evaluation.code_figures import RANDOM
from splade.evaluation.figure import DIVERGENCE, ERROR, MEAN, Column, Curves, Form, Line, Results, find, percent
from splade.mechanistic.sae import KINDS

OWN, DENSE = "own", "dense"

SAID: dict[str, str] = {OWN: "our words", DENSE: "hidden states as they are", "topk": "TopK", "relu": "ReLU with L1"}
"""What the models in the table are called, and the kinds of autoencoders."""

CONTROL = ", random decoder"

R_SQUARED = Form(2, bounds=(-np.inf, 1))

COLUMNS = (
    Column("active", "active", MEAN),
    Column("a position", "active_per_position", MEAN),
    Column("variance left out", "fvu", Form(1, 100, "%")),
    Column("accuracy", "accuracy"),
    Column("of entities", "accuracy_entities"),
    Column("cross-entropy", "cross_entropy", DIVERGENCE),
    Column("R² of ten", "strongest_r2", R_SQUARED),
    Column("and error", "strongest_and_error_r2", R_SQUARED),
    Column("error's share", "error_share"),
    Column("dead", "dead"),
    Column("largest error", "max_error", ERROR),
)


def said(name: str) -> str:
    """`topk_4_random` in words."""
    if name in (OWN, DENSE):
        return SAID[name]
    kind, active = name.removesuffix(RANDOM).split("_")
    return f"{SAID[kind]}, {active} a position{CONTROL if name.endswith(RANDOM) else ''}"


def compared(results: Results) -> str:
    """What goes beside the accuracy through an autoencoder."""
    keys = {
        "random decoder": "matched.random_accuracy",
        "dense head": "models.dense.accuracy",
        "ours": "models.own.accuracy",
    }
    return ", ".join(f"{name} {percent(find(results, f'sae.{key}'))}" for name, key in keys.items())


def curves(results: Results) -> Curves | None:
    """Accuracy over active features: our own a point, a line a kind of autoencoder, and a quiet one its control."""
    models: Mapping[str, Any] = find(results, "sae.models") or {}
    kinds = [(rf"{kind}_\d+{RANDOM * control}", SAID[kind] + CONTROL * control) for control in (0, 1) for kind in KINDS]
    lines = []
    for pattern, name in ((OWN, SAID[OWN]), *kinds):
        found = [row for key, row in models.items() if re.fullmatch(pattern, key)]
        points = sorted((round(row["active"], 1), 100 * row["accuracy"]) for row in found)
        lines += [Line(name, points, quiet=name.endswith(CONTROL))] if points else []
    if len(lines) < 2 or DENSE not in models:
        return None
    levels = {"dense head, " + SAID[DENSE]: 100 * models[DENSE]["accuracy"]}
    return Curves("active words or features a {unit}", "accuracy (%)", lines, levels)
