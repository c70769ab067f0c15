"""A training step beside the same backbone with an ordinary head, on the CPU.

Both train as the configs under `experiments/` say, on the same batches, from the backbone to the optimiser's step; ours
in the circuit phase, the dearer of the two, after a short warm-up. A call is some steps that go on where the last call
ended, so by the time of the measured rounds the pressure has brought the active tokens near their target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.measure import Goal, Measurement, Result, Rival, Work, compare, seconds_ratio
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
        """The settings, unchanged."""
        where = [f"data.root={root}"] if root else []
        config = load_config(EXPERIMENTS / self.config, [*where, *self.settings])
        return vary(config, config.study.variations[self.variation], self.variation) if self.variation else config

    def load_for_steps(self, root: str | None) -> Config:
        """The settings with a short warm-up, in a run without an end."""
        training = {"max_steps": RUN_STEPS, "warmup_fraction": WARM_UP_STEPS / RUN_STEPS, "epochs": 1}
        return vary(self.load(root), {f"training.{key}": value for key, value in training.items()}, "benchmark")


JOBS = (
    Job("sentences of reviews, 2 classes", "quickstart.yaml"),
    Job("Banking77, 77 classes", "multi_dataset_minilm.yaml", "banking77"),
    Job("CoNLL-2003, tagging", "ner/conll2003.yaml"),
)


def build(config: Config, dense: bool, steps: int) -> Work:
    """`steps` steps a call, of our model or of the dense one."""
    run = prepare(config, overwrite=True)  # writes nothing
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
    configs = [(job, job.load_for_steps(root)) for job in jobs]
    return [_beside_dense(job, config, rounds, steps) for job, config in with_data(configs)]


def with_data(configs: Sequence[tuple[Job, Config]]) -> list[tuple[Job, Config]]:
    """Those whose data are there; the others are named. None at all is an error."""
    found = []
    for job, config in configs:
        try:
            load_dataset(config.data, config.seed, config.task)
            found.append((job, config))
        except DataError as error:
            Console(stderr=True).print(f"{job.title}: {error}", markup=False, highlight=False, soft_wrap=True)
    if not found:
        raise DataError("None of the benchmark's data sets is there; give a data root by LEXICAL_SAE_DATA.")
    return found


def _beside_dense(job: Job, config: Config, rounds: int, steps: int) -> Result:
    options: dict[str, Any] = {"config": config, "steps": steps}
    rivals = [Rival(DENSE, build, options | {"dense": True}), Rival(OURS, build, options | {"dense": False})]
    found = compare(rivals, rounds)
    ours, dense = found[OURS], found[DENSE]
    for each in found.values():
        each.facts["s_a_step"] = each.median / steps
    setting = described(config) | {"steps a call": steps, "rounds": rounds}
    return Result(f"Training: {job.title}", setting, list(found.values()), goals(seconds_ratio(ours, dense), found))


def goals(seconds: float, found: dict[str, Measurement]) -> list[Goal]:
    """What is asked of a training beside the dense head's; `seconds`: how many times its seconds a step takes."""
    memory = found[OURS].peak_mb / found[DENSE].peak_mb
    return [
        Goal("seconds a training step, times the dense head's", seconds, SLOWEST, True),
        Goal("peak memory of the process, times the dense head's", memory, LARGEST_MEMORY, True),
    ]


def described(config: Config) -> dict[str, Any]:
    return {
        "backbone": config.model.name,
        "support": "+".join(config.model.support),
        "batch_size": config.training.batch_size,
        "max_length": config.data.max_length,
    }
