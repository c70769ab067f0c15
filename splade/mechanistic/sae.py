"""Post-hoc sparse autoencoders: a hidden state as a few of many learned directions, and an error.

    x = (h − μ) / σ                     μ the mean of the vectors it is fitted to, σ² their mean variance a dimension
    a = encoder(x) ≥ 0                  (N, M) codes, most of them 0
    x̂ = Σ_f a_f·d_f + b                 d_f of length 1
    FVU = Σ‖h − ĥ‖² / Σ‖h − mean h‖²    the fraction of variance unexplained

They are what our model is compared with: it decides by named words and leaves no error, a post-hoc autoencoder explains
a model that is there already, as far as it reconstructs it. Two ways to be sparse go through one training loop: `topk`
keeps the k largest codes of a vector (Gao et al. 2024, arXiv:2406.04093; through `eai-sparsify`, the extra `sae`), and
`relu` adds λ·‖a‖₁ to the error. The control of both is a decoder of random directions that never learns (the "frozen
decoder" of Korznikov et al. 2026, arXiv:2602.14111): what it reaches too, no learned direction can take credit for.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import metadata
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from splade.errors import ConfigError

Kind = Literal["topk", "relu"]

DISTRIBUTION = "eai-sparsify"
"""On PyPI; its module is called `sparsify`, as that of another package is."""

BATCH = 512
"""Vectors a step."""

LEARNING_RATE = 3e-3
"""Of Adam, constant and then falling to 0; for the few hundred steps that a processor has time for."""

DECAY = 0.3
"""The share of the steps, the last ones, over which the learning rate falls to 0."""

FIRST_PENALTY, LEAD = 0.1, 0.03
"""λ of the L1 penalty at first; and how fast it is led to where as many codes are active as asked for: each step, its
logarithm by this times that of how many times too many are."""

FIRST_ACTIVE, THINNING = 4.0, 0.5
"""How many times as many codes are active at first, so that directions form while there are many; and the share of the
steps after which no more are to be than asked for."""

START_VECTORS, GAIN_VECTORS = 4096, 8192
"""Vectors that the thresholds of an L1 autoencoder start from, and that its gains are found by in the end."""

RIDGE = 1e-3
"""Added to the diagonal of their normal equations, in units of its mean: some codes are hardly ever active."""


class SparseAutoencoder(nn.Module, ABC):
    """An encoder to many codes, of which few are active, and a decoder of as many directions.

    `encode`, `decode` and `loss` are in the units of x; `codes` and `reconstruct` take and give hidden states.
    """

    decoder: nn.Parameter
    """(M, d) directions of length 1."""
    shift: nn.Parameter
    """(d,) b."""
    centre: Tensor
    scale: Tensor

    def standardise_by(self, vectors: Tensor) -> None:
        """Take μ (d,) and σ (one number) from the vectors (N, d) that it is to be fitted to."""
        self.register_buffer("centre", vectors.mean(0))
        self.register_buffer("scale", vectors.var(0, unbiased=False).mean().sqrt().clamp(min=1e-6))

    @abstractmethod
    def encode(self, x: Tensor) -> Tensor:
        """(N, d) -> (N, M)."""

    @abstractmethod
    def loss(self, x: Tensor, done: float) -> Tensor:
        """Of a batch (N, d): what is minimised; `done`: the share of the steps that are past."""

    def start(self, x: Tensor) -> None:
        """What is to do before the first step, with some of the vectors (N, d) it is fitted to."""

    def finish(self, x: Tensor) -> None:
        """What is left to do after the last step, with the same."""

    def decode(self, codes: Tensor) -> Tensor:
        """(N, M) -> (N, d)."""
        return codes @ self.decoder + self.shift

    def codes(self, hidden: Tensor) -> Tensor:
        """Hidden states (N, d) -> codes (N, M)."""
        return self.encode((hidden - self.centre) / self.scale)

    def reconstruct(self, codes: Tensor) -> Tensor:
        """Codes (N, M) -> hidden states (N, d)."""
        return self.centre + self.scale * self.decode(codes)

    @property
    def directions(self) -> Tensor:
        """(M, d) what a code of 1 adds to a hidden state."""
        return self.scale * self.decoder

    @property
    def origin(self) -> Tensor:
        """(d,) the hidden state without any active code."""
        return self.centre + self.scale * self.shift


class TopK(SparseAutoencoder):
    """`eai-sparsify`'s autoencoder: the k largest codes of each vector, the others 0; the loss is the FVU."""

    def __init__(self, width: int, features: int, active: int):
        super().__init__()
        SparseCoder, settings = sparsify(num_latents=features, k=min(active, features))
        self.coder = SparseCoder(width, settings)
        self.decoder, self.shift = self.coder.W_dec, self.coder.b_dec

    def encode(self, x: Tensor) -> Tensor:
        values, places, _ = self.coder.encode(x)  # (N, k) each
        return x.new_zeros(len(x), self.coder.num_latents).scatter(1, places, values.to(x.dtype))

    def loss(self, x: Tensor, done: float) -> Tensor:
        return self.coder(x).fvu


