"""A training step beside the same backbone with an ordinary head, on the CPU.

Both train as the configs under `experiments/` say, on the same batches, from the backbone to the optimiser's step; ours
in the circuit phase, the dearer of the two, after a short warm-up. A call is some steps that go on where the last call
ended, so by the time of the measured rounds the pressure has brought the active tokens near their target.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.measure import Goal, Result, Rival, Work, compare, data_root, seconds_ratio
from splade.config.load import load_config, vary
from splade.config.schema import Config
from splade.data.loader import load_dataset
from splade.errors import DataError
from splade.pipelines import dense_trainer, prepare
from splade.training.objective import TERMS

OURS, DENSE = "Lexical-SAE", "dense head"
SLOWEST, LARGEST_MEMORY = 2.0, 2.0
EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"

# Enough for the cross-entropy bound; of a run so long that the learning rate does not fall while it is measured.
WARM_UP_STEPS, RUN_STEPS = 10, 10_000


@dataclass(frozen=True)
class Job:
    """What is trained: a config, and of those with variations one."""

    title: str
    config: str
    variation: str | None = None
    settings: tuple[str, ...] = ()
    """Further settings, as `--set` takes them."""

    def load(self, root: str | None) -> Config:
        where = [f"data.root={root}"] if root else []
        config = load_config(EXPERIMENTS / self.config, [*where, *self.settings])
        if self.variation is not None:
            config = vary(config, config.study.variations[self.variation], self.variation)
        training = {"max_steps": RUN_STEPS, "warmup_fraction": WARM_UP_STEPS / RUN_STEPS, "epochs": 1}
        return vary(config, {f"training.{key}": value for key, value in training.items()}, "benchmark")


JOBS = (
    Job("sentences of reviews, 2 classes", "quickstart.yaml"),
    Job("Banking77, 77 classes", "multi_dataset_minilm.yaml", "banking77"),
    Job("CoNLL-2003, tagging", "ner/conll2003.yaml"),
)


def build(config: Config, dense: bool, steps: int) -> Work:
    """`steps` steps a call, of our model or of the dense one."""
    run = prepare(config, dry_run=True, overwrite=True)  # writes nothing
    trainer = dense_trainer(run, Path(config.output_dir)) if dense else run.trainer
    del run
    trainer.start()
    while trainer.step < WARM_UP_STEPS:
        trainer.advance()

    def work() -> dict[str, float]:
        rows, active = 0, 0.0
        for _ in range(steps):
            _, totals, _ = trainer.advance()
            rows, active = rows + totals.rows, active + float(totals.sums[TERMS.index("active")])
        return {"rows": float(rows)} if dense else {"rows": float(rows), "active": active / rows}

    return work


def run(rounds: int = 5, steps: int = 8, jobs: tuple[Job, ...] = JOBS, root: str | None = None) -> list[Result]:
    """Every job whose data are there; a missing one is said and left out."""
    results = []
    for job in jobs:
        config = job.load(data_root(root))
        try:
            load_dataset(config.data, config.seed, config.task)
        except DataError as error:
            Console(stderr=True).print(f"{job.title}: {error}", markup=False, highlight=False, soft_wrap=True)
            continue
        results.append(_beside_dense(job, config, rounds, steps))
    if not results:
        raise DataError("None of the benchmark's data sets is there; give a data root by LEXICAL_SAE_DATA.")
    return results


def _beside_dense(job: Job, config: Config, rounds: int, steps: int) -> Result:
    options: dict[str, Any] = {"config": config, "steps": steps}
    rivals = [Rival(DENSE, build, options | {"dense": True}), Rival(OURS, build, options | {"dense": False})]
    found = compare(rivals, rounds)
    ours, dense = found[OURS], found[DENSE]
    for each in found.values():
        each.facts["s_a_step"] = each.median / steps
    goals = [
        Goal("seconds a training step, times the dense head's", seconds_ratio(ours, dense), SLOWEST, True),
        Goal("peak memory of the process, times the dense head's", ours.peak_mb / dense.peak_mb, LARGEST_MEMORY, True),
    ]
    setting = {
        "backbone": config.model.name,
        "support": "+".join(config.model.support),
        "batch_size": config.training.batch_size,
        "max_length": config.data.max_length,
        "steps a call": steps,
        "rounds": rounds,
    }
    return Result(f"Training: {job.title}", setting, list(found.values()), goals)
