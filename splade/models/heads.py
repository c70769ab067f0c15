"""Heads: from a sparse row to logits, and the exact linear map each input met. One class a kind, behind `HEADS`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import dataclasses as checked
from torch import Tensor, nn

from splade.config.numbers import Flag
from splade.config.variants import SETTINGS
from splade.models.linear_region import LinearRegion
from splade.models.sparse import SparseRows
from splade.registry import Registry

HEADS: Registry[type[Head]] = Registry("head")

# Start of the first layer's bias, where it has one: every unit begins open, so that the head begins as a linear map of
# the words.
INITIAL_BIAS = 0.1

# Spread of the tied head's mixing matrix at the start, where units have no bias: at zero none would ever open. A word
# training never met then says next to nothing, as its neighbours in meaning were trained.
INITIAL_MIX = 0.02

# Length of a word's embedding in the tied head: the sum over a sentence's few dozen active words of value ~2 is then
# about as large as a backbone's hidden state, for which the learning rates are made. Making the sum equally long on all
# data, however many tokens are active, cost a tagger 3 points of F1 in 300 steps and gained nothing on reviews.
EMBEDDING_NORM = 0.3

# The same where columns are there in several blocks, each of which hears one word, with a few active tokens. After 50
# steps on CoNLL-2003 cross-entropy was 0.64 with 0.3 and 0.47 with 1.0 (and more neighbours); no other was tried.
EMBEDDING_NORM_OF_BLOCKS = 1.0

# Spread of a B-cos head's word weights at the start: one stride of the optimiser, so that the words training meets soon
# outweigh those it never does, although a row of weights cannot start at zero and have a direction.
INITIAL_SPREAD = 1e-3

# How far the senses of a word start from one another in the head: far enough for the choice between them to matter.
SENSE_DIFFERENCE = 0.01

# Least length that a cosine divides by: a row without any active token has length 0.
SHORTEST = 1e-6


@dataclass(frozen=True)
class HeadParts:
    """What a model has at hand when its head is made."""

    embeddings: Tensor
    """(V, d) the frozen input embeddings, a row a vocabulary token."""
    hidden_size: int
    num_classes: int
    sense_of: Sequence[int] = ()
    """The token that each further column is a sense of."""
    open_words: int = 0
    """Columns, after the vocabulary's, for words that the tokenizer splits."""
    blocks: int = 1
    """How many times all these columns are there: once for each offset of a word from the one that it speaks for."""

    @property
    def vocab_size(self) -> int:
        return len(self.embeddings) + self.open_words


class Head(nn.Module, ABC):
    """Base of all heads."""

    words: Tensor
    """(V, ·): a row a column of the sparse vector, further senses left out where they follow from their token's."""

    words_from_meaning: ClassVar[bool] = False
    """Whether a row of `words` follows from what a word means, so that words never met in training can have one."""

    has_blocks: ClassVar[bool] = False
    """Whether the columns may be there several times, and mean something else each time (`HeadParts.blocks`)."""

    @property
    def constant_bias(self) -> bool:
        """Whether b_eff is the same for every input."""
        return getattr(self, "bias", None) is None

    @abstractmethod
    def forward(self, rows: SparseRows) -> tuple[Tensor, LinearRegion]:
        """Logits (R, C), and the affine map that gives them."""


@checked.dataclass(config=SETTINGS, frozen=True)
class MLPSettings:
    """What is said where no word says anything."""

    hidden_bias: Flag = False
    """Whether the head's hidden units have a bias of their own. Without it, what no word adds to a logit is one number
    for all texts, the prior, and an empty text gets just that; with it, as in the paper, it depends on which units the
    words open, and so sides with them."""


