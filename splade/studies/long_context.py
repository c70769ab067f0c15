"""The long-context study: needles at every length and place, and what length costs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from rich.console import Console

from splade.config.schema import Config
from splade.data.loader import load_dataset
from splade.errors import ConfigError, DataError
from splade.evaluation.figure import MEGABYTES, Form
from splade.models.lexical_sae import LexicalSAE, check_task
from splade.studies.intervals import METHOD
from splade.studies.needle import PLACES, choose_needles, cost, default_lengths, growth, measure, neutral_filler
from splade.studies.plots import draw_lines
from splade.studies.study import check_classification, run_study, study_folder
from splade.studies.summary import Column, Row, measured, rows_of
from splade.studies.tables import cells_of, interval_note, leave_table
from splade.studies.tiny_model import tiny_model
from splade.studies.variations import Variation
from splade.utils.atomic import write_json

NAME = "long_context"

WHOLE_SHARE = Form(0, 100, "%", (0, 1))
FINE_SECONDS = Form(4)

COLUMNS = (
    Column("kept", "prediction kept", "kept", WHOLE_SHARE),
    Column("first", "needle weighs most", "first", WHOLE_SHARE),
    Column("share", "its share of |score|", "share", WHOLE_SHARE),
    Column("rank", "its rank", "rank"),
    Column("sentences", "of sentences", "sentences"),
    Column("backbone_seconds", "seconds in the backbone", "backbone_seconds", FINE_SECONDS),
    Column("added_seconds", "seconds in the rest", "added_seconds", FINE_SECONDS),
    Column("extra_mb", "memory it adds", "extra_mb", MEGABYTES),
)

Measured = dict[tuple[int, str], list[dict[str, float]]]
"""By length and place, one entry a seed; the place is empty where only the cost was measured."""


def long_context(
    config: Config, *, model_folder: Path | None, tiny: bool, overwrite: bool, console: Console, out: Console
) -> Path:
    """Test a saved model, one trained now with the config, or (its cost only) a tiny random one up to 4,096 tokens."""
    check_classification(NAME, config)
    folder = study_folder(NAME, config) / ("tiny" if tiny else "")
    found: Measured = {}
    notes: list[str] = []
    seeds = [config.seed]
    if tiny:
        model, lengths = _stretched(tiny_model(config.model, config.seed), config)
        found = {(length, ""): [cost(model, length, config.seed)] for length in lengths}
        notes.append("A tiny random model: what it predicts means nothing, only the cost was measured.")
    else:
        if model_folder is not None:
            folders = {config.seed: model_folder}
        else:
            run = run_study(NAME, config, [Variation("model", {})], overwrite=overwrite, console=console)
            folders = {part.config.seed: part.folder / "model" for part in run.finished}
            notes += run.notes
        seeds = list(folders)
        for seed, saved in folders.items():
            loaded = LexicalSAE.from_pretrained(saved)
            check_task(loaded, "classification")
            model, lengths = _stretched(loaded, config)
            for key, figures in _needles(model, config, lengths, seed).items():
                found.setdefault(key, []).append(figures)
        notes.append(
            f"Needles: up to {config.study.needles} test texts the model gets right, at the start, in the middle or at "
            "the end of plain sentences it finds neutral."
        )
    _report(folder, config, seeds, found, notes, out)
    return folder


def _stretched(model: LexicalSAE, config: Config) -> tuple[LexicalSAE, list[int]]:
    """The model, reading as far as its backbone can whatever length it was trained with, and the lengths to test."""
    model.max_length = model.backbone.max_length
    lengths = sorted(config.study.lengths or default_lengths(model.max_length))
    if lengths[-1] > model.max_length:
        raise ConfigError(
            f"study.lengths has {lengths[-1]}, but the backbone reads {model.max_length} tokens; leave longer ones out."
        )
    return model, lengths


def _needles(
    model: LexicalSAE, config: Config, lengths: list[int], seed: int
) -> dict[tuple[int, str], dict[str, float]]:
    dataset = load_dataset(config.data, seed)
    if dataset.label_names != model.labels:
        raise DataError(
            f"The labels of the data are {', '.join(dataset.label_names)}, but the model was trained on "
            f"{', '.join(model.labels)}; name data with the same labels."
        )
    needles = choose_needles(model, dataset.test, config.study.needles, lengths[0], seed)
    filler = neutral_filler(model)
    found = {}
    for length in lengths:
        price = cost(model, length, seed)
        for place in PLACES:
            found[length, str(place)] = measure(model, needles, filler, length, place, seed) | price
    return found


def _report(folder: Path, config: Config, seeds: list[int], found: Measured, notes: list[str], out: Console) -> None:
    """Table, plot and `results.json`."""
    names = {key: f"{key[0]} tokens{', ' if key[1] else ''}{key[1]}" for key in found}
    rows = dict(zip(found, rows_of({names[key]: runs for key, runs in found.items()}, COLUMNS), strict=True))
    place = next(iter(rows))[1]  # the cost is the same at all places
    seconds = {part: _line(rows, f"{part}_seconds", place) for part in ("backbone", "added")}
    exponents = {part: growth(line) for part, line in seconds.items()}
    if exponents["added"] is not None:
        notes = [
            *notes,
            f"Seconds grow with the length to the power of {exponents['backbone']:.2f} in the backbone and of "
            f"{exponents['added']:.2f} in all that follows it (1 is linear, 2 quadratic).",
        ]
    notes = [*notes, *interval_note(list(rows.values()))]
    panels: dict[str, Any] = {}
    for key, title in (("kept", "prediction kept"), ("first", "needle weighs most")):
        lines = {place: _line(rows, key, place) for place in PLACES}
        if any(lines.values()):
            panels[title] = lines
    panels["seconds a text"] = {"backbone": seconds["backbone"], "projection, gate, head": seconds["added"]}
    figures = measured(list(rows.values()), COLUMNS)
    headings, cells = cells_of(list(rows.values()), figures, "text")
    leave_table(folder, out, f"{config.experiment_name}: {NAME}", headings, cells, notes)
    draw_lines(folder, NAME, panels, "tokens", log=["seconds a text"])
    results = {
        "study": NAME,
        "experiment_name": config.experiment_name,
        "seeds": seeds,
        "interval": METHOD,
        "growth": exponents,
        "texts": [
            {"length": length, "place": place or None, "figures": {k: v.to_json() for k, v in row.figures.items()}}
            for (length, place), row in rows.items()
        ],
        "settings": dataclasses.asdict(config.study),
        "notes": notes,
    }
    write_json(folder / "results.json", results)


def _line(rows: dict[tuple[int, str], Row], key: str, place: str) -> list[tuple[float, float]]:
    """(length, mean) of one figure at one place."""
    return [(n, row.figures[key].mean) for (n, where), row in rows.items() if where == place and key in row.figures]
