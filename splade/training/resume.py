"""All that changes while a model trains, as one checkpoint, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from splade.errors import CheckpointError
from splade.models.roles import tensor_roles
from splade.training.checkpoint import Checkpoint
from splade.training.optim import trainable
from splade.training.selection import Candidate
from splade.training.step import Learner

if TYPE_CHECKING:
    from splade.training.loop import Trainer


def _moving(learner: Learner) -> dict[str, Tensor]:
    """Parameters, their averages, the calibrated gate, and what the losses remember; frozen weights are not here, they
    come from the backbone again."""
    model, roles = learner.model, tensor_roles(learner.model)
    tensors: dict[str, Tensor] = {f"model.{name}": p for name, p in trainable(model).items()}
    tensors |= {f"model.{name}": b for name, b in model.named_buffers() if roles[name] == "gate"}
    tensors |= {f"average.{name}": t for name, t in learner.average.shadow.items()}
    return tensors | {f"objective.{name}": t for name, t in learner.objective.state_dict(keep_vars=True).items()}


def capture(trainer: Trainer) -> Checkpoint:
    """The state of a training between two steps, in the mode it is in.

    Schedule-Free's way from the trained weights to the averaged ones and back is not exact to the last bit, so a
    checkpoint must not take it: a run that was interrupted would end with other weights.
    """
    learner, best = trainer.learner, trainer.selection.best
    tensors = _moving(learner) | {f"kept.{name}": t for name, t in best.weights.items()}
    for index, parameter in enumerate(learner.parameters):
        for key, value in learner.optimizer.state[parameter].items():
            tensors[f"optimizer.{index}.{key}"] = value
    tensors["rng"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["rng_cuda"] = torch.cuda.get_rng_state()
    state = {
        "run_id": trainer.run_id,
        "step": learner.step,
        "seconds": trainer.seconds,
        "step_seconds": trainer.step_seconds,
        "learning_rate": learner.learning_rate,
        "stale": trainer.selection.stale,
        "geco": learner.geco.state_dict(),
        "groups": [{k: v for k, v in g.items() if isinstance(v, int | float)} for g in learner.optimizer.param_groups],
        "kept": best.figures(),
        "evaluating": learner.average.evaluating,
    }
    return Checkpoint(tensors, state)


def restore(trainer: Trainer, checkpoint: Checkpoint) -> None:
    """Put a training back to where `capture` found it."""
    tensors, state = checkpoint.tensors, checkpoint.state
    if state["run_id"] != trainer.run_id:
        raise CheckpointError(
            f"The checkpoints in {trainer.folder} belong to a run with other settings or data; resume with the config "
            "that began it, or choose another output_dir."
        )
    learner, device = trainer.learner, trainer.processes.device
    with torch.no_grad():
        for name, tensor in _moving(learner).items():
            tensor.copy_(tensors[name])
    learner.average.evaluating = state.get("evaluating", True)  # older ones were written in evaluation mode
    for name, tensor in tensors.items():
        if name.startswith("optimizer."):
            _, index, key = name.split(".", 2)
            learner.optimizer.state[learner.parameters[int(index)]][key] = tensor.to(device)
    for group, values in zip(learner.optimizer.param_groups, state["groups"], strict=True):
        group.update(values)
    learner.geco.load_state_dict(state["geco"])
    learner.step, learner.learning_rate = state["step"], state["learning_rate"]
    trainer.seconds, trainer.step_seconds = state["seconds"], state["step_seconds"]
    weights = {n.removeprefix("kept."): t.to(device) for n, t in tensors.items() if n.startswith("kept.")}
    trainer.selection.best, trainer.selection.stale = Candidate(**state["kept"], weights=weights), state["stale"]
    _restore_random_state(learner, tensors)


def _restore_random_state(learner: Learner, tensors: dict[str, Tensor]) -> None:
    rank = learner.processes.rank
    if rank > 0:  # only the main process's random state is saved
        torch.manual_seed(learner.seed + rank + 1_000_003 * learner.step)
        return
    torch.set_rng_state(tensors["rng"].cpu())
    if "rng_cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors["rng_cuda"].cpu())