@HEADS.register("relu_mlp")
class ReluMLP(Head):
    """Linear(V, H) → ReLU → Linear(H, C), in float32.

    With D = 1[W₁s + b₁ > 0]:  W_eff = W₂·diag(D)·W₁ and b_eff = W₂·diag(D)·b₁ + b₂ (Balestriero & Baraniuk, 2018).
    Without b₁ (`hidden_bias`), b_eff = b₂ for every input: the prior.

    The output layer is centred over the classes (W₂ − mean_c W₂, b₂ alike). No probability changes by it, because
    softmax ignores what all logits share; but a contribution then says what a word does for one class *rather than
    the others*, and with two classes the reasons for one are exactly the reasons against the other.
    """

    Settings = MLPSettings

    def __init__(self, parts: HeadParts, settings: MLPSettings):
        super().__init__()
        # W₁ᵀ: a row a token, read only where active. With a bias it starts at zero: a word training never met says
        # nothing; without one, no unit would ever open, and such a word says next to nothing.
        words = torch.zeros(parts.vocab_size, parts.hidden_size)
        if not settings.hidden_bias:
            words.normal_(0, INITIAL_SPREAD)
        self.words = nn.Parameter(_with_senses(words, parts.sense_of))
        self.bias = _hidden_bias(parts.hidden_size, settings)
        self.out = nn.Linear(parts.hidden_size, parts.num_classes)

    def forward(self, rows: SparseRows) -> tuple[Tensor, LinearRegion]:
        total = F.embedding_bag(rows.token, self.words, rows.offsets, mode="sum", per_sample_weights=rows.value)
        logits, upstream, b_eff = _after_first_layer(total, self.bias, self.out)  # total: (R, H)
        return logits, LinearRegion(upstream, self.words, b_eff)


@HEADS.register("tied_mlp")
class TiedMLP(Head):
    """The ReLU MLP with its first layer tied to the frozen embeddings: W₁ᵀ = E·A, with A (d, H) learned.

    What a word says is then a smooth function of what it means: near synonyms speak alike, and a rare word speaks as
    its neighbours do instead of by the few labels it was seen with. E is centred (all embeddings share a direction
    that only counts tokens) and its rows scaled to one length. Of several blocks of columns each has an A of its
    own: what a word says of another depends on where it stands.
    """

    Settings = MLPSettings
    words_from_meaning = has_blocks = True

    def __init__(self, parts: HeadParts, settings: MLPSettings):
        super().__init__()
        embeddings, width = parts.embeddings, parts.embeddings.shape[1]
        norm = EMBEDDING_NORM if parts.blocks == 1 else EMBEDDING_NORM_OF_BLOCKS
        table = norm * F.normalize(embeddings - embeddings.mean(0), dim=1)
        table = F.pad(table, (0, 0, 0, parts.open_words))  # filled in as these words are met
        # (V, d), in float32: the row of a split word is read anew wherever it is met, and half precision would round
        # what differs in the last place by the batch around it to what moves a logit by 1e-4.
        self.register_buffer("words", table)
        self.sense_of = list(parts.sense_of)
        if self.sense_of:  # a further sense is its token's embedding and an offset of its own
            self.offset = nn.Parameter(SENSE_DIFFERENCE * torch.randn(len(self.sense_of), width))
        self.blocks = parts.blocks
        # A, one after another; at zero no word says anything.
        self.mix = nn.Parameter(torch.zeros(parts.blocks * width, parts.hidden_size))
        if not settings.hidden_bias:
            nn.init.normal_(self.mix, 0, INITIAL_MIX)
        self.bias = _hidden_bias(parts.hidden_size, settings)
        self.out = nn.Linear(parts.hidden_size, parts.num_classes)

    def forward(self, rows: SparseRows) -> tuple[Tensor, LinearRegion]:
        words = self.words
        if self.sense_of:
            words = torch.cat([words, words[self.sense_of] + self.offset])
        tokens, entry = (rows.token % len(words)).unique(return_inverse=True)
        table = words[tokens]  # (U, d)
        # Σ s·(E·A) or (Σ s·E)·A, whichever mixes less
        mix_first = self.blocks == 1 and len(tokens) < rows.num_rows
        table = table @ self.mix if mix_first else table
        sums = rows.row * self.blocks + rows.token // len(words)  # (N,): ascending, as the entries are
        counts = sums.bincount(minlength=rows.num_rows * self.blocks)
        total = F.embedding_bag(entry, table, counts.cumsum(0) - counts, mode="sum", per_sample_weights=rows.value)
        total = total if mix_first else total.view(rows.num_rows, len(self.mix)) @ self.mix  # (R, H)
        logits, upstream, b_eff = _after_first_layer(total, self.bias, self.out)
        return logits, LinearRegion(upstream, words, b_eff, self.mix)


@checked.dataclass(config=SETTINGS, frozen=True)
class BcosSettings:
    """How deep."""

    only_if_chosen: ClassVar = True

    head_layers: Literal[2, 3] = 2
    """Layers of a ``bcos`` head, which is exact at any depth; the other heads have 2."""


