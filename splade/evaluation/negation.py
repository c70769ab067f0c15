"""Negation: does "not good" change the label, and does the explanation say that it was the "not"?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic.dataclasses import dataclass as settings_dataclass

from splade.config.texts import FilePath
from splade.config.variants import SETTINGS
from splade.errors import DataError
from splade.evaluation.figure import COUNT, SHARE, Cell, Figure, Form, Grid, Key, Results, Table, find, percent
from splade.evaluation.hatecheck import NEGATED, HateCheck, hatecheck, hateful_classes, load_cases
from splade.evaluation.lexicon import positive_class
from splade.evaluation.measure import MEASURES, Measure, Scope
from splade.evaluation.minimal_pairs import FORMS, MinimalPairs, minimal_pairs, one_sided
from splade.explainers import Subject

LOGITS = Form(2, bounds=(-float("inf"), float("inf")))

NOT_FOLLOWED = 0.5
"""Share of negated sentences with the right label below which a reader should know: a coin would do better."""


@dataclass(frozen=True)
class NegationResult:
    """Minimal pairs where labels are good and bad, HateCheck where they are hateful and not."""

    pairs: MinimalPairs | None
    hatecheck: HateCheck | None


@settings_dataclass(config=SETTINGS, frozen=True)
class NegationSettings:
    """Which cases."""

    hatecheck_file: FilePath | None = None
    """HateCheck's test cases, with the columns ``text``, ``label`` and ``functionality``; null: the set ``hatecheck``
    of the data root that LEXICAL_SAE_DATA names, if it has one."""


# --- how they are shown ----------------------------------------------------------------------------------------------

FORM_COLUMNS = {
    "follows": ("right label", SHARE),
    "moved": ("logit moved by", LOGITS),
    "by_difference": ("by the words added", LOGITS),
    "by_adjective": ("by the adjective", LOGITS),
    "turned": ("adjective turned", SHARE),
    "on_difference": ("contribution on the words added", SHARE),
    "named": ("negation named", SHARE),
    "as_dense": ("right where the dense head is", SHARE),
}
SIDES = {"positive": "good", "negative": "bad"}
"""Adjectives, and what is shown in their place."""


def _mean(row: Mapping[str, Any], key: str) -> object:
    found = row.get(key)
    return found.get("mean") if isinstance(found, Mapping) else None


def _forms(results: Results) -> Grid | None:
    forms = find(results, "negation.pairs.forms") or {}
    rows = [
        [
            Cell((FORMS[name].title if name in FORMS else name).replace("…", shown)),
            *(Cell(form.show(_mean(sides[side], key))) for key, (_, form) in FORM_COLUMNS.items()),
        ]
        for side, shown in SIDES.items()
        for name, sides in forms.items()
        if side in sides
    ]
    adjectives = [find(results, f"negation.pairs.{side}") or [] for side in SIDES]
    note = (
        f"{find(results, 'negation.pairs.texts'):,} sentences of each form, around {', '.join(adjectives[0])}; "
        f"{', '.join(adjectives[1])}."
        if rows
        else ""
    )
    return Grid(["form", *(title for title, _ in FORM_COLUMNS.values())], rows, note=note)


def _tests(results: Results) -> Grid | None:
    tests = find(results, "negation.hatecheck.functionalities") or {}
    first = [name for name in NEGATED if name in tests]
    rows = [
        [
            Cell(name),
            Cell("hateful" if tests[name].get("hateful") else "not hateful"),
            Cell(percent(_mean(tests[name], "accuracy"))),
            Cell(COUNT.show(tests[name].get("texts"))),
            Cell(percent(tests[name].get("on_negation"))),
        ]
        for name in [*first, *(name for name in tests if name not in first)]
    ]
    return Grid(["test", "texts are", "right", "texts", "of the contribution on negating words"], rows)


@MEASURES.register("negation")
class Negation(Measure[NegationResult]):
    """Sentences that differ by a negation alone, and HateCheck's functional tests."""

    Settings = NegationSettings
    version = 2
    reads = "nothing"
    on_request = True
    title = "Negation"
    about = (
        "Sentences around adjectives that the training texts have in one label alone, said plainly and negated: does "
        "the label follow, and does the explanation move from the adjective to its negation? Contributions are to the "
        "logit of the adjective's own label less that of the other. For models of hate, HateCheck's tests, which have "
        "negations among them; labels such as offensive count as hateful."
    )
    section = "negation"
    tasks = ("classification",)
    figures = (
        Figure(
            "negation.pairs.forms.not.positive.follows.mean",
            "“not good” is bad",
            "Share of sentences “… is not [good adjective]” given the other label than without “not”.",
            better="higher",
            column="not_good",
        ),
        Figure(
            "negation.pairs.forms.not.negative.follows.mean",
            "“not bad” is good",
            "Share of sentences “… is not [bad adjective]” given the other label than without “not”.",
            better="higher",
            column="not_bad",
        ),
        Figure(
            "negation.pairs.forms.not.positive.on_difference.mean",
            "contribution on “not”",
            "Share of the contribution that the explanation of such a sentence puts on “not”.",
            brief=False,
        ),
        Figure(
            "negation.pairs.negated.mean",
            "negated sentences right, where the dense head is",
            "Share of negated sentences given the right label, of all forms, of those that the dense head gets right, "
            "plain and negated.",
            better="higher",
        ),
        Figure(
            "negation.pairs.named.mean",
            "negation named",
            "Share of negated sentences whose explanation with interactions names the negation: it contributes, or "
            "deleting it does something.",
            better="higher",
            brief=False,
        ),
        *(
            Figure(
                f"negation.hatecheck.functionalities.{name}.accuracy.mean",
                f"HateCheck, {about}",
                f"Share of HateCheck's test {name} given the right label: {about}.",
                better="higher",
            )
            for name, about in zip(NEGATED, ("hate by a negated positive", "negated hate"), strict=True)
        ),
    )
    tables = (
        Table(
            "negation.pairs.forms",
            f"negation.pairs.forms.<form>.<side>.{{{','.join(FORM_COLUMNS)}}}",
            "Forms of negation",
            "Sentences of each form beside the plain ones, around `positive` and `negative` adjectives, which the "
            "table shows as good and bad: `follows`, the share with the right label, of those whose plain sentence has "
            "it; how far the logit `moved`; of that what the words that make the difference contribute "
            "(`by_difference`), and by how much the adjective's own contribution changed (`by_adjective`); how often "
            "that `turned` its sign; the share of all |contribution| `on_difference`; how often an explanation with "
            "interactions would name these words (`named`); and the share with the right label, of those to which the "
            "dense head gives it, plain and in this form (`as_dense`). Each with `mean`, `low` and `high`, a 95 % "
            "interval by bootstrap over adjectives.",
            _forms,
        ),
        Table(
            "negation.hatecheck.functionalities",
            "negation.hatecheck.functionalities.<test>.{accuracy,hateful,texts,on_negation}",
            "HateCheck",
            "HateCheck's tests: `accuracy` with its 95 % interval by bootstrap over templates, whether the texts are "
            "`hateful`, how many, and of the tests of negation the share of the |contribution| on negating words.",
            _tests,
        ),
    )
    keys = (
        Key(
            "negation.pairs.{positive,negative,plain_right,texts}",
            "the good and the bad adjectives, as training texts have them; share of plain sentences given the label of "
            "their adjective; sentences of each form",
        ),
        Key("negation.pairs.{negated,named}.{low,high}, negation.pairs.negated_texts", "intervals; sentences"),
        Key("negation.hatecheck.{accuracy,texts}", "of all of HateCheck's tests"),
    )

    @classmethod
    def sources(cls, scope: Scope) -> list[str]:
        try:
            cases = load_cases(_file(scope)) if hateful_classes(scope.model.labels) is not None else None
        except DataError:  # said when it is asked for; whoever asks for other measures need not know
            return []
        if cases is None:
            return []
        return [hashlib.sha256(json.dumps(cases.columns, sort_keys=True, default=str).encode()).hexdigest()]

    @classmethod
    def is_wanted(cls, scope: Scope) -> bool:
        labels = scope.model.labels
        of_hate = hateful_classes(labels) is not None and load_cases(_file(scope)) is not None
        return of_hate or (positive_class(labels) is not None and scope.references.training is not None)

    def result(self) -> NegationResult:
        scope, labels = self.scope, self.scope.model.labels
        subject = Subject(scope.model, scope.model.tokenizer, scope.model.max_length, scope.config.batch_size)
        dense = scope.references.dense
        beside = None if dense is None else Subject(dense, dense.tokenizer, dense.max_length, scope.config.batch_size)
        pairs, checked = None, None
        positive, training = positive_class(labels), scope.references.training
        if positive is not None and training is not None:
            good, bad = one_sided(training.texts(np.arange(len(training))), training.labels, positive)
            pairs = minimal_pairs(subject, positive, (good, bad), scope.seed, beside) if good or bad else None
        hateful, cases = hateful_classes(labels), load_cases(_file(scope))
        if hateful is not None and cases is not None:
            checked = hatecheck(subject, cases, hateful, scope.seed)
        return NegationResult(pairs, checked)

    def findings(self, result: NegationResult) -> list[str]:
        if result.pairs is None:
            return []
        found = []
        for side, adjectives in SIDES.items():
            negated = [
                sides[side] for name, sides in result.pairs.forms.items() if FORMS[name].negates and side in sides
            ]
            shares = [figures.follows.mean for figures in negated if figures.follows is not None]
            if shares and sum(shares) / len(shares) < NOT_FOLLOWED:
                share = percent(sum(shares) / len(shares))
                found.append(
                    f"Negated, {adjectives} adjectives turn the label in only {share} of short sentences: do not trust "
                    "this model with such negations."
                )
        return found


def _file(scope: Scope) -> str | None:
    return scope.config.of(NegationSettings).hatecheck_file
