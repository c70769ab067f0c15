"""Completeness: do the strongest few tokens decide as all of them do?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass as settings_dataclass

from splade.circuits.metrics import CompletenessAt, CompletenessMeter
from splade.config.numbers import Share
from splade.config.variants import SETTINGS
from splade.evaluation.figure import (
    DIVERGENCE,
    SHARE,
    Cell,
    Curves,
    Drawing,
    Figure,
    Grid,
    Key,
    Line,
    Results,
    Table,
    beside,
    find,
    is_number,
)
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen, as_json

CIRCUIT_TOKENS = (1, 3, 5, 10)
"""Numbers of tokens a circuit is cut to: what a person would read of an explanation."""

RANDOM = "random tokens {}"
"""What goes beside the accuracy of the strongest tokens: that of as many random ones."""


@dataclass(frozen=True)
class RowsCompleteness:
    """What is left of the predictions of some rows."""

    shares: dict[float, CompletenessAt]
    """By the share of a row's active tokens that is kept."""
    tokens: dict[int, CompletenessAt]
    """By the number of tokens kept, which compares models that are not equally sparse."""


@dataclass(frozen=True)
class CompletenessResult:
    """Of all rows, and of those that the task sets apart."""

    rows: RowsCompleteness
    subsets: dict[str, RowsCompleteness]


def _shown(results: Results) -> str:
    """Where the rows are that say most: most words are outside any entity, which the bias alone may say."""
    return "completeness_entities" if "completeness_entities" in results else "completeness"


def _table(results: Results) -> Grid | None:
    shares, tokens = (
        sorted((find(results, key) or {}).items(), key=lambda kept: float(kept[0]))
        for key in (_shown(results), f"{_shown(results)}_tokens")
    )
    kept = {f"{100 * float(share):g} %": row for share, row in shares}
    kept |= {f"{number} token{'s' if number != '1' else ''}": row for number, row in tokens}
    forms = {"accuracy": SHARE, "random_accuracy": SHARE, "kl": DIVERGENCE}
    rows = [[Cell(name), *(Cell(form.show(row.get(key))) for key, form in forms.items())] for name, row in kept.items()]
    return Grid(["kept", "strongest", "random", "KL to the whole"], rows)


def _curves(results: Results) -> Curves | None:
    shares: Mapping[str, Any] = find(results, _shown(results)) or {}
    rows = sorted((100 * float(share), row) for share, row in shares.items())
    if not rows:
        return None
    names = {"accuracy": "the strongest", "random_accuracy": "random ones"}
    lines = [
        Line(name, [(share, 100 * row[key]) for share, row in rows if is_number(row.get(key))], key != "accuracy")
        for key, name in names.items()
    ]
    full = results.get("accuracy")
    levels = {"all active tokens": 100 * full} if is_number(full) else {}
    return Curves("% of active tokens kept", "accuracy (%)", lines, levels, log_x=True)


@settings_dataclass(config=SETTINGS, frozen=True)
class CompletenessSettings:
    """What is kept."""

    completeness_shares: Annotated[list[Share], Field(min_length=1)] = field(
        default_factory=lambda: [0.01, 0.05, 0.1, 0.2, 0.5]
    )
    """Shares of the active tokens kept when measuring how complete a circuit is."""


