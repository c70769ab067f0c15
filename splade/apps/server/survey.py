"""What a model has learned, surveyed on the test texts of its run, a few at a time while nobody asks for anything."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from splade.apps.server.answers import Json
from splade.apps.server.places import Places
from splade.apps.server.readings import BATCH, READERS, Place, Reading
from splade.apps.server.run import Run
from splade.data.loader import load_test_split
from splade.data.splits import TEST_SEED
from splade.errors import LexicalSAEError
from splade.pipelines.saved_model import measurement_settings
from splade.task_description import describe

log = logging.getLogger(__name__)

MOST_TEXTS = 5_000
"""Test texts read, drawn of a longer split, always the same: the mean of a word seen in one text of a hundred has an
error of a seventh of its spread. Both numbers are in every answer."""

CIRCUIT_WORDS = 40
MOST_SIMILAR = 10
MOST_MISLEADING = 100
SCALE = 95
"""Percentile of |score| at which a scale of shades ends."""


@dataclass
class WordStatistics:
    """What one vocabulary token adds to each label, over rows in which it speaks."""

    total: np.ndarray
    """(C,)."""
    squares: np.ndarray
    """(C,)."""
    rows: int = 0

    def add(self, scores: np.ndarray) -> None:
        self.total += scores
        self.squares += scores**2
        self.rows += 1

    @property
    def spread(self) -> np.ndarray:
        """(C,) standard deviation."""
        mean = self.total / self.rows
        return np.sqrt(np.maximum(0.0, self.squares / self.rows - mean**2))


class Survey:
    """The test texts of one model, as far as they are read. Used by the model thread alone, but for `load`."""

    def __init__(self, labels: list[str], unit: str, run: Run, find: Callable[[], Any] | None, reason: str | None):
        """`find` gives the test split; it may take its time."""
        self.labels, self.unit, self.run, self.reason = labels, unit, run, reason
        self.split: Any = None
        self._order: list[int] = []
        self.done_texts = 0
        self.readings: list[Reading] = []
        self._words: dict[str, WordStatistics] = {}
        self._by_label: dict[str, dict[str, WordStatistics]] = defaultdict(dict)
        self._label_rows: dict[str, int] = defaultdict(int)
        self._where: dict[str, list[int]] = defaultdict(list)
        self._sizes: list[float] = []
        self._loading: threading.Thread | None = None
        if find is not None:
            self.reason = "The test texts of the run are being looked for."
            self._loading = threading.Thread(target=self._load, args=[find], name="test texts", daemon=True)
            self._loading.start()

    @classmethod
    def of(cls, model: Any, folder: Path, run: Run) -> Survey:
        """Of the test texts that a model's record names."""

        def find() -> Any:
            settings, _ = measurement_settings(model, folder, None, [], None)
            numbered = model.record.get("numbered_labels") is True
            return load_test_split(settings.data, settings.seed, model.labels, model.task, numbered)

        return cls(list(model.labels), describe(model.task).unit, run, find, None)

    @classmethod
    def without(cls, reason: str, unit: str, run: Run) -> Survey:
        """No texts."""
        return cls([], unit, run, None, reason)

    def _load(self, find: Callable[[], Any]) -> None:
        try:
            split = find()
        except LexicalSAEError as error:
            self.reason = str(error)
        except Exception as error:  # whatever reading somebody's files may end in, the server answers on
            log.error("The test texts could not be read: %s", type(error).__name__)
            self.reason = f"The test texts could not be read ({type(error).__name__})."
        else:
            chosen = np.random.default_rng(TEST_SEED).permutation(len(split))[:MOST_TEXTS]
            self._order = sorted(chosen.tolist()) if len(split) > MOST_TEXTS else list(range(len(split)))
            self.reason, self.split = None, split

    def step(self, model: Any) -> bool:
        """Read a few more; false: there is nothing to do."""
        if self.split is None or self.done_texts >= len(self._order):
            return False
        rows = self._order[self.done_texts : self.done_texts + BATCH]
        try:
            for reading in READERS.get(model.task)(model, self.split, rows):
                self._add(reading)
        except Exception as error:
            log.error("The survey of the test texts failed: %s", type(error).__name__)
            self.split, self.reason = None, f"Reading the test texts failed ({type(error).__name__})."
            return False
        self.done_texts += len(rows)
        return True

    def _add(self, reading: Reading) -> None:
        index, of_label = len(self.readings), self._by_label[reading.label]
        self.readings.append(reading)
        self._label_rows[reading.label] += 1
        self._sizes += reading.sizes
        for name, scores in zip(reading.tokens, reading.scores, strict=True):
            for table in (self._words, of_label):
                if name not in table:
                    table[name] = WordStatistics(np.zeros(len(self.labels)), np.zeros(len(self.labels)))
                table[name].add(scores)
            self._where[name].append(index)

    def to_json(self) -> Json:
        """How far it is."""
        return {
            "available": self.split is not None,
            "reason": self.reason,
            "texts": len(self._order),
            "of": len(self.split) if self.split is not None else 0,
            "read": self.done_texts,
            "done": self.split is not None and self.done_texts >= len(self._order),
            "rows": len(self.readings),
            "unit": self.unit,
            "scale": float(np.percentile(self._sizes, SCALE)) if self._sizes else None,
        }

    def circuits(self) -> Json:
        """The answer of `GET /words`."""
        if self.readings:
            source, circuits = "survey", [self._circuit(label) for label in self.labels if label in self._label_rows]
        else:
            circuits = self.run.circuits()
            source = "results" if circuits else None  # type: ignore[assignment]
        return {"source": source, "survey": self.to_json(), "circuits": circuits}

    def _circuit(self, label: str) -> Json:
        column, rows = self.labels.index(label), self._label_rows[label]
        words = sorted(self._by_label[label].items(), key=lambda one: -one[1].total[column])[:CIRCUIT_WORDS]
        return {
            "label": label,
            "rows": rows,
            "words": [
                {
                    "word": name,
                    "mean": float(found.total[column]) / rows,
                    "spread": float(found.spread[column]),
                    "rows": found.rows,
                }
                for name, found in words
                if found.total[column] > 0
            ],
        }

    def word(self, names: Iterable[str], word: str, limit: int) -> Json:
        """What some tokens, the ones that write a word, say to each label, and where they said most."""
        known = [name for name in dict.fromkeys(name.lower() for name in names) if name in self._words]
        statistics = WordStatistics(np.zeros(len(self.labels)), np.zeros(len(self.labels)))
        for name in known:
            found = self._words[name]
            statistics.total += found.total
            statistics.squares += found.squares
            statistics.rows += found.rows
        heard = statistics.rows > 0
        return {
            "survey": self.to_json(),
            "labels": [
                {
                    "label": label,
                    "mean": float(statistics.total[number]) / statistics.rows,
                    "spread": float(statistics.spread[number]),
                    "rows": statistics.rows,
                }
                for number, label in enumerate(self.labels if heard else ())
            ],
            "sentences": self._loudest(known, limit),
            "similar": self._similar(word.lower(), known),
        }

    def _loudest(self, names: Iterable[str], limit: int) -> list[Json]:
        said = []
        for name in names:
            for index in self._where[name]:
                reading = self.readings[index]
                score = float(reading.scores[reading.tokens.index(name), self.labels.index(reading.label)])
                said.append((score, index, name))
        said.sort(key=lambda one: (-abs(one[0]), one[1]))
        return [self._sentence(self.readings[index], name, score) for score, index, name in said[:limit]]

    def _sentence(self, reading: Reading, name: str, score: float) -> Json:
        return {
            "text": reading.text,
            "number": reading.number,
            "label": reading.label,
            "gold": reading.gold,
            "target": reading.label,
            "score": score,
            **_placed(reading.text, reading.places.get(name)),
        }

    def _similar(self, word: str, known: Iterable[str]) -> list[str]:
        start = word[: max(2, len(word) - 2)]
        others = [name for name in self._words if name.startswith(start) and name not in known]
        return sorted(others, key=lambda name: -self._words[name].rows)[:MOST_SIMILAR]

    def mistakes(self, word: str | None, offset: int, limit: int) -> Json:
        """The answer of `/mistakes`."""
        wrong = [reading for reading in self.readings if reading.is_mistake]
        wrong.sort(key=lambda reading: -(reading.pull.pull if reading.pull is not None else 0.0))
        misled: dict[str, list[float]] = defaultdict(list)
        for reading in wrong:
            if reading.pull is not None:
                misled[reading.pull.name].append(reading.pull.pull)
        words = sorted(misled.items(), key=lambda one: (-len(one[1]), -sum(one[1]), one[0]))[:MOST_MISLEADING]
        chosen = [one for one in wrong if word is None or (one.pull is not None and one.pull.name == word.lower())]
        return {
            "survey": self.to_json(),
            "total": len(chosen),
            "rows": len(self.readings),
            "words": [{"word": name, "mistakes": len(pulls), "pull": sum(pulls) / len(pulls)} for name, pulls in words],
            "mistakes": [_mistake(reading) for reading in chosen[offset : offset + limit]],
        }


def _mistake(reading: Reading) -> Json:
    pull = reading.pull
    placed = _placed(reading.text, None if pull is None else pull.place)
    named = placed if pull is None else placed | {"word": pull.name}
    return {
        "text": reading.text,
        "number": reading.number,
        "gold": reading.gold,
        "label": reading.label,
        "probability": reading.probability,
        **named,
        "pull": None if pull is None else pull.pull,
    }


def _placed(text: str, place: Place | None) -> Json:
    if place is None:
        return {"word": None, "start": None, "end": None, "utf16_start": None, "utf16_end": None}
    word, start, end = place
    return {"word": word, **Places(text).span(start, end)}