class ReLUWithL1(SparseAutoencoder):
    """a = g·ReLU(Wx + c), minimising FVU + λ·‖a‖₁/√d; λ is led to where `active` codes a vector are not 0.

    The penalty makes all codes too small (Wright and Sharkey 2024 call it feature suppression). So in the end each gets
    the gain g that leaves the least error, which changes nothing about which codes are active.
    """

    gain: Tensor
    """(M,)."""

    def __init__(self, width: int, features: int, active: float):
        super().__init__()
        self.encoder = nn.Linear(width, features)
        self.decoder = nn.Parameter(F.normalize(torch.randn(features, width), dim=1))
        self.shift = nn.Parameter(torch.zeros(width))
        self.register_buffer("gain", torch.ones(features))
        self.active, self.penalty = active, FIRST_PENALTY
        with torch.no_grad():  # an autoencoder starts as its own transpose
            self.encoder.weight.copy_(self.decoder)
            self.encoder.bias.zero_()

    def encode(self, x: Tensor) -> Tensor:
        return self.gain * F.relu(self.encoder(x))

    def loss(self, x: Tensor, done: float) -> Tensor:
        codes = self.encode(x)
        active = float((codes > 0).sum(1).float().mean())
        wanted = self.active * FIRST_ACTIVE ** max(0.0, 1 - done / THINNING)
        self.penalty *= (max(active, wanted / 10) / wanted) ** LEAD
        return fvu(x, self.decode(codes)) + self.penalty * codes.sum(1).mean() / x.shape[1] ** 0.5

    @torch.no_grad()
    def start(self, x: Tensor) -> None:
        """Thresholds at the quantile of each code that FIRST_ACTIVE times as many as asked for exceed: the steps are
        too few for thresholds to come that far by themselves, and encoders would shrink instead."""
        share = min(0.5, FIRST_ACTIVE * self.active / len(self.decoder))
        self.encoder.bias.copy_(-self.encoder(x[:START_VECTORS]).quantile(1 - share, dim=0))

    @torch.no_grad()
    def finish(self, x: Tensor) -> None:
        """min_g Σ‖x − b − Σ_f g_f·a_f·d_f‖², whose normal equations are ((AᵀA)∘(DDᵀ))·g = diag(Aᵀ(X − b)Dᵀ)."""
        codes, rest = self.encode(x), x - self.shift  # (N, M), (N, d)
        system = (codes.T @ codes) * (self.decoder @ self.decoder.T)  # (M, M)
        system.diagonal().add_(RIDGE * system.diagonal().mean() + torch.finfo(x.dtype).tiny)
        answer = ((codes.T @ rest) * self.decoder).sum(1)  # (M,)
        self.gain.copy_(torch.linalg.solve(system, answer).clamp(min=0))


def fvu(vectors: Tensor, reconstructed: Tensor) -> Tensor:
    """The fraction of the variance of some vectors (N, d) that their reconstruction leaves unexplained."""
    return (vectors - reconstructed).pow(2).sum() / (vectors - vectors.mean(0)).pow(2).sum()


def sparsify(num_latents: int, k: int) -> tuple[Any, Any]:
    """The class of TopK autoencoders and its settings."""
    if not has_sparsify():
        raise ConfigError(
            f"TopK autoencoders need {DISTRIBUTION}, which is not installed; pip install 'lexical-sae[sae]', or choose "
            "the kind 'relu'."
        )
    with redirect_stdout(io.StringIO()):  # it prints that there is no Triton, which only graphics cards need
        from sparsify import SparseCoder, SparseCoderConfig  # an extra, and seconds to load

    return SparseCoder, SparseCoderConfig(num_latents=num_latents, k=k)


def has_sparsify() -> bool:
    """Whether TopK autoencoders can be had."""
    return sparsify_version() is not None


def sparsify_version() -> str | None:
    """Of the package that is installed; None: it is not."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None


KINDS: dict[Kind, type[TopK] | type[ReLUWithL1]] = {"topk": TopK, "relu": ReLUWithL1}


def fit_autoencoder(
    kind: Kind,
    vectors: Tensor,
    *,
    features: int,
    active: int,
    random_decoder: bool = False,
    steps: int,
    seed: int,
    advance: Callable[[int], None] = lambda steps: None,
) -> SparseAutoencoder:
    """An autoencoder of `features` codes, about `active` of them not 0 a vector, fitted to vectors (N, d).

    `random_decoder`: its directions stay as they were drawn, and only the encoder and b learn: the control.
    """
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        autoencoder: SparseAutoencoder = KINDS[kind](vectors.shape[1], features, active)
        autoencoder.standardise_by(vectors)
        autoencoder.to(vectors.device)
        autoencoder.decoder.requires_grad_(not random_decoder)
        learning = [parameter for parameter in autoencoder.parameters() if parameter.requires_grad]
        optimizer = torch.optim.Adam(learning, LEARNING_RATE)
        some = (vectors[:GAIN_VECTORS] - autoencoder.centre) / autoencoder.scale
        autoencoder.start(some)
        for step in range(steps if bool((vectors != vectors[:1]).any()) else 0):  # vectors all alike teach nothing
            optimizer.param_groups[0]["lr"] = LEARNING_RATE * min(1.0, (1 - step / steps) / DECAY)
            chosen = torch.randint(len(vectors), (BATCH,)).to(vectors.device)
            x = (vectors[chosen] - autoencoder.centre) / autoencoder.scale
            _learn(autoencoder, optimizer, x, step / steps)
            advance(1)
        autoencoder.finish(some)
    return autoencoder.requires_grad_(False).eval()


def _learn(autoencoder: SparseAutoencoder, optimizer: torch.optim.Optimizer, x: Tensor, done: float) -> None:
    """A step on a batch; directions keep the length 1, so that codes cannot shrink while directions grow."""
    optimizer.zero_grad()
    autoencoder.loss(x, done).backward()
    decoder = autoencoder.decoder
    if decoder.grad is not None:
        decoder.grad -= (decoder.grad * decoder.detach()).sum(1, keepdim=True) * decoder.detach()
    optimizer.step()
    if decoder.requires_grad:
        decoder.data = F.normalize(decoder.data, dim=1)
