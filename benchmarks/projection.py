"""Vocabulary projection + gate + maximum over positions, on random hidden states, on the CPU.

Three rivals: the bare product h·Eᵀ, which no exact method can do without; the plain version, which holds [B, L, V] and
lets autograd go back through it; and ours. The decoder E is frozen, as it is by default: a trained one would cost the
plain version a third product of that size and ours next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.measure import Goal, Result, Rival, Work, compare, seconds_ratio
from splade.models.backbone import Backbone
from splade.models.encoder import LexicalEncoder, SparseSequence
from splade.models.layers.activation import JumpReLUGate, _JumpReLU
from splade.models.supports import FullSupport, SupportParts
from splade.models.vocabulary import Vocabulary
from splade.utils.cuda import BYTES_PER_MB, available_memory_mb, pick_dtype

GEMM, PLAIN, PLAIN_STEP = "bare product", "plain forward", "plain forward + backward"
BYTES = 4  # of a float32

# Texts the thresholds are read from: random ones are all alike.
CALIBRATION_TEXTS = 4
# A trained model's rule (`LexicalSAE.calibrate`): scores are measured in units of the one at a sixteenth of the rank.
SCALE_RANK = 16

# Blocks of columns the bare product is done in where its whole output does not fit; one buffer serves all.
BLOCKS = 8
# Share of the free memory the bare product's output may take, beside the processes of its rivals.
OUTPUT_SHARE = 0.5

# Longer texts must add something: a copy of h, its gradient and a scan's tile, together (2·d + 512) of the V columns
# that [B, L, V] adds, which is 4 %. Twice that leaves room for the allocator's habits.
LARGEST_ADDED = 0.08


@dataclass(frozen=True)
class Size:
    """Texts B, positions L, width d, vocabulary V, and the tokens a text that pass the gate."""

    batch: int = 32
    length: int = 64
    width: int = 384
    vocab: int = 30_522
    active: int = 100

    @property
    def logits_mb(self) -> float:
        """What [B, L, V] takes in float32."""
        return self.batch * self.length * self.vocab * BYTES / BYTES_PER_MB


@dataclass(frozen=True)
class Problem:
    """The same inputs for every rival: they come from one seed."""

    encoder: LexicalEncoder
    sequence: SparseSequence
    coefficients: Tensor
    """(B, V): the loss is Σ coefficients·s, so that every active token has a gradient of its own."""


Loss = Callable[[Problem], tuple[Tensor, dict[str, float]]]


def make_problem(size: Size, training: bool) -> Problem:
    """Random h, unit rows E, and thresholds that about `size.active` tokens a text pass."""
    torch.manual_seed(0)
    weight = F.normalize(torch.randn(size.vocab, size.width), dim=1)  # (V, d)
    nothing = torch.zeros(size.vocab, dtype=torch.bool)
    vocabulary = cast(
        Vocabulary, SimpleNamespace(stop=nothing, special=nothing, tokens=size.vocab)
    )  # all that this support reads
    support = FullSupport(SupportParts(vocabulary, False, cast(Backbone, None)))
    encoder = LexicalEncoder(weight, torch.zeros(size.vocab), JumpReLUGate(size.vocab), [support], False)
    hidden = torch.randn(size.batch, size.length, size.width).to(pick_dtype(torch.device("cpu")))  # (B, L, d)
    positions = torch.zeros(size.batch, size.length, dtype=torch.long)  # (B, L): this support reads no token
    sequence = SparseSequence(hidden, positions, torch.ones_like(positions), encoder)
    few = replace(
        sequence,
        hidden=hidden[:CALIBRATION_TEXTS],
        input_ids=positions[:CALIBRATION_TEXTS],
        attention_mask=sequence.attention_mask[:CALIBRATION_TEXTS],
    )
    # Means, because a median is one of the scores, and whether that one passes itself would be for rounding to say.
    ranked = encoder.pooled_scores(few).view(-1, size.vocab).sort(1, descending=True).values  # (texts, V)
    theta = float(ranked[:, size.active - 1].mean())
    strong = float(ranked[:, max(1, round(size.active / SCALE_RANK)) - 1].mean())
    encoder.gate.calibrate(theta, strong)
    hidden.requires_grad_(training)
    return Problem(encoder.train(training), sequence, torch.randn(size.batch, size.vocab))


def plain_pool(problem: Problem) -> Tensor:
    """(B, V) by way of [B, L, V]: scores, gate, maximum."""
    encoder = problem.encoder
    z = F.linear(problem.sequence.hidden.float(), encoder.weight, encoder.bias)  # (B, L, V)
    gated = _JumpReLU.apply(z, encoder.gate.theta.expand_as(z), encoder.gate.bandwidth)
    return gated.amax(1)  # (B, V)


def plain_loss(problem: Problem) -> tuple[Tensor, dict[str, float]]:
    pooled = plain_pool(problem)
    return (pooled * problem.coefficients).sum(), {"active": float(torch.count_nonzero(pooled)) / len(pooled)}


def our_loss(problem: Problem) -> tuple[Tensor, dict[str, float]]:
    rows, _ = problem.encoder.pool(problem.sequence)
    loss = (rows.value * problem.coefficients[rows.row, rows.token]).sum()
    # In training, entries just below their threshold are kept for θ's sake; `kept` says how many that makes in all.
    facts = {"active": float(torch.count_nonzero(rows.value)), "kept": float(len(rows))}
    return loss, {name: total / rows.num_rows for name, total in facts.items()}


def build_gemm(size: Size, blocks: int) -> Work:
    """h·Eᵀ in the scan's precision, into memory that is there already: the product and nothing else."""
    dtype = pick_dtype(torch.device("cpu"))
    rows = torch.randn(size.batch * size.length, size.width).to(dtype)  # (B·L, d)
    parts = torch.randn(size.vocab, size.width).to(dtype).chunk(blocks)
    out = torch.empty(len(rows) * len(parts[0]), dtype=dtype)

    def work() -> dict[str, float]:
        for part in parts:
            torch.mm(rows, part.T, out=out[: len(rows) * len(part)].view(len(rows), len(part)))
        return {"blocks": float(blocks)}

    return work


