"""All that changes while a model trains, as one checkpoint, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from splade.errors import CheckpointError
from splade.training.checkpoint import Checkpoint
from splade.training.selection import Kept
from splade.utils.atomic import write_text

if TYPE_CHECKING:
    from splade.training.loop import Trainer


def trainable(model: nn.Module) -> dict[str, Tensor]:
    """Parameters that learn, by name."""
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def _moving(trainer: Trainer) -> dict[str, Tensor]:
    """Parameters, their averages, the calibrated gate, and what the losses remember; frozen weights are not here, they
    come from the backbone again."""
    tensors = {f"model.{name}": p for name, p in trainable(trainer.model).items()}
    tensors |= {f"model.{name}": b for name, b in trainer.model.named_buffers() if ".gate." in f".{name}"}
    tensors |= {f"average.{name}": t for name, t in trainer.average.aside.items()}
    return tensors | {f"objective.{name}": t for name, t in trainer.objective.state_dict(keep_vars=True).items()}


def capture(trainer: Trainer) -> Checkpoint:
    """The state of a training between two steps, in the mode it is in.

    Schedule-Free's way from the trained weights to the averaged ones and back is not exact to the last bit, so a
    checkpoint must not take it: a run that was interrupted would end with other weights.
    """
    tensors = _moving(trainer) | {f"kept.{name}": t for name, t in trainer.kept.weights.items()}
    for index, parameter in enumerate(trainer.parameters):
        for key, value in trainer.optimizer.state[parameter].items():
            tensors[f"optimizer.{index}.{key}"] = value
    tensors["rng"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["rng_cuda"] = torch.cuda.get_rng_state()
    state = {
        "run_id": trainer.run_id,
        "step": trainer.step,
        "seconds": trainer.seconds,
        "step_seconds": trainer.step_seconds,
        "learning_rate": trainer.learning_rate,
        "stale": trainer.stale,
        "geco": trainer.geco.state_dict(),
        "groups": [{k: v for k, v in g.items() if isinstance(v, int | float)} for g in trainer.optimizer.param_groups],
        "kept": trainer.kept.figures(),
        "evaluating": trainer.average.evaluating,
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
    with torch.no_grad():
        for name, tensor in _moving(trainer).items():
            tensor.copy_(tensors[name])
    trainer.average.evaluating = state.get("evaluating", True)  # older ones were written in evaluation mode
    for name, tensor in tensors.items():
        if name.startswith("optimizer."):
            _, index, key = name.split(".", 2)
            trainer.optimizer.state[trainer.parameters[int(index)]][key] = tensor.to(trainer.device)
    for group, values in zip(trainer.optimizer.param_groups, state["groups"], strict=True):
        group.update(values)
    trainer.geco.load_state_dict(state["geco"])
    trainer.step, trainer.stale, trainer.learning_rate = state["step"], state["stale"], state["learning_rate"]
    trainer.seconds, trainer.step_seconds = state["seconds"], state["step_seconds"]
    weights = {n.removeprefix("kept."): t.to(trainer.device) for n, t in tensors.items() if n.startswith("kept.")}
    trainer.kept = Kept(**state["kept"], weights=weights)
    if trainer.rank > 0:  # only the main process's random state is saved
        torch.manual_seed(trainer.seed + trainer.rank + 1_000_003 * trainer.step)
        return
    torch.set_rng_state(tensors["rng"].cpu())
    if "rng_cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors["rng_cuda"].cpu())


def cut_history(path: Path, step: int) -> None:
    """Drop the lines of steps that will be run again."""
    if path.exists():
        lines = [line for line in path.read_text().splitlines() if line.endswith("}") and _step(line) <= step]
        write_text(path, "".join(line + "\n" for line in lines))


def _step(line: str) -> float:
    try:
        return json.loads(line)["step"]
    except ValueError:  # a line cut short by a kill
        return float("inf")
