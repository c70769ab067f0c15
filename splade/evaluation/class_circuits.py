"""Class circuits: which vocabulary tokens speak for each class, over all the texts that were given it?"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from splade.evaluation.figure import Cell, Grid, Results, Table
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen

TOKENS = 12
"""Tokens named of a class: as many as fit a line."""

MANY = 12
"""From more classes than this on, the others are shown on demand."""


@dataclass(frozen=True)
class CircuitToken:
    """A vocabulary token, over the rows that were given a class."""

    token: str
    mean: float
    """Of its contribution to the class, rows in which it is silent counting as 0; these means are what is ranked."""
    spread: float
    """Standard deviation of its contribution over the rows where it speaks: what a token says, W_eff, varies with the
    input."""
    rows: int
    """In which it speaks."""


@dataclass(frozen=True)
class ClassCircuit:
    """The tokens that add most to a class where it was decided on."""

    tokens: list[CircuitToken]
    rows: int
    """That were given the class."""


@dataclass(frozen=True)
class ClassCircuitsResult:
    """By label, in the model's order; of those that any row was given."""

    circuits: dict[str, ClassCircuit]


def _table(results: Results) -> Grid | None:
    circuits = results.get("circuits") or {}
    rows = [
        [
            Cell(label),
            Cell(f"{circuit['rows']:,}"),
            Cell(
                ", ".join(f"{token['token']} {token['mean']:+.3f}" for token in circuit["tokens"]),
                title="; ".join(
                    f"{token['token']}: where it speaks ±{token['spread']:.2f}, {token['rows']:,} times"
                    for token in circuit["tokens"]
                ),
                prose=True,
            ),
        ]
        for label, circuit in circuits.items()
        if circuit["tokens"]
    ]
    return Grid(["label", "{units}", "tokens, and what they add on average"], rows, MANY if len(rows) > MANY else None)


@MEASURES.register("circuits")
class ClassCircuits(Measure[ClassCircuitsResult]):
    """The tokens that add most to each class, on average over the rows given it."""

    title = "Classes in words"
    about = (
        "What each label means to the model: the vocabulary tokens that add most to its logit, on average over the "
        "{units} that were given it. Read them as you would read a stranger's notes: do they fit the label, or only "
        "this data set?"
    )
    tables = (
        Table(
            "circuits",
            "circuits.<label>.tokens[].{token,mean,spread,rows}, circuits.<label>.rows",
            "Tokens that speak for each label",
            "The tokens with the highest mean contribution to the label's logit over the `rows` {units} given it "
            "(silent counts as 0); `spread` is the standard deviation where a token speaks, `rows` how often it does.",
            _table,
        ),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        shape = len(scope.model.labels), scope.model.vocab_size
        self._sum, self._square, self._count = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape)
        self._rows = torch.zeros(shape[0], dtype=torch.long)

    def update(self, seen: Seen) -> None:
        index = (seen.classes[seen.attribution.row] * self._sum.shape[1] + seen.attribution.token).cpu()
        value = seen.attribution.value.float().cpu()
        for total, added in ((self._sum, value), (self._square, value**2), (self._count, torch.ones_like(value))):
            total.view(-1).index_add_(0, index, added)
        self._rows += torch.bincount(seen.classes.cpu(), minlength=len(self._rows))

    def result(self) -> ClassCircuitsResult:
        labels = self.scope.model.labels
        return ClassCircuitsResult(
            {label: self._circuit(number) for number, label in enumerate(labels) if self._rows[number] > 0}
        )

    def _circuit(self, label: int) -> ClassCircuit:
        vocabulary, rows = self.scope.model.vocabulary, int(self._rows[label])
        tokens = []
        for token in self._sum[label].topk(min(TOKENS, self._sum.shape[1])).indices.tolist():
            total, square, count = (float(sums[label, token]) for sums in (self._sum, self._square, self._count))
            if total > 0:
                spread = max(0.0, square / count - (total / count) ** 2) ** 0.5
                tokens.append(CircuitToken(vocabulary.name_in_place(token), total / rows, spread, int(count)))
        return ClassCircuit(tokens, rows)
