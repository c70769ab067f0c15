"""Swap: does the decision change when a text is about other people, and which words carry what changes?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic.dataclasses import dataclass as settings_dataclass

from splade.config.numbers import NonNegativeInt
from splade.config.texts import FilePath
from splade.config.variants import SETTINGS
from splade.data.identity_terms import EXCHANGEABLE, load_terms
from splade.data.swaps import TEMPLATES, check_sets, template_frames, text_frames
from splade.errors import DataError
from splade.evaluation.bias_measure import BiasSettings
from splade.evaluation.estimate import beside_estimate
from splade.evaluation.figure import COUNT, SHARE, Cell, Figure, Form, Grid, Key, Results, Table, find, percent
from splade.evaluation.measure import MEASURES, Measure, Scope
from splade.evaluation.positive_scores import positive_classes
from splade.evaluation.swap import SwapResult, swap
from splade.explainers import Subject
from splade.utils.reading import read_bytes

LOGITS = Form(2, bounds=(-float("inf"), float("inf")))
SIZE = Form(2)
PART = Form(1, 100, "%", (-float("inf"), float("inf")))

NAMED = 3
"""Words that a sentence names."""

WHERE = {"templates": "templates", "texts": "test texts"}
"""By key: what words are exchanged in."""


@settings_dataclass(config=SETTINGS, frozen=True)
class SwapSettings:
    """Which words are exchanged, and where."""

    swap_terms: FilePath | None = None
    """Words to exchange for each other: a file with a line a set of words of one form, its name, a colon, and the
    words; null: names of groups, as an ``adjective`` and in the ``plural``."""
    swap_templates: FilePath | None = None
    """A file of sentences to exchange them in, each with the name of a set in braces; null: twelve short ones, if the
    words are not of your own."""
    swap_texts: NonNegativeInt = 50
    """Most test texts with such a word in which it is exchanged too."""


@dataclass(frozen=True)
class ModelSwaps:
    """What was found in templates and in real texts."""

    templates: SwapResult | None
    """None: there are no templates for the words."""
    texts: SwapResult | None
    """None: no test text has such a word, or none was asked for."""
    positive: list[str]
    """Labels whose logits the margin is for."""
    having: int
    """Test texts with such a word."""


def _carriers(where: str) -> Callable[[Results], Grid | None]:
    def grid(results: Results) -> Grid | None:
        found = find(results, f"swap.{where}")
        if not found:
            return None
        rows = [
            [
                Cell(each["word"]),
                Cell("exchanged" if each["exchanged"] else "stands in both texts"),
                Cell(PART.show(each["share"])),
                Cell(COUNT.show(each["pairs"])),
            ]
            for each in found["carriers"]
        ]
        note = (
            f"{found['pairs']:,} pairs. On the exchanged words themselves {PART.show(found['exchanged'])}, on others "
            f"{PART.show(found['through'])}; words not listed: {PART.show(found['others'])}."
        )
        return Grid(["word", "which", "of all differences", "pairs"], rows, shown=10, note=note)

    return grid


def _terms(where: str) -> Callable[[Results], Grid | None]:
    def grid(results: Results) -> Grid | None:
        terms = find(results, f"swap.{where}.terms") or {}
        rows = [[Cell(term), Cell(LOGITS.show(margin))] for term, margin in terms.items()]
        return Grid(["word", "logits above the others"], rows, shown=10)

    return grid


@MEASURES.register("swap")
class Swap(Measure[ModelSwaps]):
    """Words for groups of people exchanged for each other, in templates and in the test texts."""

    Settings = SwapSettings
    title = "Exchanged words"
    about = (
        "The same text about other people: words for groups are exchanged for each other, and nothing else. How far "
        "does the logit of the positive labels (less that of the others) move, and does the decision change? What "
        "moves it is an exact sum over words: the exchanged ones, and those beside them that then say something else."
    )
    section = "swap"
    tasks = ("classification",)
    reads = "nothing"
    on_request = True
    figures = tuple(
        figure
        for where, said in WHERE.items()
        for figure in (
            Figure(
                f"swap.{where}.mean.mean",
                f"logit moved by an exchanged word, in {said}",
                f"Mean difference of the positive labels' logit between two {said} that differ by the word for "
                "a group.",
                SIZE,
                better="lower",
                column=f"swap_{where}",
                beside=beside_estimate(f"swap.{where}.mean", SIZE),
            ),
            Figure(
                f"swap.{where}.flips.mean",
                f"decisions changed by it, in {said}",
                f"Share of such pairs of {said} of which one is called positive and the other is not.",
                SHARE,
                better="lower",
                column=f"swap_{where}_flips",
                beside=beside_estimate(f"swap.{where}.flips", SHARE),
            ),
            Figure(
                f"swap.{where}.largest.change",
                f"most that it moves the logit, in {said}",
                f"The largest such difference of all pairs of {said}.",
                SIZE,
                better="lower",
                brief=False,
            ),
        )
    )
    tables = tuple(
        table
        for where, said in WHERE.items()
        for table in (
            Table(
                f"swap.{where}.carriers",
                f"swap.{where}.carriers[].{{word,share,exchanged,pairs}}, swap.{where}.{{exchanged,through,others}}",
                f"Words that carry the differences in {said}",
                "Each word's share of all differences of the logit, read in the direction in which it rises; a share "
                "below 0 works against the others. `exchanged` words were put in or taken out, the others stand in "
                "both texts and say something else in each. With `others`, which are not listed, the shares add up to "
                "1.",
                _carriers(where),
                brief=5,
            ),
            Table(
                f"swap.{where}.terms",
                f"swap.{where}.terms.<word>",
                f"Words by what they do to the logit in {said}",
                "How much higher the positive labels' logit is with a word than with the others in its place, in the "
                "mean.",
                _terms(where),
            ),
        )
    )
    keys = (
        Key("swap.{templates,texts}.{mean,flips}.{low,high}", "95 %, by bootstrap over templates or texts"),
        Key(
            "swap.{templates,texts}.largest.{one,two,change,words}",
            "the pair that differs most, the second being the more positive, and all words that carry the difference",
        ),
        Key(
            "swap.{templates,texts}.{frames,pairs,sum_error}",
            "templates or texts, and pairs of their variants; the largest error of the sum over words",
        ),
        Key("swap.{positive,having}", "the positive labels; test texts that have a word to exchange"),
    )

    @classmethod
    def check(cls, scope: Scope) -> None:
        positive_classes(scope.model.labels, scope.config.of(BiasSettings).bias_positive)
        check_sets(_sets(scope))
        if (templates := _templates(scope)) is not None:
            template_frames(templates, _sets(scope))

    @classmethod
    def sources(cls, scope: Scope) -> list[str]:
        try:
            held = [_sets(scope), _templates(scope), scope.config.of(BiasSettings).bias_positive]
        except DataError:  # said when it is asked for; whoever asks for other measures need not know
            return []
        return [hashlib.sha256(json.dumps(held).encode()).hexdigest()]

    def result(self) -> ModelSwaps:
        scope, sets, templates = self.scope, _sets(self.scope), _templates(self.scope)
        model, seed = scope.model, scope.seed
        positive = positive_classes(model.labels, scope.config.of(BiasSettings).bias_positive)
        subject = Subject(model, model.tokenizer, model.max_length, scope.config.batch_size)
        most = scope.config.of(SwapSettings).swap_texts
        frames, having = text_frames(scope.task.texts(scope.rows), sets, most, seed)
        return ModelSwaps(
            swap(subject, template_frames(templates, sets), positive, seed) if templates is not None else None,
            swap(subject, frames, positive, seed) if frames else None,
            [label for label, inside in zip(model.labels, positive, strict=True) if inside],
            having,
        )

    def findings(self, result: ModelSwaps) -> list[str]:
        said = []
        for where, found in (("templates", result.templates), ("texts", result.texts)):
            if found is None or not found.flips.mean:
                continue
            words = ", ".join(f"“{each.word}” {PART.show(each.share)}" for each in found.carriers[:NAMED])
            said.append(
                f"In {WHERE[where]}, exchanging words for groups changes {percent(found.flips.mean)} of the decisions "
                f"and moves the logit by {SIZE.show(found.mean.mean)} in the mean, by up to "
                f"{SIZE.show(found.largest.change)}; the largest shares of it are carried by {words}."
            )
        return said


def _sets(scope: Scope) -> dict[str, list[str]]:
    file = scope.config.of(SwapSettings).swap_terms
    return EXCHANGEABLE if file is None else load_terms(file)


def _templates(scope: Scope) -> list[str] | None:
    """None: there are none for these words."""
    settings = scope.config.of(SwapSettings)
    if settings.swap_templates is None:
        return list(TEMPLATES) if settings.swap_terms is None else None
    path = Path(settings.swap_templates)
    if not path.is_file():
        raise DataError(f"There is no file {path} of templates; name one, with a sentence a line.")
    try:
        lines = read_bytes(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise DataError(f"The file {path} of templates is not written in UTF-8; save it so.") from None
    return [line.strip() for line in lines if line.strip()]
