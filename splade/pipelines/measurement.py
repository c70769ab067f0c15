"""Figures of a model on a test split, as `results.json` holds them."""

from __future__ import annotations

import hashlib
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from splade.config.schema import Config
from splade.data.loader import load_dataset
from splade.data.types import TaggedSplit, TextSplit
from splade.errors import ConfigError
from splade.evaluation.measure import References
from splade.evaluation.measures import MEASURES
from splade.evaluation.memory import Memory
from splade.evaluation.run import evaluate
from splade.models.backbone import Backbone
from splade.models.dense import DenseClassifier
from splade.models.folder import is_model_folder, saved_hash
from splade.models.lexical_sae import LexicalSAE
from splade.models.starting_point import load_backbone
from splade.pipelines.outputs import write_outputs
from splade.pipelines.preparation import untrained_model
from splade.run_folder import DENSE, MEASURED, fingerprint, held, write_config
from splade.tasks import TASKS, Task
from splade.training.recipes import resolved
from splade.utils.progress import progress_bar


def evaluate_model(
    model: LexicalSAE,
    task: Task,
    config: Config,
    *,
    references: References,
    console: Console,
    memory: Memory | None = None,
    only_chosen: bool = False,
) -> dict[str, Any]:
    """The figures of `splade.evaluation.run.evaluate` as the JSON of `results.json`, with the words that are shut."""
    evaluation = evaluate(
        model,
        task,
        config.evaluation,
        share=config.training.sparsity_target,
        references=references,
        seed=config.seed,
        progress=partial(progress_bar, console),
        memory=memory,
        only_chosen=only_chosen,
    )
    removed = {"removed_tokens": model.suppressed_words, "silenced_words": model.silenced_words}
    return evaluation.to_json() | {key: words for key, words in removed.items() if words}


def frozen_backbone(config: Config, device: torch.device) -> Backbone:
    """The backbone of the settings as it was before training."""
    return load_backbone(config.model.name, revision=config.model.revision)[0].to(device)


def saved_dense(folder: Path, model: LexicalSAE) -> DenseClassifier | None:
    """The dense baseline in the folder of a model's run; None if none was trained there, or for other labels."""
    place = folder / DENSE / "model"
    if not is_model_folder(place):
        return None
    dense = DenseClassifier.from_pretrained(place, model.device)
    return dense if (dense.task, dense.labels) == (model.task, model.labels) else None


def run_memory(config: Config, model_hash: str, task: Task) -> Memory:
    """Where a run keeps what was measured of its model on a task."""
    return Memory(Path(config.output_dir) / MEASURED, model_hash, data_hash(task, config.data.max_length))


def data_hash(task: Task, max_length: int) -> str:
    """The hash of a split as a model reads it."""
    data = hashlib.sha256()
    data.update(json.dumps([task.name, max_length]).encode())
    data.update(task.encoded.ids.tobytes())
    data.update(task.encoded.offsets.tobytes())
    data.update(task.labels.tobytes())
    return data.hexdigest()


def merged(earlier: dict[str, Any], measured: dict[str, Any]) -> dict[str, Any]:
    """Earlier results, and in their place what was measured anew; measures that share a key keep theirs."""
    shared = {measure.section for measure in MEASURES.entries()} & earlier.keys() & measured.keys()
    return earlier | measured | {key: earlier[key] | measured[key] for key in shared}


def measure_again(config: Config, *, console: Console) -> dict[str, Any]:
    """Measure the finished run in `output_dir` anew, as other settings of `evaluation` ask for; nothing is trained.

    What its training left in the results is kept, the figures of the dense baseline too: no setting changes them.
    """
    with held(Path(config.output_dir)):
        return _measure_again(resolved(config), console)


def _measure_again(config: Config, console: Console) -> dict[str, Any]:
    began = time.perf_counter()
    folder = Path(config.output_dir)
    earlier = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    for key in ("removed_tokens", "silenced_words"):
        earlier.pop(key, None)  # the model that is there now says which
    dataset = load_dataset(config.data, config.seed, config.task)
    model = LexicalSAE.from_pretrained(folder / "model")

    def read(split: TextSplit | TaggedSplit) -> Task:
        found: Task = TASKS.get(config.task)(split, model.tokenizer, model.max_length, model.labels)
        return found

    test = read(dataset.test)
    memory = run_memory(config, saved_hash(folder / "model"), test)

    references = References(
        load_frozen=lambda: frozen_backbone(config, model.device),
        load_dense=lambda: saved_dense(folder, model),
        load_training=lambda: read(dataset.train),
        load_untrained=lambda: untrained_model(config, read(dataset.train), model.labels, model.device),
        load_validation=lambda: read(dataset.validation),
    )
    measured = evaluate_model(model, test, config, references=references, console=console, memory=memory)
    some = config.evaluation.measures is not None  # else all was measured, and nothing of before is left
    if some and measured["evaluated"] != earlier.get("evaluated"):
        raise ConfigError(
            f"evaluation.measures asks for some measures on {measured['evaluated']:,} texts, but the others in "
            f"{folder} are of {earlier.get('evaluated'):,} (evaluation.max_samples); leave one of the two settings as "
            "it was."
        )
    seconds = earlier["seconds"] | {"eval": time.perf_counter() - began}
    notes = [note for note in earlier["notes"] if note not in earlier.get("findings", [])] + measured["findings"]
    of_run = {"fingerprint": fingerprint(config, dataset), "seconds": seconds, "notes": notes}
    results = (merged(earlier, measured) if some else earlier | measured) | of_run
    write_outputs(folder, config, results, model, test)
    write_config(config)  # last: until then it says how the results that are there were measured
    return results
