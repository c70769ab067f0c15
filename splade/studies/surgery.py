"""The study of surgery: one biased model, what makes it less so, and what each costs, on the same texts.

The baseline is trained (or given), and its backbone reads every text once; words are chosen on training and validation
texts; every condition then scores all texts, and `evaluate_bias` compares them. What a run has finished is kept: the
model, the codes of each set, the scores of each condition.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from splade.config.schema import Config
from splade.data.loader import load_dataset
from splade.errors import DataError
from splade.evaluation.bias_measure import BiasSettings
from splade.evaluation.positive_scores import positive_classes
from splade.models.folder import saved_hash
from splade.models.lexical_sae import LexicalSAE, check_task
from splade.studies.conditions.base import PLAIN, Bench, ChosenWords, Ran, name_of, wanted_conditions
from splade.studies.conditions.blind import BlindSettings, without_terms
from splade.studies.conditions.coded import CodedTexts, CodeStore, write_arrays
from splade.studies.conditions.word_choice import WORD_CHOICES
from splade.studies.study import check_classification, run_study, study_folder
from splade.studies.surgery_data import part_of, unseen_part
from splade.studies.surgery_findings import leave_results
from splade.studies.variations import Variation
from splade.surgery.codes import Codes, View, as_it_is, check_codes
from splade.utils.atomic import write_json

NAME = "surgery"


def surgery_study(
    config: Config, *, model_folder: Path | None = None, overwrite: bool, console: Console, out: Console
) -> Path:
    """Run all conditions on a model that is saved, or trained now, and leave results, table and report."""
    check_classification(NAME, config)
    folder = study_folder(NAME, config)
    if model_folder is None:
        run = run_study(NAME, config, [Variation("baseline", {})], overwrite=overwrite, console=console)
        model_folder = run.finished[0].folder / "model"
    model = LexicalSAE.from_pretrained(model_folder)
    check_task(model, "classification")
    check_codes(model)
    work = Work(config, model, saved_hash(model_folder), folder, console)
    bench = work.bench()
    bench.chosen = work.choose(bench)
    ran = work.run(bench)
    leave_results(folder, config, bench, ran, out)
    return folder


class Work:
    """The steps of the study, each of which leaves what it found."""

    def __init__(self, config: Config, model: LexicalSAE, model_hash: str, folder: Path, console: Console):
        self.config, self.model, self.folder, self.console = config, model, folder, console
        self.conditions = wanted_conditions(config.surgery)
        self.store = CodeStore(model, model_hash, folder / "codes", config.evaluation.batch_size, console)
        self.model_hash = model_hash

    def say(self, sentence: str) -> None:
        """Tell of progress."""
        self.console.print(sentence, highlight=False, markup=False, soft_wrap=True)

    def bench(self) -> Bench:
        """All texts, read."""
        config, model = self.config, self.model
        dataset = load_dataset(config.data, config.seed)
        if dataset.label_names != model.labels:
            raise DataError(
                f"The labels of the data are {', '.join(dataset.label_names)}, but the model was trained on "
                f"{', '.join(model.labels)}; name data with the same labels."
            )
        positive = positive_classes(model.labels, config.evaluation.of(BiasSettings).bias_positive)
        training, validation, test = (
            part_of(name, getattr(dataset, name), positive, config) for name in ("train", "validation", "test")
        )
        parts = [test, *(unseen_part(name, config) for name in config.surgery.test_sets)]
        self._read(training, [validation, *parts])
        return Bench(
            model,
            config.surgery,
            positive,
            training,
            validation,
            {part.name: part for part in parts},
            config.seed,
            self._blind,
            say=self.say,
        )

    def _read(self, training: CodedTexts, others: list[CodedTexts]) -> None:
        """Read all texts; the hidden states of the training texts first, as what is erased is fitted on them."""
        plain: dict[str, tuple[str, View]] = {PLAIN: ("", as_it_is)}
        wants = {view for each in self.conditions if (view := each.view_name) is not None}
        codes, hidden = self.store.read(training.name, training.texts, plain, hidden=bool(wants))
        training.codes.update(codes)
        views = dict(plain)
        if hidden is not None:
            training.hidden[PLAIN] = hidden
            fitted = {each.view_name: each for each in self.conditions if each.view_name is not None}
            for name, each in fitted.items():
                views[str(name)] = each.view(training)
            if any(each.refits for each in self.conditions if each.view_name is not None):
                codes, _ = self.store.read(
                    training.name, training.texts, {n: v for n, v in views.items() if n != PLAIN}
                )
                training.codes.update(codes)
        for part in others:
            codes, _ = self.store.read(part.name, part.texts, views)
            part.codes.update(codes)

    def _blind(self, part: CodedTexts) -> Codes:
        settings = self.config.surgery.of(BlindSettings)
        mask = str(self.model.tokenizer.mask_token or "")
        texts = [without_terms(text, settings, mask) for text in part.texts]
        changed = np.flatnonzero([one != other for one, other in zip(texts, part.texts, strict=True)])
        shorter = [texts[row] for row in changed]
        read = self.store.read(f"{part.name}.blind", shorter, {PLAIN: ("", as_it_is)})[0][PLAIN]
        return part.codes[PLAIN].with_others(changed, read)

    def choose(self, bench: Bench) -> ChosenWords:
        """The words that are removed."""
        settings = self.config.surgery
        known_by = self._key("words", {"validation": bench.validation}, settings.words)
        path = self.folder / "words.json"
        found = _read_json(path)
        if found.get("known_by") != known_by:
            matched = self.config.evaluation.of(BiasSettings).bias_matched_fpr
            chosen = WORD_CHOICES.get(settings.words)(bench, matched)
            values = dataclasses.asdict(chosen) | {"removal": chosen.removal.to_json(), "known_by": known_by}
            write_json(path, values)
            return chosen
        return ChosenWords.from_json(found)

    def run(self, bench: Bench) -> list[Ran]:
        """Every condition, once a draw; those that have run are read."""
        ran: list[Ran] = []
        for condition in self.conditions:
            name = name_of(condition)
            known_by = self._key(name, bench.parts, ",".join(bench.words.words))
            path = self.folder / "conditions" / f"{name}.npz"
            kept = _kept(path, known_by)
            if kept is None:
                self.say(f"Condition: {condition.title}")
                kept = list(condition(bench).run())
                _keep(path, known_by, kept)
            ran += kept
        return ran

    def _key(self, name: str, parts: Mapping[str, CodedTexts], more: str) -> str:
        """What results of a step must agree with to be this study's."""
        config = self.config
        values = [
            *(name, more, self.model_hash, config.seed, sorted(parts), [len(part) for part in parts.values()]),
            {key: value for key, value in dataclasses.asdict(config.surgery).items() if key != "conditions"},
            dataclasses.asdict(config.data),
            dataclasses.asdict(config.evaluation.of(BiasSettings)),
        ]
        return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def _kept(path: Path, known_by: str) -> list[Ran] | None:
    """What a condition left; None where it has not run, or otherwise."""
    try:
        with np.load(path) as arrays:
            about = json.loads(arrays["about"].tobytes().decode())
            if about["known_by"] != known_by:
                return None
            return [
                Ran(each["name"], {part: arrays[f"{number}.{part}"] for part in each["parts"]}, *each["rest"])
                for number, each in enumerate(about["draws"])
            ]
    except (OSError, ValueError, KeyError):
        return None


def _keep(path: Path, known_by: str, ran: list[Ran]) -> None:
    draws = [
        {"name": each.name, "parts": list(each.scores), "rest": [each.refit_epoch, each.notes, each.removed]}
        for each in ran
    ]
    about = json.dumps({"known_by": known_by, "draws": draws}).encode()
    arrays = {f"{number}.{part}": scores for number, each in enumerate(ran) for part, scores in each.scores.items()}
    write_arrays(path, {"about": np.frombuffer(about, dtype=np.uint8), **arrays})


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}
