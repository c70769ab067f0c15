"""The polysemy study: words in context, with the senses of a trained model or of an untrained backbone."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from rich.console import Console

from splade.config.schema import Config
from splade.data.columns import raw_split
from splade.data.root import root_source
from splade.data.types import TextSplit
from splade.errors import DataError
from splade.evaluation.polysemy import Difference, WordPair, polysemy, word_pairs
from splade.models.lexical_sae import LexicalSAE, check_task
from splade.models.sense_choice import FEWEST_OCCURRENCES, choose_senses
from splade.models.starting_point import load_backbone
from splade.models.vocabulary import Vocabulary
from splade.pipelines import calibrate
from splade.studies.study import check_classification, study_folder
from splade.studies.tables import leave_table
from splade.tasks import ClassificationTask
from splade.utils.atomic import write_json
from splade.utils.progress import progress_bar

NAME = "polysemy"


def polysemy_study(config: Config, *, model_folder: Path | None, console: Console, out: Console) -> Path:
    """Measure a saved model, or the senses an untrained backbone gives to the pairs' own words."""
    check_classification(NAME, config)
    source = root_source(config.data)
    if source is None:
        raise DataError(
            f"There is no folder '{config.data.dataset_name}' with word-in-context pairs; name its data root with "
            "--set data.root and the folder with --set data.dataset_name."
        )
    pairs: list[WordPair] = []
    for read in source.splits.values():
        rows = raw_split(read(), config.data.text_column, config.data.label_column)
        pairs += word_pairs({**rows.extra, "label": list(rows.labels)}, rows.origin)
    model = LexicalSAE.from_pretrained(model_folder) if model_folder else _untrained(config, pairs)
    check_task(model, "classification")
    with progress_bar(console, "reading words", 2 * len(pairs)) as advance:
        found = polysemy(model, pairs, advance)
    folder = study_folder(NAME, config)
    measured = {"another sense is chosen": found.senses, "active tokens differ by": found.active}
    cells = [[str(n), *_row(name, one)] for n, (name, one) in enumerate(measured.items(), 1) if one is not None]
    notes = [
        f"{found.pairs:,} of {len(pairs):,} pairs have the same single token in both sentences.",
        "Active tokens at the word differ by Jaccard distance.",
    ]
    if model_folder is None:
        notes.append("An untrained backbone; senses from the sentences of all pairs, without their labels.")
    headings = ["", "of two occurrences", "meanings differ", "meaning is one", "pairs"]
    leave_table(folder, out, f"{config.experiment_name}: {NAME}", headings, cells, notes)
    results: dict[str, Any] = {"study": NAME, "experiment_name": config.experiment_name, "notes": notes}
    write_json(folder / "results.json", results | dataclasses.asdict(found))
    return folder


def _untrained(config: Config, pairs: list[WordPair]) -> LexicalSAE:
    """The backbone as it comes, with thresholds where a training would start, and senses for the pairs' words that
    occur often enough to tell senses apart."""
    backbone, tokenizer = load_backbone(config.model.name, revision=config.model.revision)
    vocabulary = Vocabulary.from_tokenizer(tokenizer, backbone.vocab_size)
    texts = sorted({text for pair in pairs for text in pair.sentences})
    max_length = min(config.data.max_length, backbone.max_length)
    task = ClassificationTask(TextSplit(texts, [0] * len(texts)), tokenizer, max_length)
    counts: dict[str, int] = {}
    for pair in pairs:
        for text, (start, end) in zip(pair.sentences, pair.spans, strict=True):
            word = text[start:end].lower()
            counts[word] = counts.get(word, 0) + 1
    words = [word for word, count in counts.items() if count >= FEWEST_OCCURRENCES and vocabulary.match(word)]
    if not words:
        raise DataError(
            f"No word of the pairs is a single token and occurs {FEWEST_OCCURRENCES} times; give more pairs."
        )
    settings = dataclasses.replace(config.model, senses=max(2, config.model.senses), sense_tokens=words)
    model = LexicalSAE(
        backbone,
        tokenizer,
        ["one", "other"],
        settings,
        max_length=max_length,
        senses=choose_senses(settings, backbone, tokenizer, task.encoded, config.seed),
    )
    calibrate(model, task, config)
    return model.eval()


def _row(name: str, found: Difference) -> list[str]:
    means = ("–" if mean is None else f"{mean:.3f}" for mean in (found.across, found.within))
    return [name, *means, f"{found.pairs_across:,} and {found.pairs_within:,}"]
