"""A whole training beside the dense head's: every step of both phases, validations and checkpoints.

What steps of a settled run cannot show: the many active tokens of a warm-up, the first steps of the circuit phase, the
longest batches, and what the allocator keeps of hundreds of batches of different shapes. The two trainings take an hour
on two cores, so each is done once, and `python -m benchmarks` leaves them out unless they are named.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from benchmarks.measure import Result, Rival, Work, once
from benchmarks.training import DENSE, OURS, Job, described, goals, with_data
from splade.config.schema import Config
from splade.pipelines import dense_trainer, prepare

JOBS = (Job("CoNLL-2003, tagging", "ner/conll2003.yaml"),)


def build(config: Config, dense: bool) -> Work:
    """The training of our model, or of the dense one, in a folder that is thrown away."""

    def work() -> dict[str, float]:
        with TemporaryDirectory() as folder:
            run = prepare(replace(config, output_dir=folder), overwrite=True)
            trainer = dense_trainer(run, Path(folder)) if dense else run.trainer
            del run
            trainer.console = Console(stderr=True)
            outcome = trainer.run()
        figure = trainer.validation_task.figure
        facts = {"steps": outcome.steps, "s_a_step": outcome.seconds_per_step, figure: outcome.validation[figure]}
        return facts if dense else facts | {"active": outcome.validation["active"]}

    return work


def run(rounds: int = 1, jobs: tuple[Job, ...] = JOBS, root: str | None = None) -> list[Result]:
    """Every job whose data are there, once, whatever `rounds` says."""
    results = []
    for job, config in with_data([(job, job.load(root)) for job in jobs]):
        rivals = [Rival(name, build, {"config": config, "dense": name == DENSE}) for name in (DENSE, OURS)]
        found = once(rivals)
        ratio = found[OURS].facts["s_a_step"] / found[DENSE].facts["s_a_step"]
        results.append(
            Result(f"Whole training: {job.title}", described(config), list(found.values()), goals(ratio, found))
        )
    return results
