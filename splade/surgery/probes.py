"""What a model says of probe texts, kept in a record so that anybody can ask the same again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from splade.models.protocol import LexicalModel
from splade.tasks import TASKS
from splade.tasks.reader import read

MOST_PROBES = 20
"""Texts kept where nobody says which: a word each."""

CLOSE = 1e-4
"""Largest difference of a logit at which two readings are the same: processors add in other orders."""


@torch.no_grad()
def probe_logits(model: LexicalModel, texts: Sequence[Any]) -> list[list[list[float]]]:
    """(rows, C) the logits of each text, read alone: so that they do not depend on what is beside it."""
    task = TASKS.get(model.task)
    answers = []
    for text in task.given(texts).items:
        asked = task.from_texts([text], model)
        logits = torch.zeros(len(asked.labels), len(model.labels))
        for batch, state in read(model, asked, 1):
            logits[torch.from_numpy(batch.places)] = state.logits.cpu()
        answers.append(logits.tolist())
    return answers


def largest_difference(found: Sequence[Any], stored: Sequence[Any]) -> float:
    """Of any two logits of the same place; infinite where there are other rows."""
    try:
        pairs = [
            abs(a - b)
            for rows, others in zip(found, stored, strict=True)
            for row, other in zip(rows, others, strict=True)
            for a, b in zip(row, other, strict=True)
        ]
    except (ValueError, TypeError):
        return float("inf")
    return max(pairs, default=0.0)
