"""Cost: seconds and memory of a training, which the training itself takes down."""

from __future__ import annotations

from splade.evaluation.figure import MEGABYTES, SECONDS, Figure, Key, Results, find, is_number
from splade.evaluation.measure import Declared


def _beside_dense(results: Results) -> str:
    own, dense = find(results, "seconds.per_step"), find(results, "dense.seconds_per_step")
    return f"{own / dense:.2f} × the dense head's" if is_number(own) and is_number(dense) and dense else ""


class Cost(Declared):
    """What a training took."""

    name = "cost"
    title = "Cost"
    figures = (
        Figure(
            "seconds.per_step",
            "seconds a step",
            "Time of one training step.",
            SECONDS,
            better="lower",
            headline=True,
            column="seconds_per_step",
            beside=_beside_dense,
        ),
        Figure(
            "peak_rss_mb",
            "peak memory",
            "The most memory that the training held.",
            MEGABYTES,
            "lower",
            column="peak_rss_mb",
        ),
    )
    keys = (
        Key(
            "seconds.{train,setup,eval,per_step}",
            "`train` counts the steps of all sessions of a resumed run, `setup` what this one needed before the "
            "first step (loading, calibration, masked-LM warm-up); a range test is in neither",
        ),
    )
