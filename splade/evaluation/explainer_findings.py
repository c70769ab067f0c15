"""What a reader of the comparison of explainers should not miss: rivals ahead, and what cannot be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from splade.evaluation.explainer_figures import ExplainerFigures
from splade.evaluation.explainers_table import explainer_title
from splade.evaluation.findings import listed
from splade.evaluation.paired import FEWEST_TEXTS, Difference
from splade.explainers import DLA

CONTROLS = ("activations", "content_words", "random", "empty")
"""Explainers that know nothing of the class, three of them nothing of the model: whatever they can do, no explanation
is needed for. `activations` knows where tokens fire, `content_words` which words are no stop words."""


@dataclass(frozen=True)
class Claim:
    """A figure by which explainers are held against our sum."""

    figure: str
    """Among `against_ours`."""
    place: str
    """Where a row has its value."""
    by: str
    ranked: str
    """What the explainers rank."""
    higher: bool
    """Whether more is better."""

    def value(self, row: ExplainerFigures) -> float:
        return float(_at(row, self.place))

    def interval(self, row: ExplainerFigures) -> tuple[float, float] | None:
        """The ends of the 95 % interval of the value."""
        if self.place.startswith("deletion."):
            ends = row.deletion.intervals.get(self.place.removeprefix("deletion."))
        else:
            ends = _at(row, self.place.removesuffix(".mean"))
        return (ends.low, ends.high) if ends is not None else None

    def is_ahead(self, difference: Difference) -> bool:
        """Whether theirs is better than ours, beyond chance."""
        return difference.is_above if self.higher else difference.is_below

    def is_behind(self, difference: Difference) -> bool:
        """Whether theirs is worse than ours, beyond chance."""
        return difference.is_below if self.higher else difference.is_above


def _at(row: object, place: str) -> Any:
    """What stands at a dotted place of a row; None if any part of it is missing."""
    for part in place.split("."):
        row = getattr(row, part, None)
    return row


CLAIMS = (
    Claim("tau", "deletion.tau", "deletion (Kendall's τ with deleting single words)", "words", True),
    Claim(
        "comprehensiveness",
        "comprehensiveness.mean",
        "comprehensiveness (probability lost without the first words)",
        "words",
        True,
    ),
    Claim("sufficiency", "sufficiency.mean", "sufficiency (probability lost with the first words)", "words", False),
    Claim("agreement", "agreement.mean", "agreement with people (average precision)", "words", True),
    Claim(
        "tokens.naopc_comprehensiveness",
        "tokens.naopc_comprehensiveness.mean",
        "NAOPC of comprehensiveness, at the head alone",
        "tokens",
        True,
    ),
    Claim(
        "tokens.naopc_sufficiency",
        "tokens.naopc_sufficiency.mean",
        "NAOPC of sufficiency, at the head alone",
        "tokens",
        False,
    ),
)


def explainer_findings(rows: Mapping[str, ExplainerFigures]) -> list[str]:
    """Where another ranks better than our sum on the same texts, beyond chance; where a control ranks as well, so that
    the figure shows nothing; and who has too few texts to tell."""
    found = [sentence for claim in CLAIMS for sentence in (_ahead(rows, claim), *_controls(rows, claim)) if sentence]
    return [*found, *_untold(rows)]


def _ahead(rows: Mapping[str, ExplainerFigures], claim: Claim) -> str:
    ahead = [
        (name, difference)
        for name, row in rows.items()
        if (difference := row.against_ours.get(claim.figure)) is not None and claim.is_ahead(difference)
    ]
    if not ahead:
        return ""
    names, verb = listed([explainer_title(name) for name, _ in ahead]), "ranks" if len(ahead) == 1 else "rank"
    figures = "; ".join(f"{explainer_title(name)} {_beside_ours(rows[name], claim, each)}" for name, each in ahead)
    return f"By {claim.by}, {names} {verb} {claim.ranked} better than our sum does: {figures}."


def _controls(rows: Mapping[str, ExplainerFigures], claim: Claim) -> list[str]:
    """On controls that our sum is not told apart from: within its interval, or not behind it text by text."""
    ours, found = claim.interval(rows[DLA.name]) if DLA.name in rows else None, []
    for name in CONTROLS:
        difference = rows[name].against_ours.get(claim.figure) if name in rows else None
        if ours is None or difference is None or not difference.can_be_told or claim.is_ahead(difference):
            continue
        within, behind = ours[0] <= claim.value(rows[name]) <= ours[1], claim.is_behind(difference)
        if behind and not within:
            continue
        where = (
            f"lies within our interval ({ours[0]:.3f} to {ours[1]:.3f})" if within else "is not told apart from ours"
        )
        though = ", although text by text ours is ahead" if behind else ""
        figures = _beside_ours(rows[name], claim, difference)
        found.append(f"By {claim.by}, the control {explainer_title(name)} {where}{though}: {figures}.")
    return found


def _beside_ours(row: ExplainerFigures, claim: Claim, difference: Difference) -> str:
    """`0.610 against 0.410 on 24 texts, difference 0.200 (95 %: 0.100 to 0.300)`."""
    value = claim.value(row)
    return (
        f"{value:.3f} against {value - difference.mean:.3f} on {difference.texts:,} texts, difference "
        f"{difference.mean:.3f} (95 %: {difference.low:.3f} to {difference.high:.3f})"
    )


def _untold(rows: Mapping[str, ExplainerFigures]) -> list[str]:
    """On explainers of so few texts that nothing can be said of them."""
    few = {explainer_title(name): row.texts for name, row in rows.items() if row.texts < FEWEST_TEXTS}
    if not few:
        return []
    if DLA.name in rows and rows[DLA.name].texts < FEWEST_TEXTS:
        return [
            f"Explainers were compared on {rows[DLA.name].texts:,} texts, fewer than {FEWEST_TEXTS}: which of them is "
            "ahead of our sum, or behind it, cannot be told. Give more (evaluation.explainers_texts)."
        ]
    texts = listed([f"{title} on {number:,}" for title, number in few.items()])
    return [
        f"On fewer than {FEWEST_TEXTS} texts it cannot be told whether an explainer is ahead of our sum or behind it; "
        f"of so few are: {texts}."
    ]
