"""HateCheck: functional tests of hate speech detection, a few templates for each thing that a model may get wrong
(Röttger et al. 2021, arXiv:2012.15606)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from splade.config.schema import DataConfig
from splade.data.files import read_table
from splade.data.root import root_source
from splade.data.stop_words import is_negation
from splade.data.types import Table
from splade.errors import DataError
from splade.evaluation.estimate import Estimate, estimate
from splade.explainers import EXPLAINERS, ExplainerParts, Subject, WordText

NEGATED = ("negate_pos_h", "negate_neg_nh")
"""Tests of negation: hate by a negated positive statement ("no gay person deserves to live"), and a negated hateful
one, which is none."""

HATEFUL = {"hateful", "hate", "hatespeech", "hate speech", "offensive", "toxic", "abusive"}
"""Labels, in small letters and with blanks, that count as hateful. HateXplain's `offensive` does, as its `hatespeech`:
HateCheck knows two labels, and its cases of hate would be offensive too."""

NOT_HATEFUL = {
    "not hateful",
    "non hateful",
    "nonhateful",
    "normal",
    "neutral",
    "none",
    "no hate",
    "nothate",
    "not hate",
}
NOT_HATEFUL |= {"not offensive", "non toxic", "not toxic", "nontoxic", "civil", "harmless", "benign"}

COLUMNS = ("text", "label", "functionality")


@dataclass(frozen=True)
class Functionality:
    """One test."""

    accuracy: Estimate | None
    """Share of its texts given the right label; the interval is drawn over templates, whose texts are much alike."""
    hateful: bool
    """What its texts are."""
    texts: int
    on_negation: float | None
    """Of tests of negation: mean share of the |contribution| to the label given that is on negating words."""


@dataclass(frozen=True)
class HateCheck:
    """All tests."""

    functionalities: dict[str, Functionality]
    accuracy: float
    texts: int


def hateful_classes(labels: Sequence[str]) -> list[bool] | None:
    """Which of a model's labels are hateful; None unless all are known and both kinds are there."""
    names = [label.lower().replace("_", " ").replace("-", " ").strip() for label in labels]
    if not all(name in HATEFUL | NOT_HATEFUL for name in names):
        return None
    kinds = [name in HATEFUL for name in names]
    return kinds if len(set(kinds)) == 2 else None


def load_cases(file: str | None) -> Table | None:
    """The cases: of a file, or of the set `hatecheck` of the data root; None if there is neither."""
    if file is not None:
        table = read_table(Path(file), "classification", DataConfig())
    else:
        source = root_source(DataConfig(dataset_name="hatecheck"))
        if source is None or "test" not in source.splits:
            return None
        table = source.splits["test"]()
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise DataError(
            f"{table.origin} has no column '{missing[0]}', but HateCheck's cases need {', '.join(COLUMNS)}; name a "
            "file that has them."
        )
    return table


def hatecheck(subject: Subject, cases: Table, hateful: Sequence[bool], seed: int) -> HateCheck:
    """How a model whose labels are `hateful` (C,) or not does on each test."""
    texts, labels, names = (list(map(str, cases.columns[name])) for name in COLUMNS)
    templates = list(map(str, cases.columns.get("template", range(len(texts)))))
    gold = np.array([_is_hateful(label) for label in labels])
    classes = subject.logits(texts).argmax(-1).numpy()
    right = np.asarray(hateful)[classes] == gold
    found = {}
    for name in dict.fromkeys(names):
        rows = np.array([row for row, other in enumerate(names) if other == name])
        _, template = np.unique([templates[row] for row in rows], return_inverse=True)
        found[name] = Functionality(
            estimate(right[rows].astype(float), template, seed),
            bool(gold[rows].all()),
            len(rows),
            _on_negation(subject, [texts[row] for row in rows], classes[rows]) if name in NEGATED else None,
        )
    return HateCheck(found, float(right.mean()), len(texts))


def _is_hateful(label: str) -> bool:
    kinds = {"1": True, "hateful": True, "0": False, "non-hateful": False}
    if label.lower() not in kinds:
        raise DataError(f"HateCheck's cases have the label '{label}', where one of {', '.join(kinds)} was expected.")
    return kinds[label.lower()]


def _on_negation(subject: Subject, texts: Sequence[str], classes: np.ndarray) -> float | None:
    """The mean share of |contribution| on words that negate, over texts with any contribution."""
    read = [WordText.of(text) for text in texts]
    shares = []
    for text, said in zip(
        read, EXPLAINERS.get("dla")(ExplainerParts()).explain(subject, read, classes.tolist()), strict=True
    ):
        size = np.abs(said.scores)
        if size.sum() > 0:
            shares.append(size[[is_negation(word) for word in text.words]].sum() / size.sum())
    return float(np.mean(shares)) if shares else None
