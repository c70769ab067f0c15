"""Dense scores: what the same backbone reaches with an ordinary head, where `evaluation.dense_baseline` asks for it."""

from __future__ import annotations

from splade.evaluation.figure import Figure, Key
from splade.evaluation.measure import Declared


class DenseScores(Declared):
    """The dense baseline: same data, batches, steps and masked-LM warm-up."""

    name = "dense"
    title = "Beside a dense head"
    about = "The same backbone with an ordinary head, on the same data and budget: what the sum of words gives up."
    figures = (
        Figure(
            "dense_accuracy",
            "dense head accuracy",
            "Accuracy of the dense baseline.",
            better="higher",
            column="dense_accuracy",
            brief=False,
        ),
        Figure(
            "dense_f1",
            "dense head F1",
            "Entity F1 of the dense baseline.",
            better="higher",
            column="dense_f1",
            brief=False,
        ),
    )
    keys = (
        Key(
            "dense",
            "what is measured of the model's decisions, measured of the dense baseline's, and `seconds`, "
            "`seconds_per_step`, and the `step` whose weights were kept",
        ),
    )
