"""Layerwise: what each layer of the backbone adds to the reasons for a prediction, and after which they are there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from splade.evaluation.bootstrap import intervals
from splade.evaluation.estimate import Estimate
from splade.evaluation.figure import (
    MEAN,
    Cell,
    Column,
    Curves,
    Drawing,
    Figure,
    Form,
    Grid,
    Key,
    Line,
    Results,
    Table,
    find,
    is_number,
)
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.mechanistic.layerwise import bypass_layers, read_layers
from splade.tasks import Batch

NAMED_REASONS = 5
"""Tokens that a layer names, of those whose score is there for the first time after it."""

MOST_ENTRIES = 2**22
"""Active tokens of all rows that are looked at together: without a layer nearly every token of the vocabulary may be
active, and 4 million entries are some 150 MB."""

LAYERS = Form(2)


@dataclass(frozen=True)
class LayerFigures:
    """One layer, numbered from 1; 0 stands for the word embeddings, which cannot be bypassed."""

    layer: int
    added: Estimate | None
    """1 − Σ sign(a)·a' / Σ|a|: share of the active tokens' contributions a that is not there without the layer. More
    than 1 where they turn round, negative where the layer held them back."""
    silenced: Estimate | None
    """Share of Σ|a| on tokens that are not active without the layer."""
    new: Estimate | None
    """Share of the contributions without the layer that is on tokens not active with it."""
    flips: Estimate | None
    """Share of rows for which another class is the most probable without the layer."""
    settled: Estimate | None
    """Share of Σ|a| on tokens that are there from this layer on, as the logit lens reads it: above their threshold, and
    among as many of the most active tokens as are active in the end."""
    active: Estimate | None
    """Mean number of active tokens as read after this layer."""
    agrees: Estimate | None
    """Share of rows whose most probable class, as read after this layer, is the final one."""
    reasons: list[str]
    """The tokens with most of Σ|a| of those that mostly settle here."""


@dataclass(frozen=True)
class LayerwiseSummary:
    """What all layers are of."""

    texts: int
    rows: int
    depth: float | None
    """Mean number of layers after which a token's score is there to stay, weighed by |a|; None: nothing is active."""
    largest: int | None
    """The layer that adds most."""


@dataclass(frozen=True)
class LayerwiseResult:
    """The layers from the embeddings up."""

    layerwise: list[LayerFigures]
    layerwise_summary: LayerwiseSummary


SUMS = ("kept", "silenced", "new", "size_without", "flipped")
"""What is summed of each bypassed layer."""


def _estimates(terms: np.ndarray, texts: np.ndarray, layers: int, seed: int) -> dict[str, list[Estimate | None]]:
    """The figures of each layer by name, from what `Layerwise.update` lists of each row (R, K)."""
    names = ("added", "silenced", "new", "flips", "settled", "active", "agrees")
    sizes = [layers] * 4 + [layers + 1] * 3
    if not len(terms):
        return {name: [None] * size for name, size in zip(names, sizes, strict=True)}

    def figures(sums: np.ndarray) -> np.ndarray:
        rows, size = sums[:, :1], sums[:, 1:2]
        kept, silenced, new, size_without, flipped = np.split(sums[:, 2 : 2 + layers * len(SUMS)], len(SUMS), 1)
        settled, active, agrees = np.split(sums[:, 2 + layers * len(SUMS) :], 3, 1)
        with np.errstate(invalid="ignore", divide="ignore"):  # a draw in which nothing is active
            bypassed = 1 - kept / size, silenced / size, new / size_without, flipped / rows
            return np.hstack([*bypassed, settled / size, active / rows, agrees / rows])

    means, within = intervals(terms, texts, figures, seed)
    every = [
        Estimate(mean, ends.low, ends.high) if math.isfinite(mean) else None
        for mean, ends in zip(means.tolist(), within, strict=True)
    ]
    starts = np.cumsum([0, *sizes])
    return {name: every[start : start + size] for name, start, size in zip(names, starts, sizes, strict=False)}


# --- how they are shown ----------------------------------------------------------------------------------------------

