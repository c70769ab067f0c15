"""The model as it is, and with a head that has learned again though nothing was removed."""

from __future__ import annotations

from splade.studies.conditions.base import CONDITIONS, Condition


@CONDITIONS.register("baseline")
class Baseline(Condition):
    """Nothing is done."""

    title = "baseline"
    about = "The model as it was trained."


@CONDITIONS.register("refit")
class Refit(Condition):
    """The head learns again, and nothing else happens: what a refit alone does."""

    title = "refit alone"
    about = (
        "Nothing is removed, and the head learns again on the same texts: what of the other conditions is the refit."
    )
    refits = True
