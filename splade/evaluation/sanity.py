"""Sanity: do explanations change when the model that they explain is randomised?

An explanation that stays as it was is one of the text and not of the model (Adebayo et al. 2018, arXiv:1810.03292).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from splade.evaluation.estimate import beside_estimate, estimates
from splade.evaluation.figure import (
    COSINE,
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
    find,
)
from splade.evaluation.measure import MEASURES, Measure, Scope, Seen
from splade.evaluation.randomised import randomised_models
from splade.evaluation.sanity_result import SanityResult, Stage, what_stays
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.protocol import LexicalModel
from splade.models.sparse import SparseRows
from splade.tasks import Batch

DRAWS = 3
"""Times that the parts are randomised; a figure of a text is the mean over them."""

FEWEST = 3
"""Positions that a rank correlation needs: of two it is 1 or −1."""


KINDS = {
    "signed": "with their sign",
    "size": "sizes",
    "size_everywhere": "sizes, silent words too",
}


def _table(results: Results) -> Grid | None:
    stages = find(results, "sanity.stages") or {}
    rows = [
        [
            Cell(name if name == "head" else f"and {name}"),
            *(Cell(COSINE.show((stage.get(kind) or {}).get("mean"))) for kind in KINDS),
            *(Cell(SHARE.show(stage.get(key))) for key in ("same_class", "silent")),
        ]
        for name, stage in stages.items()
    ]
    return Grid(["randomised", *KINDS.values(), "same label", "says nothing"], rows)


def _curves(results: Results) -> Curves | None:
    stages = list((find(results, "sanity.stages") or {}).values())
    lines = [
        Line(name, [(0, 1.0), *((n, stage[kind]["mean"]) for n, stage in enumerate(stages, 1) if stage.get(kind))])
        for kind, name in KINDS.items()
    ]
    x = "parts randomised: the head, then layers from the top"
    return Curves(x, "rank correlation with the explanation", lines, {"unrelated": 0.0}) if stages else None


@MEASURES.register("sanity")
class Sanity(Measure[SanityResult]):
    """Rank correlation of explanations with those of the model randomised part by part."""

    title = "Sanity"
    about = (
        "The head's weights are shuffled, then also those of the backbone's layers from the top down, in a copy, and "
        "the same label of the same {items} is explained again. An explanation that is one of the model must change: "
        "rank correlations over the positions of a text should fall to about 0. With the head alone shuffled, "
        "activations are as they were, and sizes still follow them. Which positions may speak at all is decided by "
        "the vocabulary and the stop words, before anything is learned, so that sizes over all positions need not "
        "fall so far: that part of an explanation is owed to no training."
    )
    section = "sanity"
    reads = "sample"
    on_request = True
    figures = (
        Figure(
            "sanity.stages.head.signed.mean",
            "likeness with a random head",
            "Rank correlation of contributions with those of the same model with a shuffled head; 0: unrelated.",
            COSINE,
            better="lower",
            beside=beside_estimate("sanity.stages.head.signed", COSINE),
        ),
        Figure(
            "sanity.whole.signed.mean",
            "likeness with a random model",
            "Rank correlation of contributions with those of the model with head and layers shuffled; 0: unrelated.",
            COSINE,
            better="lower",
            headline=True,
            column="sanity",
            beside=beside_estimate("sanity.whole.signed", COSINE),
        ),
        Figure(
            "sanity.whole.size_everywhere.mean",
            "likeness of sizes, silent words too",
            "The same of contributions without their sign over all words of a text: what stays is owed to which words "
            "may speak, and to no training.",
            COSINE,
            better="lower",
            headline=True,
            column="sanity_everywhere",
            beside=beside_estimate("sanity.whole.size_everywhere", COSINE),
        ),
        Figure(
            "sanity.whole.size.mean",
            "likeness of sizes with a random model",
            "The same of contributions without their sign.",
            COSINE,
            better="lower",
            beside=beside_estimate("sanity.whole.size", COSINE),
        ),
    )
    tables = (
        Table(
            "sanity.stages",
            "sanity.{stages.<part>,whole}.{same_class,silent}, "
            "sanity.{stages.<part>,whole}.{size,signed,size_everywhere}.{mean,low,high}",
            "Parts randomised",
            "Mean Spearman correlation a text, with its 95 % interval, of the contributions of its positions with "
            "those of the model with these parts shuffled: with their sign and as sizes at the positions that the "
            "model's explanation names, and as sizes at all positions. Then the share of {units} given the same "
            "label, and that of texts at which nothing is active any more, whose correlation counts as 0.",
            _table,
        ),
    )
    drawings = (
        Drawing(
            "sanity",
            "Likeness of explanations as the model is randomised",
            "From 1 for the model itself the lines should fall to about 0. A line that stays up is an explanation of "
            "the text and not of what was learned.",
            _curves,
        ),
    )
    keys = (
        Key("sanity.{texts,draws}", "{items} whose explanations are compared, and times that weights were shuffled"),
    )

    def __init__(self, scope: Scope):
        super().__init__(scope)
        self._batches: list[tuple[Batch, Tensor, np.ndarray]] = []
        """With the classes decided on, and what each position contributes (B, L)."""

    @classmethod
    def check(cls, scope: Scope) -> None:
        """Refuse a backbone whose layers are not to be told apart."""
        _ = scope.model.backbone.layer_stack

    def update(self, seen: Seen) -> None:
        self._batches.append((seen.batch, seen.classes, _by_position(seen.attribution, seen.batch)))

    def result(self) -> SanityResult:
        draws = [self._draw(number) for number in range(DRAWS)]
        found = {
            name: _stage(np.array([draw[name] for draw in draws], dtype=np.float64), self.scope.seed)
            for name in draws[0]
        }
        texts = sum(len(batch.rows) for batch, _, _ in self._batches)
        return SanityResult(found, list(found.values())[-1], texts, DRAWS)

    def findings(self, result: SanityResult) -> list[str]:
        return what_stays(result)

    def _draw(self, number: int) -> dict[str, list[list[float | None]]]:
        """Of each stage, a list a text: the three correlations, the share of rows given the same class, and whether
        nothing is said."""
        kept = self.parts.recall(f"draw {number}")
        if kept is not None:
            return {name: rows for name, rows in kept}
        model, found = self.scope.model, dict[str, list[list[float | None]]]()
        steps = 1 + model.backbone.layers
        with self.scope.progress(f"randomising ({number + 1} of {DRAWS})", steps * len(self.scope.sample)) as advance:
            for name, randomised in randomised_models(model, self.scope.seed * DRAWS + number):
                found[name] = []
                for batch, classes, original in self._batches:
                    found[name] += list(self._compare(randomised, batch, classes, original))
                    advance(len(batch.rows))
        self.parts.keep(f"draw {number}", list(found.items()))  # as pairs: their order is that of the stages
        return found

    @torch.no_grad()
    def _compare(
        self, randomised: LexicalModel, batch: Batch, classes: Tensor, original: np.ndarray
    ) -> Iterator[list[float | None]]:
        """A list a text, as `_draw` gives."""
        task = self.scope.task
        state = task.predict(randomised, batch)
        scores = _by_position(compute_attribution_tensor(state, classes), batch)  # (B, L)
        same = (state.logits.argmax(-1) == classes).cpu().numpy()  # (R,)
        row_of_position = task.row_of_position(batch).cpu().numpy()  # (B, L)
        special = self.scope.model.vocabulary.special.numpy()[batch.input_ids.cpu().numpy()]
        inside = (batch.attention_mask.cpu().numpy() > 0) & ~special
        for text, (before, after, there) in enumerate(zip(original, scores, inside, strict=True)):
            named = there & (before != 0)
            rows = np.unique(row_of_position[text])
            rows = rows[rows >= 0]
            yield [
                rank_correlation(np.abs(before[named]), np.abs(after[named])),
                rank_correlation(before[named], after[named]),
                rank_correlation(np.abs(before[there]), np.abs(after[there])),
                float(same[rows].mean()) if len(rows) else None,
                float(not after.any()),
            ]


def _by_position(attribution: SparseRows, batch: Batch) -> np.ndarray:
    """(B, L) what each position contributes."""
    _, position, value = attribution.by_position()
    total = torch.zeros(batch.input_ids.numel(), device=value.device).index_add(0, position, value)
    return total.view_as(batch.input_ids).cpu().numpy()


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float | None:
    """Spearman's, ties sharing their mean rank. 0 if the second names no order; None if the first does not, or they
    are too few."""
    from scipy.stats import rankdata  # takes half a second to load, and most commands do not need it

    if len(first) < FEWEST or first.min() == first.max():
        return None
    if second.min() == second.max():
        return 0.0
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def _stage(values: np.ndarray, seed: int) -> Stage:
    """Of values (D, T, 5) as `_draw` gives them, NaN for what is missing."""
    known = ~np.isnan(values)
    counts = known.sum(0)
    means = np.divide(np.where(known, values, 0.0).sum(0), counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    size, signed, everywhere = estimates(means[:, :3], np.arange(len(means)), seed)
    return Stage(size, signed, everywhere, float(np.nanmean(means[:, 3])), float(means[:, 4].mean()))