def build(size: Size, loss_of: Loss, backward: bool) -> Work:
    """The forward pass as in use (nothing kept for gradients), or forward and backward as in training."""
    problem = make_problem(size, training=backward)

    def forward() -> dict[str, float]:
        with torch.no_grad():
            return loss_of(problem)[1]

    def step() -> dict[str, float]:
        loss, facts = loss_of(problem)
        loss.backward()
        problem.encoder.zero_grad(set_to_none=True)  # after and not before: gradients belong to this call's memory
        problem.sequence.hidden.grad = None
        return facts

    return step if backward else forward


def ours(size: Size, backward: bool) -> Rival:
    """Our rival at one size, named by what varies."""
    name = f"ours {'forward + backward' if backward else 'forward'}, {size.active} active, L={size.length}"
    return Rival(name, build, {"size": size, "loss_of": our_loss, "backward": backward})


def plain(size: Size, backward: bool) -> Rival:
    return Rival(PLAIN_STEP if backward else PLAIN, build, {"size": size, "loss_of": plain_loss, "backward": backward})


def run(
    rounds: int = 7,
    vocabularies: Sequence[int] = (30_522, 250_000),
    actives: Sequence[int] = (100, 300),
    lengths: Sequence[int] = (32, 64, 128),
    shape: Size | None = None,
) -> list[Result]:
    """One result a vocabulary, and one over text lengths. The plain version runs with the smallest vocabulary only."""
    shape = shape or Size()
    small = min(vocabularies)
    sizes = [replace(shape, vocab=vocab) for vocab in vocabularies]
    results = [_against_rivals(size, actives, size.vocab == small, rounds) for size in sizes]
    return [*results, _over_lengths(replace(shape, vocab=small, active=actives[0]), lengths, rounds)]


def _against_rivals(size: Size, actives: Sequence[int], with_plain: bool, rounds: int) -> Result:
    fits = size.logits_mb < OUTPUT_SHARE * available_memory_mb()
    gemm = Rival(GEMM, build_gemm, {"size": size, "blocks": 1 if fits else BLOCKS})
    densities = [replace(size, active=active) for active in actives]
    rivals = [gemm, *(ours(each, backward) for each in densities for backward in (False, True))]
    if with_plain:
        rivals += [plain(densities[0], backward) for backward in (False, True)]
    found = compare(rivals, rounds)
    goals = []
    for each in densities:
        forward, step = found[ours(each, False).name], found[ours(each, True).name]
        at = f"V={size.vocab:,}, {each.active} active"
        goals.append(
            Goal(f"{at}: forward, times the bare product's seconds", seconds_ratio(forward, found[GEMM]), 1.3, True)
        )
        if with_plain:
            faster = seconds_ratio(found[PLAIN_STEP], step)
            memory = step.growth_mb / found[PLAIN_STEP].growth_mb
            goals += [
                Goal(f"{at}: forward + backward, times faster than the plain version", faster, 4.0, False),
                Goal(f"{at}: peak memory, share of the plain version's", memory, 0.25, True),
            ]
    title = f"Projection, gate and maximum, V={size.vocab:,}"
    return Result(title, _setting(size, active=list(actives), rounds=rounds), list(found.values()), goals)


def _over_lengths(size: Size, lengths: Sequence[int], rounds: int) -> Result:
    """Peak memory while L·V grows."""
    sizes = [replace(size, length=length) for length in lengths]
    found = compare([ours(each, True) for each in sizes], rounds)
    first, last = (found[ours(each, True).name] for each in (sizes[0], sizes[-1]))
    added = (last.growth_mb - first.growth_mb) / (sizes[-1].logits_mb - sizes[0].logits_mb)
    what = f"L={lengths[0]} to {lengths[-1]}: memory added, share of what [B, L, V] adds"
    goals = [Goal(what, added, LARGEST_ADDED, True)]
    title = f"Memory over text lengths, V={size.vocab:,}"
    return Result(
        title, _setting(size, length=list(lengths), active=size.active, rounds=rounds), list(found.values()), goals
    )


def _setting(size: Size, **more: object) -> dict[str, object]:
    scan = str(pick_dtype(torch.device("cpu"))).removeprefix("torch.")
    return {"batch": size.batch, "length": size.length, "width": size.width, "vocab": size.vocab, "scan": scan, **more}
