"""Refitting the head: the rest of the model stays as it is, and the head learns again what the words that are left say.

Taking words away leaves the others the weights that they had beside them, which may be too little (SHIFT, Marks et al.
2024, arXiv:2403.19647: on biographies whose profession and gender coincide, removing gender brought the worst group
from 0.18 to 0.50, and training the classifier again on the *same* texts to 0.93). As only the head moves, the backbone
reads every text once, and an epoch over kept codes takes a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from pydantic.dataclasses import dataclass as settings_dataclass
from torch import Tensor

from splade.config.numbers import NonNegative, Positive, PositiveInt
from splade.config.variants import SETTINGS
from splade.errors import TrainingError
from splade.models.protocol import LexicalModel
from splade.models.removal import Matched
from splade.surgery.appending import append_record
from splade.surgery.codes import CodeReader, Codes, Transform, logits_of
from splade.surgery.fingerprint import snapshot
from splade.surgery.probes import probe_logits
from splade.surgery.record import Account, Record
from splade.training.optim import CosineAdamW

HeadWeights = dict[str, Tensor]
"""What of a head learns, by name."""

WARMUP = 0.1
"""Share of the steps over which the rate rises."""


@settings_dataclass(config=SETTINGS, frozen=True)
class RefitSettings:
    """How the head learns again."""

    refit_epochs: PositiveInt = 8
    """Passes of a refit over the training texts' codes; the weights kept are those of the pass with the lowest
    cross-entropy on validation texts."""
    refit_learning_rate: Positive = 1e-3
    """Learning rate of a refit: that of the head in training."""
    refit_batch_size: PositiveInt = 256
    """Texts a step of a refit."""
    refit_weight_decay: NonNegative = 0.01
    """Decoupled weight decay of a refit."""


@dataclass(frozen=True)
class Labelled:
    """Codes with what is to be said of each text."""

    codes: Codes
    labels: np.ndarray
    """(N,)."""
    weights: np.ndarray | None = None
    """(N,) how much each text counts; None: all the same."""


@dataclass(frozen=True)
class Refitted:
    """A head that has learned again."""

    weights: HeadWeights
    epoch: int
    """Whose weights these are; 0: those that the head had."""
    validation: list[float]
    """Cross-entropy on the validation texts, before and after each pass."""


def refit_head(
    model: LexicalModel,
    training: Labelled,
    validation: Labelled,
    settings: RefitSettings,
    *,
    seed: int,
    transform: Transform | None = None,
    advance: Callable[[int], None] = lambda epochs: None,
) -> Refitted:
    """The weights that a model's head takes on these codes; the model itself is left as it is.

    Args:
        training: codes of the training texts, less what is removed.
        validation: of others, on which the pass is chosen whose weights are kept.
        transform: what is done to the rows of a batch before the head.
    """
    reader, held_out = CodeReader(model, training.codes), CodeReader(model, validation.codes)
    labels = torch.from_numpy(np.asarray(training.labels, dtype=np.int64)).to(model.device)
    counts = None if training.weights is None else torch.from_numpy(training.weights).float().to(model.device)
    generator = np.random.default_rng(seed)
    size, texts = settings.refit_batch_size, len(training.codes)
    total = settings.refit_epochs * -(-texts // size)
    with _kept(model):
        learning = _learning(model)
        group = {"params": list(learning.values()), "lr": settings.refit_learning_rate}
        optimizer = CosineAdamW([group | {"weight_decay": settings.refit_weight_decay}], int(WARMUP * total), total)
        best, found = _copied(learning), [_cross_entropy(model, held_out, validation, transform)]
        epoch = 0
        for number in range(1, settings.refit_epochs + 1):
            order = generator.permutation(texts)
            for start in range(0, texts, size):
                chosen = order[start : start + size]
                rows = reader.rows(chosen)
                with torch.enable_grad():
                    logits = model.decide(transform(rows) if transform else rows).logits
                    loss = F.cross_entropy(logits, labels[chosen], reduction="none")
                    (loss.mean() if counts is None else (loss * counts[chosen]).mean()).backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            found.append(_cross_entropy(model, held_out, validation, transform))
            if not np.isfinite(found[-1]):
                raise TrainingError(
                    f"The refit's cross-entropy became {found[-1]} in pass {number}; lower refit_learning_rate (now "
                    f"{settings.refit_learning_rate:g})."
                )
            if found[-1] < found[epoch]:
                best, epoch = _copied(learning), number
            advance(1)
    return Refitted(best, epoch, found)


def _cross_entropy(model: LexicalModel, reader: CodeReader, data: Labelled, transform: Transform | None) -> float:
    """The mean over texts, each by its weight."""
    labels = torch.from_numpy(np.asarray(data.labels, dtype=np.int64))
    losses = F.cross_entropy(logits_of(model, reader, transform), labels, reduction="none").double().numpy()
    return float(np.average(losses, weights=data.weights))


@contextmanager
def with_head(model: LexicalModel, weights: HeadWeights) -> Iterator[None]:
    """Within, a model's head has other weights."""
    with _kept(model):
        _put(model, weights)
        yield


@contextmanager
def _kept(model: LexicalModel) -> Iterator[None]:
    """Within, a head may learn; after, it is as before."""
    learning = _learning(model)
    before = _copied(learning)
    try:
        yield
    finally:
        _put(model, before)
        for parameter in learning.values():
            parameter.grad = None


def _learning(model: LexicalModel) -> Mapping[str, Tensor]:
    return {name: parameter for name, parameter in model.head.named_parameters() if parameter.requires_grad}


def _copied(learning: Mapping[str, Tensor]) -> HeadWeights:
    return {name: parameter.detach().clone() for name, parameter in learning.items()}


@torch.no_grad()
def _put(model: LexicalModel, weights: HeadWeights) -> None:
    for name, parameter in _learning(model).items():
        parameter.copy_(weights[name])


def apply_refit(
    model: Any,
    refitted: Refitted,
    *,
    account: Account | None = None,
    probes: Sequence[Any] = (),
    key: Path | None = None,
) -> Record:
    """Give a model the refitted head for good; it is on its record, as a change of the model itself."""
    was = snapshot(model)
    before = probe_logits(model, probes) if probes else []
    old = _copied(_learning(model))
    account = account or Account(reason="The head was refitted; nothing else of the model learned.")
    _put(model, refitted.weights)
    try:
        after = probe_logits(model, probes) if probes else []
        asked = [
            {"text": text, "before": first, "after": second}
            for text, first, second in zip(probes, before, after, strict=True)
        ]
        return append_record(
            model, was, snapshot(model), operation="change", matched=Matched(()), account=account, probes=asked, key=key
        )
    except BaseException:  # a change without its record is none
        _put(model, old)
        raise