BYPASSED = {"added": "contribution gone", "silenced": "on tokens that fall silent", "flips": "predicted otherwise"}
READ = {"settled": "contribution that is there to stay", "agrees": "predicted as in the end"}


def _means(results: Results) -> list[dict[str, Any]]:
    """The layers with the mean of each figure in its place."""
    found = results.get("layerwise")
    layers = [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
    return [{k: v.get("mean") if isinstance(v, Mapping) else v for k, v in one.items()} for one in layers]


COLUMNS = (
    Column("gone without it", "added"),
    Column("silenced", "silenced"),
    Column("new tokens", "new"),
    Column("predicted otherwise", "flips"),
    Column("there to stay", "settled"),
    Column("active tokens", "active", MEAN),
    Column("predicted as in the end", "agrees"),
)


def _table(results: Results) -> Grid | None:
    rows = [
        [
            Cell(str(one["layer"]) if one.get("layer") else "embeddings"),
            *(Cell(column.form.show(one.get(column.key))) for column in COLUMNS),
            Cell(", ".join(one.get("reasons") or ())),
        ]
        for one in _means(results)
    ]
    return Grid(["layer", *(column.title for column in COLUMNS), "reasons that appear"], rows)


def _curves(x: str, lines: Mapping[str, str]) -> Callable[[Results], Curves | None]:
    def read(results: Results) -> Curves | None:
        layers = _means(results)
        drawn = [
            Line(title, [(one["layer"], 100 * one[key]) for one in layers if is_number(one.get(key))])
            for key, title in lines.items()
        ]
        drawn = [line for line in drawn if line.points]
        return Curves(x, "%", drawn) if drawn else None

    return read


def _beside(results: Results) -> str:
    texts = find(results, "layerwise_summary.texts")
    return f"of {len(_means(results)) - 1}, on {texts:,} texts" if is_number(texts) else ""


@MEASURES.register("layerwise")
class Layerwise(Measure[LayerwiseResult]):
    """Every layer bypassed in turn, and the scores of active tokens read after each."""

    reads = "sample"
    title = "Layer by layer"
    about = (
        "On a sample of the {items}, each layer of the backbone in turn hands on what it is given, and the "
        "contributions of the tokens that were active are compared with what they were{tagging:, at the words "
        "tagged as entities}. Beside it, the state after each layer is read as if it were the last: after which layer "
        "are the reasons there?"
    )
    figures = (
        Figure(
            "layerwise_summary.depth",
            "layers until a reason is there",
            "Mean number of layers after which a token is among the active ones to stay, weighed by its contribution; "
            "0: the word embeddings alone say it.",
            LAYERS,
            column="reason_depth",
            beside=_beside,
        ),
    )
    tables = (
        Table(
            "layerwise",
            "layerwise[].{layer,added,silenced,new,flips,settled,active,agrees,reasons}",
            "Layers",
            "A list with an entry a layer, 0 being the word embeddings. Without the layer (null for 0): `added`, the "
            "share of the active tokens' contributions that is gone (above 1 where they turn round, negative where the "
            "layer held them back); `silenced`, their share on tokens no longer active; `new`, the share of what is "
            "then contributed by tokens that were not active; `flips`, the share of {units} predicted otherwise. By "
            "the logit lens: `settled`, the share of the contributions on tokens that are there from this layer on "
            "(above their threshold, and among as many of the most active as are active in the end); `active`, the "
            "mean number of active tokens; `agrees`, the share of {units} predicted as in the end. Each with `mean`, "
            "`low` and `high`, a 95 % interval by bootstrap over {items}. `reasons`: the heaviest "
            "tokens of those that mostly settle here.",
            _table,
        ),
    )
    drawings = (
        Drawing(
            "layers",
            "What is gone without a layer",
            "How much of the contributions of the active tokens, and how many predictions, each layer is needed for; "
            "below 0 the layer held the contributions back.",
            _curves("layer bypassed", BYPASSED),
        ),
        Drawing(
            "lens",
            "After which layer the reasons are there",
            "The share of the contributions whose tokens are among the active ones from a layer on, and of the {units} "
            "for which that layer already gives the final prediction.",
            _curves("layers read (0: the word embeddings)", READ),
        ),
    )
    keys = (
        Key(
            "layerwise_summary.{texts,rows,largest}",
            "texts and {units} that `layerwise` is of, and the layer with the largest `added`",
        ),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        self._layers = scope.model.backbone.layers
        self._terms: list[np.ndarray] = []
        self._texts: list[np.ndarray] = []
        self._by_token = torch.zeros(self._layers + 1, scope.model.vocab_size, dtype=torch.float64)

    @classmethod
    def is_wanted(cls, scope: Scope) -> bool:
        return scope.model.backbone.has_separate_layers

    def update(self, seen: Seen) -> None:
        task, model = self.scope.task, self.scope.model
        rows_a_text = math.ceil(len(seen.classes) / len(seen.batch.rows))
        texts = max(1, MOST_ENTRIES // (rows_a_text * model.vocab_size))
        begin = 0
        for start in range(0, len(seen.batch.rows), texts):
            batch = task.batch(seen.batch.rows[start : start + texts]).to(seen.classes.device)
            self._add(batch, seen.classes[begin : begin + len(batch.labels)])
            begin += len(batch.labels)

    def _add(self, batch: Batch, classes: Tensor) -> None:
        """Take in some texts, whose rows were given `classes` (R,)."""
        task, model = self.scope.task, self.scope.model
        lens = read_layers(model, batch.input_ids, batch.attention_mask, lambda read: task.decide(model, read, batch))
        attribution = compute_attribution_tensor(lens.state, classes)
        without = bypass_layers(model, lambda: task.predict(model, batch), lens.state, classes)
        rows = task.reasoned(classes)
        rows = torch.arange(len(classes), device=classes.device) if rows is None else rows
        columns = [
            *(torch.ones_like(without[0].size), without[0].size),
            *(getattr(each, name) for name in SUMS for each in without),
            *(attribution.sum_rows(attribution.value.abs() * (lens.settled <= n)) for n in range(self._layers + 1)),
            *(*lens.active, *lens.agrees),
        ]  # (R,) each
        self._terms.append(torch.stack([column[rows].double() for column in columns], 1).cpu().numpy())
        self._texts.append(task.example_of_row[batch.places[rows.cpu().numpy()]])
        kept = torch.isin(attribution.row, rows)
        place = lens.settled[kept] * model.vocab_size + attribution.token[kept]
        self._by_token.view(-1).index_add_(0, place.cpu(), attribution.value[kept].abs().double().cpu())

    def result(self) -> LayerwiseResult:
        terms, texts = np.concatenate(self._terms), np.concatenate(self._texts)  # (R, K), (R,)
        found = _estimates(terms, texts, self._layers, self.scope.seed)
        mostly, mass = self._by_token.argmax(0), self._by_token.sum(0)
        layers = []
        for layer in range(self._layers + 1):
            here = {name: found[name][layer - 1] if layer else None for name in ("added", "silenced", "new", "flips")}
            heaviest = torch.where(mostly == layer, mass, 0.0).topk(min(NAMED_REASONS, len(mass)))
            tokens = heaviest.indices[heaviest.values > 0].tolist()
            reasons = [self.scope.model.vocabulary.name_in_place(token) for token in tokens]
            here |= {name: found[name][layer] for name in ("settled", "active", "agrees")}
            layers.append(LayerFigures(layer, **here, reasons=reasons))
        return LayerwiseResult(layers, self._summary(layers, len(np.unique(texts)), len(terms)))

    def _summary(self, layers: list[LayerFigures], texts: int, rows: int) -> LayerwiseSummary:
        total = float(self._by_token.sum())
        weights = self._by_token.sum(1) / total if total else None  # (layers + 1,)
        depth = None if weights is None else float((weights * torch.arange(len(weights))).sum())
        added = {one.layer: one.added.mean for one in layers if one.added is not None}
        return LayerwiseSummary(texts, rows, depth, max(added, key=lambda layer: added[layer]) if added else None)