@HEADS.register("bcos")
class BcosHead(Head):
    """B-cos layers (Böhle et al., 2022) with B = 2, two or three of them: s → H (→ H) → C, in float32, without a bias.

        out[i] = √n·|cos(x, w_i)|^(B−1)·ŵ_i·x,      ŵ_i = w_i/‖w_i‖,  n = number of inputs

    Each layer scales the rows of a fixed matrix by numbers that depend on its input, so at any depth the head is a
    linear map of s, exactly: W_eff(s) = diag(a_k)·Ŵ_k ⋯ diag(a_1)·Ŵ_1 with a_i = √n·|cos(x, w_i)|, and b_eff = 0. The
    map is that of this input alone: leave a word out, and the scales change too. A unit speaks up only for inputs that
    point where its weights do, so training turns weights towards the words that matter. √n undoes that directions in n
    dimensions are nearly orthogonal to begin with (|cos| ≈ 1/√n). The logits are centred over the classes, as a ReLU
    head's are.
    """

    Settings = BcosSettings

    def __init__(self, parts: HeadParts, settings: BcosSettings):
        super().__init__()
        words = INITIAL_SPREAD * torch.randn(parts.vocab_size, parts.hidden_size)
        self.words = nn.Parameter(_with_senses(words, parts.sense_of))  # W₁ᵀ: a row a token
        sizes = [parts.hidden_size] * (settings.head_layers - 1) + [parts.num_classes]
        self.layers = nn.ParameterList(torch.randn(m, n) / math.sqrt(n) for n, m in pairwise(sizes))  # W₂ …

    def forward(self, rows: SparseRows) -> tuple[Tensor, LinearRegion]:
        total = F.embedding_bag(rows.token, self.words, rows.offsets, mode="sum", per_sample_weights=rows.value)
        lengths = _length(self.words, 0)  # (H,): ‖w_i‖, which goes into the scale, so that no second table is made
        size = rows.sum_rows(rows.value**2).clamp(min=SHORTEST**2).sqrt()  # (R,): ‖s‖
        scales = [math.sqrt(len(self.words)) * total.abs() / lengths**2 / size[:, None]]  # (R, H)
        x, matrices = scales[0] * total, []
        for weight in self.layers:
            matrix = weight / _length(weight, 1)[:, None]  # (m, n): Ŵ
            product = x @ matrix.T  # (R, m)
            scale = math.sqrt(matrix.shape[1]) * product.abs() / _length(x, 1)[:, None]
            x = scale * product
            matrices.append(matrix)
            scales.append(scale)
        upstream = torch.diag_embed(scales[-1])  # (R, C, C)
        for scale, matrix in zip(reversed(scales[:-1]), reversed(matrices), strict=True):
            upstream = (upstream @ matrix) * scale[:, None, :]  # (R, C, H)
        upstream = upstream - upstream.mean(1, keepdim=True)
        return x - x.mean(1, keepdim=True), LinearRegion(upstream, self.words, torch.zeros_like(x))


def _with_senses(words: Tensor, sense_of: Sequence[int]) -> Tensor:
    """A table of words with rows for the further senses of some: the word's row and a small difference."""
    if not sense_of:
        return words
    again = words[list(sense_of)]
    return torch.cat([words, again + SENSE_DIFFERENCE * torch.randn_like(again)])


def _length(x: Tensor, dim: int) -> Tensor:
    """‖x‖ along a dimension, fit to divide by."""
    return torch.linalg.vector_norm(x, dim=dim).clamp(min=SHORTEST)


def _hidden_bias(units: int, settings: MLPSettings) -> nn.Parameter | None:
    """b₁ (H,)."""
    return nn.Parameter(torch.full((units,), INITIAL_BIAS)) if settings.hidden_bias else None


def _after_first_layer(total: Tensor, bias: Tensor | None, out: nn.Linear) -> tuple[Tensor, Tensor, Tensor]:
    """From W₁s (R, H): logits (R, C), derivative of each logit with respect to W₁s (R, C, H), and b_eff (R, C)."""
    pre = total if bias is None else total + bias  # (R, H)
    weight = out.weight - out.weight.mean(0)  # (C, H): centred over the classes
    centred_bias = out.bias - out.bias.mean()  # (C,)
    logits = F.linear(F.relu(pre), weight, centred_bias)
    open_units = (pre > 0).to(pre.dtype)  # (R, H): D, constant on the region
    upstream = open_units[:, None, :] * weight  # (R, C, H)
    b_eff = centred_bias.expand_as(logits) if bias is None else upstream @ bias + centred_bias
    return logits, upstream, b_eff
