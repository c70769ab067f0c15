"""The affine map that a head applies to an input, from which all effective weights are read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from splade.models.projection import pair_dot


@dataclass(frozen=True)
class LinearRegion:
    """The affine map that the head applies to an input: logit[c] = Σ_j s[j]·W_eff[c, j] + b_eff[c].

    A ReLU head has the same one for all inputs of a region, a B-cos head one for every input.
    W_eff[c] = upstream[c] @ W₁, which is never formed whole unless asked for.
    """

    upstream: Tensor
    """(R, C, H): what each logit takes of the first layer's product W₁s."""
    words: Tensor
    """(T, H), or (T, d) with a `mix`: the first layer's weights, a row a vocabulary token; may be stored in half
    precision."""
    b_eff: Tensor
    """(R, C)."""
    mix: Tensor | None = None
    """(blocks·d, H): the first layer's weights are words·mix; None: the words themselves. Applied where somebody asks,
    since most who run a head want its logits alone. With several blocks, the columns of a row are the tokens once for
    each, V = blocks·T, and every block has a mix of its own."""

    @property
    def blocks(self) -> int:
        return 1 if self.mix is None else len(self.mix) // self.words.shape[1]

    def take(self, rows: Tensor) -> LinearRegion:
        """Of some rows (K,) only."""
        return replace(self, upstream=self.upstream.index_select(0, rows), b_eff=self.b_eff.index_select(0, rows))

    def of_class(self, classes: Tensor) -> Tensor:
        """(R, H), or (R, blocks·d) with a `mix`: what the logit of one class a row takes of each column of `words`."""
        return self._of_words(self.upstream[torch.arange(len(classes), device=classes.device), classes])

    def entries(self, classes: Tensor, row: Tensor, column: Tensor) -> Tensor:
        """(N,) W_eff of one class a row, `classes` (R,), for chosen rows and columns (N,)."""
        tokens, width = self.words.shape
        upstream = self.of_class(classes).reshape(-1, width)  # (R·blocks, ·)
        return pair_dot(upstream, self.words, row * self.blocks + column // tokens, column % tokens)

    def columns(self, chosen: Tensor) -> Tensor:
        """(R, C, K) W_eff of chosen columns (K,)."""
        tokens, width = self.words.shape
        upstream = self._of_words(self.upstream).unflatten(-1, (self.blocks, width))  # (R, C, blocks, ·)
        out = self.upstream.new_empty(*self.upstream.shape[:2], len(chosen))
        for block in range(self.blocks):
            inside = (chosen // tokens == block).nonzero(as_tuple=True)[0]
            words = self.words.index_select(0, chosen[inside] % tokens).to(out.dtype)
            out[..., inside] = upstream[:, :, block] @ words.T
        return out

    def dense(self) -> Tensor:
        """(R, C, V) W_eff whole."""
        upstream = self._of_words(self.upstream).unflatten(-1, (self.blocks, self.words.shape[1]))
        return (upstream @ self.words.to(self.upstream.dtype).T).flatten(-2)

    def _of_words(self, upstream: Tensor) -> Tensor:
        return upstream if self.mix is None else upstream @ self.mix.T
