"""HateCheck: labels by name, cases by file, and tests scored by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from splade.data.stop_words import is_negation
from splade.data.types import Table
from splade.errors import DataError
from splade.evaluation.hatecheck import hatecheck, hateful_classes, load_cases
from splade.explainers import Subject
from splade.inference import explain_batch
from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_model

CASES = [
    {"text": "i hate you", "label": 1, "functionality": "derog_h", "template": "1"},
    {"text": "i hate them", "label": 1, "functionality": "derog_h", "template": "1"},
    {"text": "i do not hate you", "label": 0, "functionality": "negate_neg_nh", "template": "2"},
    {"text": "no woman is good", "label": 1, "functionality": "negate_pos_h", "template": "3"},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("model"), classes=3, exclude_stop_words=False)


def table(rows: list[dict[str, object]] = CASES) -> Table:  # type: ignore[assignment]
    return Table({name: [row[name] for row in rows] for name in rows[0]}, "cases")


@pytest.mark.parametrize(
    ("labels", "kinds"),
    [
        (["normal", "offensive", "hatespeech"], [False, True, True]),  # as HateXplain has them
        (["non-hateful", "hateful"], [False, True]),
        (["Toxic", "not_toxic"], [True, False]),
        (["negative", "positive"], None),
        (["hateful", "hate speech"], None),
        (["normal", "hateful", "sports"], None),
    ],
)
def test_labels_are_known_by_name(labels: list[str], kinds: list[bool] | None) -> None:
    assert hateful_classes(labels) == kinds


def test_negating_words() -> None:
    assert all(map(is_negation, ["not", "Never", "don't", "isn’t", "No", "without"]))
    assert not any(map(is_negation, ["nothingness", "want", "hate", "n"]))


def test_tests_by_hand(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = Subject(model, model.tokenizer, model.max_length)
    given = torch.tensor([[0, 0, 1.0], [1.0, 0, 0], [0, 1.0, 0], [0, 1.0, 0]])  # hateful, not, hateful, hateful
    monkeypatch.setattr(subject, "logits", lambda texts: given)
    found = hatecheck(subject, table(), [False, True, True], seed=0)
    right = {name: one.accuracy.mean for name, one in found.functionalities.items() if one.accuracy}
    assert right == {"derog_h": 0.5, "negate_neg_nh": 0.0, "negate_pos_h": 1.0}
    assert (found.accuracy, found.texts) == (0.5, 4)
    derog = found.functionalities["derog_h"]
    assert derog.hateful and derog.texts == 2 and derog.on_negation is None
    assert derog.accuracy is not None and derog.accuracy.low == derog.accuracy.high == 0.5  # one template says no more
    explained = explain_batch(model, ["no woman is good"], target=model.labels[1])[0]
    sizes = {word.word: abs(word.score) for word in explained.words if word.end > word.start}
    share = found.functionalities["negate_pos_h"].on_negation
    assert share == pytest.approx(sizes["no"] / sum(sizes.values()), abs=1e-4) and share > 0


def test_cases_are_those_of_the_file_or_of_the_data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(json.dumps(case) + "\n" for case in CASES)
    (tmp_path / "cases.jsonl").write_text(lines)
    named = load_cases(str(tmp_path / "cases.jsonl"))
    assert named is not None and len(named.columns["text"]) == 4
    monkeypatch.setenv("LEXICAL_SAE_DATA", str(tmp_path))
    assert load_cases(None) is None
    (tmp_path / "hatecheck").mkdir()
    with gzip.open(tmp_path / "hatecheck" / "test.jsonl.gz", "wt") as file:
        file.write(lines)
    found = load_cases(None)
    assert found is not None and [str(label) for label in found.columns["label"]] == ["1", "1", "0", "1"]
    monkeypatch.delenv("LEXICAL_SAE_DATA")
    assert load_cases(None) is None


def test_cases_that_are_none_are_one_sentence(tmp_path: Path, model: LexicalSAE) -> None:
    (tmp_path / "cases.csv").write_text("text,label\nhello there,1\n")
    with pytest.raises(DataError, match="no column 'functionality'"):
        load_cases(str(tmp_path / "cases.csv"))
    subject = Subject(model, model.tokenizer, model.max_length)
    with pytest.raises(DataError, match="the label 'maybe'"):
        hatecheck(subject, table([CASES[0] | {"label": "maybe"}]), [False, True, True], seed=0)


def test_logits_of_a_real_model_decide(model: LexicalSAE) -> None:
    subject = Subject(model, model.tokenizer, model.max_length)
    found = hatecheck(subject, table(), [False, True, True], seed=0)
    turned = hatecheck(
        subject, table([case | {"label": 1 - int(str(case["label"]))} for case in CASES]), [False, True, True], 0
    )
    assert found.accuracy == pytest.approx(1 - turned.accuracy) and np.isfinite(found.accuracy)
