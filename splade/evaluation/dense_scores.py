"""Dense scores: what the same backbone reaches with an ordinary head, where `evaluation.dense_baseline` asks for it."""

from __future__ import annotations

from splade.evaluation.class_scores import ClassScoreMeasure
from splade.evaluation.entity_scores import EntityScoreMeasure
from splade.evaluation.figure import Bars, Drawing, Figure, Key, Results, find, is_number
from splade.evaluation.measure import Declared


def _bars(results: Results) -> Bars | None:
    """The scores that both have, in per cent."""
    scores = [
        (figure.title, own, dense)
        for figure in (*ClassScoreMeasure.figures, *EntityScoreMeasure.figures)
        if is_number(own := find(results, figure.key)) and is_number(dense := find(results, f"dense.{figure.key}"))
    ]
    if not scores:
        return None
    titles, own_scores, dense_scores = zip(*scores, strict=True)
    bars = {"Lexical-SAE": own_scores, "dense head": dense_scores}
    return Bars("%", titles, {name: [100 * score for score in values] for name, values in bars.items()})


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
    drawings = (
        Drawing(
            "beside-dense",
            "Scores beside the dense head",
            "Beside an ordinary dense head on the same backbone, data and budget.",
            _bars,
        ),
    )
    keys = (
        Key(
            "dense",
            "what is measured of the model's decisions, measured of the dense baseline's, and `seconds`, "
            "`seconds_per_step`, and the `step` whose weights were kept",
        ),
    )
