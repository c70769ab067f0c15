"""ERASER's files, written and read: so that outsiders can score our words with their code, and we theirs.

A folder has ``docs.jsonl`` (the documents), ``test.jsonl`` (what people marked) and ``predictions.jsonl``:

    python rationale_benchmark/metrics.py --data_dir FOLDER --split test --results FOLDER/predictions.jsonl

scores them (https://github.com/jayded/eraserbenchmark). Fields that were not at hand are left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from splade.data.rationales import RationaleText, Span
from splade.data.records import parse_json
from splade.errors import DataError
from splade.utils.atomic import write_text

DOCUMENTS, MARKED, PREDICTIONS = "docs.jsonl", "test.jsonl", "predictions.jsonl"

Probabilities = Mapping[str, float]


@dataclass(frozen=True)
class EraserPrediction:
    """What a model says of one text, and by which of its words."""

    name: str
    """Of the annotation, and of its one document."""
    scores: Sequence[float]
    """(W,) soft: one a word."""
    spans: Sequence[Span]
    """Hard: the words chosen, [start, end), which must not overlap."""
    label: str | None = None
    probabilities: Probabilities = field(default_factory=dict)
    without: Probabilities = field(default_factory=dict)
    """Of the text without the words chosen (comprehensiveness)."""
    only: Probabilities = field(default_factory=dict)
    """Of these words alone (sufficiency)."""

    def to_json(self) -> dict[str, Any]:
        rationale = {
            "docid": self.name,
            "hard_rationale_predictions": [{"start_token": start, "end_token": end} for start, end in self.spans],
            "soft_rationale_predictions": [float(score) for score in self.scores],
        }
        given: dict[str, Any] = {"classification": self.label, "classification_scores": dict(self.probabilities)}
        given["comprehensiveness_classification_scores"] = dict(self.without)
        given["sufficiency_classification_scores"] = dict(self.only)
        found = {key: value for key, value in given.items() if value}
        return {"annotation_id": self.name, "rationales": [rationale]} | found

    @classmethod
    def from_json(cls, found: Any, where: str) -> EraserPrediction:
        """`where`: what messages call the line."""
        try:
            (rationale,) = found["rationales"]
            hard = rationale.get("hard_rationale_predictions") or []
            return cls(
                str(found["annotation_id"]),
                [float(score) for score in rationale.get("soft_rationale_predictions") or []],
                [(int(span["start_token"]), int(span["end_token"])) for span in hard],
                found.get("classification"),
                found.get("classification_scores") or {},
                found.get("comprehensiveness_classification_scores") or {},
                found.get("sufficiency_classification_scores") or {},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(
                f"{where} is no prediction as ERASER has it, of one document ({type(error).__name__}: {error}); give "
                "annotation_id and rationales with docid, soft_rationale_predictions, hard_rationale_predictions."
            ) from None


def write_eraser(
    folder: Path, texts: Sequence[RationaleText], labels: Sequence[str], predictions: Sequence[EraserPrediction]
) -> None:
    """Documents, marked words with their `labels`, and predictions of the texts, in the same order."""
    folder.mkdir(parents=True, exist_ok=True)
    names = unique_names(texts)
    documents = [
        {"docid": name, "document": " ".join(text.text.split())} for name, text in zip(names, texts, strict=True)
    ]
    marked = [_annotation(*one) for one in zip(names, texts, labels, strict=True)]
    _write(folder / DOCUMENTS, documents)
    _write(folder / MARKED, marked)
    _write(folder / PREDICTIONS, (prediction.to_json() for prediction in predictions))


def read_predictions(path: Path) -> list[EraserPrediction]:
    """Predictions in ERASER's form, ours or anybody's."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"The file {path} cannot be read ({error}); name a file of JSON Lines.") from None
    return [
        EraserPrediction.from_json(
            parse_json(line, f"The file {path} is not valid JSON at line {n}"), f"{path}, line {n}"
        )
        for n, line in enumerate(lines, start=1)
        if line.strip()
    ]


def unique_names(texts: Sequence[RationaleText]) -> list[str]:
    """What each text is called; where several have the same name, the number of the text goes behind it."""
    counts = Counter(text.name for text in texts)
    return [text.name if counts[text.name] == 1 else f"{text.name}_{n}" for n, text in enumerate(texts, start=1)]


def in_order(predictions: Sequence[EraserPrediction], texts: Sequence[RationaleText]) -> list[np.ndarray]:
    """(W,) the scores of each text's words, whatever the order of the predictions."""
    by_name = {prediction.name: prediction for prediction in predictions}
    found = []
    for name, text in zip(unique_names(texts), texts, strict=True):
        scores = by_name[name].scores if name in by_name else ()
        if len(scores) != len(text.words):
            raise DataError(
                f"The predictions have {len(scores)} soft scores for '{name}', which has {len(text.words)} words; give "
                "one a word."
            )
        found.append(np.array(scores, dtype=float))
    return found


def _annotation(name: str, text: RationaleText, label: str) -> dict[str, Any]:
    words = text.text.split()
    evidences = [
        {
            "docid": name,
            "start_token": start,
            "end_token": end,
            "start_sentence": -1,
            "end_sentence": -1,
            "text": " ".join(words[start:end]),
        }
        for start, end in text.spans
    ]
    return {
        "annotation_id": name,
        "classification": label,
        "evidences": [evidences],
        "query": "What is the class?",
        "query_type": None,
    }


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
