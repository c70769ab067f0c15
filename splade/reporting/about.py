"""What a model is and what it was trained on, as a person reads it; every key of the results is optional."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from splade.evaluation.figure import Results, is_number
from splade.task_description import describe

TIMES = (("train", "training"), ("eval", "evaluation"))
"""Parts of a run whose seconds are shown."""

MOST_LABELS = 10
"""Labels named; of more it is said how many."""


def about(results: Results) -> list[tuple[str, str]]:
    """Name and value of each fact."""
    task = describe(results.get("task"))
    samples, training, seconds = (results.get(key) or {} for key in ("samples", "training", "seconds"))
    labels, support = results.get("labels") or [], results.get("support")
    more = f" and {len(labels) - MOST_LABELS} more" if len(labels) > MOST_LABELS else ""
    rows: list[tuple[str, object]] = [
        ("Task", results.get("task")),
        ("Backbone", results.get("backbone")),
        ("Support", " + ".join(support) if isinstance(support, list) else support),
        ("Recipe", results.get("recipe")),
        ("Data", results.get("dataset")),
        ("Where from", results.get("dataset_source")),
        (
            task.examples.capitalize(),
            ", ".join(f"{count:,} {name}" for name, count in samples.items() if count is not None),
        ),
        ("Labels", ", ".join(labels[:MOST_LABELS]) + more),
        ("Training", _counted(training, ("steps", "epochs", "examples"))),
        ("Truncated", f"{training['truncated']:,} {task.units} were cut" if training.get("truncated") else None),
        ("Constraint", _constraint(results.get("constraint") or {})),
        ("Time", ", ".join(f"{seconds[key]:,.0f} s {name}" for key, name in TIMES if is_number(seconds.get(key)))),
    ]
    return [(name, str(value)) for name, value in rows if value]


def _constraint(constraint: Mapping[str, Any]) -> str:
    if not is_number(constraint.get("tau")):
        return ""
    kept = "met" if constraint.get("satisfied") else "not met"
    step = f" by the model of step {constraint['step']:,}" if is_number(constraint.get("step")) else ""
    return f"training cross-entropy near {constraint['tau']:.4f} or below, and sparse: {kept}{step}"


def _counted(numbers: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return ", ".join(f"{numbers[name]:,.6g} {name}" for name in names if is_number(numbers.get(name)))