@MEASURES.register("completeness")
class Completeness(Measure[CompletenessResult]):
    """Accuracy and divergence when each row keeps a few of its active tokens."""

    Settings = CompletenessSettings
    title = "Completeness"
    about = (
        "Only some of each {unit}'s active tokens are kept, those with the largest contribution{tagging:, at the words "
        "of entities}. If the strongest few decide as the whole does, an explanation may be cut short without "
        "telling a different story."
    )
    figures = (
        Figure(
            "completeness.0.1.accuracy",
            "accuracy keeping a tenth",
            "Share of right predictions when only the strongest tenth of the active tokens is kept.",
            column="completeness",
            panel=True,
            better="higher",
            beside=beside(RANDOM, "completeness.0.1.random_accuracy"),
        ),
        Figure(
            "completeness.0.1.kl",
            "KL keeping a tenth",
            "Divergence of the prediction that the strongest tenth gives from that of all tokens.",
            DIVERGENCE,
            column="completeness_kl",
            better="lower",
        ),
        Figure(
            "completeness_tokens.3.accuracy",
            "accuracy keeping 3 tokens",
            "Share of right predictions when only the three strongest tokens are kept.",
            better="higher",
            beside=beside(RANDOM, "completeness_tokens.3.random_accuracy"),
        ),
        Figure(
            "completeness_tokens.3.kl",
            "KL keeping 3 tokens",
            "Divergence of the prediction that the three strongest tokens give from that of all; compares models that "
            "are not equally sparse.",
            DIVERGENCE,
            column="tokens_kl",
            panel=True,
            better="lower",
            brief=False,
        ),
        Figure(
            "completeness_entities.0.1.accuracy",
            "accuracy keeping a tenth, words of entities",
            "Share of right tags at the words of entities when only the strongest tenth of their active tokens is "
            "kept; the other words are left out, since the bias alone may say O.",
            column="completeness_entities",
            better="higher",
            beside=beside(RANDOM, "completeness_entities.0.1.random_accuracy"),
        ),
        Figure(
            "completeness_entities_tokens.3.accuracy",
            "accuracy keeping 3 tokens, words of entities",
            "Share of right tags at the words of entities when only their three strongest tokens are kept.",
            better="higher",
        ),
    )
    tables = (
        Table(
            "completeness",
            "completeness.<share>.{accuracy,kl,random_accuracy}",
            "Kept tokens",
            "Keeping that share of each {unit}'s active tokens: accuracy, KL(full ‖ kept), and the accuracy of as many "
            "random tokens.",
            _table,
        ),
    )
    drawings = (
        Drawing(
            "completeness",
            "Accuracy with a share of the active tokens",
            "The further the strongest stay above random ones, the more the named words are the ones that decide.",
            _curves,
        ),
    )
    keys = (
        Key(
            "completeness_tokens.<number>.{accuracy,kl,random_accuracy}",
            "Keeping that many of each {unit}'s active tokens: accuracy, KL(full ‖ kept), and the accuracy of as many "
            "random tokens; compares models that are not equally sparse.",
        ),
        Key(
            "completeness_entities, completeness_entities_tokens",
            "`completeness` and `completeness_tokens` at the words of entities alone.",
        ),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        self._rows = self._meters()
        self._subsets: dict[str, tuple[CompletenessMeter[float], CompletenessMeter[int]]] = {}

    def _meters(self) -> tuple[CompletenessMeter[float], CompletenessMeter[int]]:
        model, seed = self.scope.model, self.scope.seed
        shares = CompletenessMeter(model, self.scope.config.of(CompletenessSettings).completeness_shares, seed)
        return shares, CompletenessMeter(model, list(CIRCUIT_TOKENS), seed)

    def update(self, seen: Seen) -> None:
        labels = seen.batch.labels
        for meter in self._rows:
            meter.add(seen.state, seen.attribution, labels)
        for name, rows in self.scope.task.subsets(labels).items():
            state, attribution = seen.state.take(rows), seen.attribution.take(rows)
            for part in self._subsets.setdefault(name, self._meters()):
                part.add(state, attribution, labels[rows])

    def result(self) -> CompletenessResult:
        def kept(meters: tuple[CompletenessMeter[float], CompletenessMeter[int]]) -> RowsCompleteness:
            return RowsCompleteness(meters[0].result(), meters[1].result())

        return CompletenessResult(kept(self._rows), {name: kept(meters) for name, meters in self._subsets.items()})

    @staticmethod
    def to_json(result: CompletenessResult) -> dict[str, Any]:
        named = {"completeness": result.rows} | {f"completeness_{name}": kept for name, kept in result.subsets.items()}
        return {
            key: value
            for name, kept in named.items()
            for key, value in ((name, as_json(kept.shares)), (f"{name}_tokens", as_json(kept.tokens)))
        }
