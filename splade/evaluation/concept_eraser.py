"""The least change of features after which no linear rule can tell groups: LEACE (Belrose et al., arXiv:2306.03819).

    x' = x − Σ^(1/2) U Uᵀ Σ^(−1/2) (x − E x),   U an orthonormal basis of the columns of Σ^(−1/2) Cov(x, z)

so that Cov(x', z) = 0. A fitter gathers the moments batch by batch, in float64; a frozen eraser applies the formula.

Features and groups are standardised before the formula is solved. The library cuts off singular values below 0.01 of a
0/1 label as it comes, whose spread is 0.05 where 0.3 % of the texts are about a group: a correlation of 0.16 is then
below that, and nothing at all is erased, without a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from splade.errors import DataError, listed

MOST_LEFT = 1e-6
"""Correlation with a group, of any column, from which on it does not count as erased."""

SMALLEST_SINGULAR = 1e-9
"""Directions that tell less of the standardised groups are left alone; it must be far below `MOST_LEFT`, and far above
what rounding makes of two groups that are the same texts."""

ROUNDING = 1e-6
"""Share of its spread below which what is left of a column is not divided by its own spread: it is rounding."""

CONSTANT = 1e-10
"""Spread of a column, in shares of its mean, that is rounding."""

Array = TypeVar("Array", np.ndarray, Tensor)


@dataclass(frozen=True)
class ErasedGroup:
    """One group in the texts that an eraser was fitted on."""

    texts: int
    """About the group."""
    before: float
    """Largest |correlation| of any column with being about the group."""
    left: float
    """The same after the erasure."""


@dataclass(frozen=True)
class ConceptEraser:
    """What takes groups out of features: call it with features (..., d)."""

    groups: dict[str, ErasedGroup]
    texts: int
    """That it was fitted on."""
    mean: Tensor
    """(d,) of the features, which erasing does not move."""
    left: Tensor
    """(d, G)."""
    right: Tensor
    """(G, d); x' = x − left · right · (x − mean)."""

    def __call__(self, features: Array) -> Array:
        """Features (..., d) without the groups, in the precision that they came in (computed in float64)."""
        if isinstance(features, np.ndarray):
            return self._erased(torch.tensor(features)).numpy()
        return self._erased(features)

    def _erased(self, features: Tensor) -> Tensor:
        if features.shape[-1] != len(self.mean):
            raise DataError(
                f"The eraser was fitted on {len(self.mean)} columns, but these features have {features.shape[-1]}; "
                "give features of the same model and kind."
            )
        mean, left, right = (each.to(features.device) for each in (self.mean, self.left, self.right))
        exact = features.to(torch.float64)
        return (exact - (exact - mean) @ right.T @ left.T).to(features.dtype)


class ConceptEraserFitter:
    """Gathers the moments of features (n, d) and groups (n, G) batch by batch; `result` is the eraser."""

    def __init__(self, width: int, groups: Sequence[str]):
        from concept_erasure import LeaceFitter  # loaded where it is needed

        if not groups:
            raise DataError("There is no group to erase; give one or more groups.")
        self.groups = tuple(groups)
        self._moments: Any = LeaceFitter(width, len(groups), dtype=torch.float64)
        self._counts = torch.zeros(len(groups), dtype=torch.int64)

    @torch.no_grad()
    def update(self, features: np.ndarray | Tensor, members: np.ndarray | Tensor) -> None:
        """Add texts: their features (n, d), and whether each is about each group (n, G), 0 or 1; groups may overlap."""
        x = torch.as_tensor(features).detach().to("cpu", torch.float64)
        z = torch.as_tensor(members).detach().to("cpu", torch.float64)
        expected = self._moments.x_dim, len(self.groups)
        if x.ndim != 2 or z.ndim != 2 or len(x) != len(z) or (x.shape[1], z.shape[1]) != expected:
            raise DataError(
                f"Features of shape {tuple(x.shape)} and groups of shape {tuple(z.shape)} do not fit an eraser of "
                f"{expected[0]} columns and {expected[1]} groups; give (texts, columns) and (texts, groups)."
            )
        if not torch.isfinite(x).all():
            raise DataError("Features that are no finite numbers are among those given; give finite ones.")
        if not ((z == 0) | (z == 1)).all():
            raise DataError("A group has values other than 0 and 1; say of each text whether it is about the group.")
        if len(x):
            self._moments.update(x, z)
            self._counts += z.sum(0).long()

    @torch.no_grad()
    def result(self) -> ConceptEraser:
        """The eraser of all texts so far; `DataError` if it would leave a correlation of `MOST_LEFT` with a group."""
        texts = int(self._moments.n)
        for name, count in zip(self.groups, self._counts.tolist(), strict=True):
            if count in (0, texts):
                found = "none" if count == 0 else "every one"
                raise DataError(
                    f"Of {texts} texts {found} is about the group '{name}', which leaves nothing to tell apart; give "
                    "texts that are and texts that are not, or leave the group out."
                )
        spread = (self._moments.sigma_xx_.diagonal() / texts).clamp(min=0).sqrt()  # (d,)
        spread = torch.where(spread > CONSTANT * self._moments.mean_x.abs(), spread, 0.0)
        xx, xz = self._correlations(spread)
        for shrinkage in (True, False):  # of few texts, the shrunk covariance may not be one
            left, right = _projection(xx, xz, texts, shrinkage)
            remaining = _largest(*_after(xx, xz, left, right))
            if bool((remaining < MOST_LEFT).all()):
                break
        else:
            bad = [name for name, most in zip(self.groups, remaining.tolist(), strict=True) if not most < MOST_LEFT]
            raise DataError(
                f"After erasing, a correlation of {float(remaining.max()):.1e} is left where less than {MOST_LEFT:.0e} "
                f"was expected, with: {listed(bad)}; give more texts or fewer columns."
            )
        numbers = zip(self._counts.tolist(), xz.abs().amax(0).tolist(), remaining.tolist(), strict=True)
        groups = {name: ErasedGroup(*each) for name, each in zip(self.groups, numbers, strict=True)}
        return ConceptEraser(
            groups, texts, self._moments.mean_x.clone(), spread[:, None] * left, right * _inverse(spread)
        )

    def _correlations(self, spread: Tensor) -> tuple[Tensor, Tensor]:
        """Those of the columns (d, d) and with the groups (d, G); 0 where a column is constant."""
        texts, scale = int(self._moments.n), _inverse(spread)
        share = self._counts.double() / texts
        xx = self._moments.sigma_xx_ / texts * scale[:, None] * scale
        xz = self._moments.sigma_xz_ / texts * scale[:, None] / (share * (1 - share)).sqrt()
        return xx, xz


def _projection(xx: Tensor, xz: Tensor, texts: int, shrinkage: bool) -> tuple[Tensor, Tensor]:
    """The parts (d, G) and (G, d) of LEACE's projection for features and groups with these correlations.

    The trace of the covariance need not be constrained: tr Σ − tr UᵀΣU is never more than tr Σ, and rounding would set
    the library's constraint off, which leaves correlation behind.
    """
    from concept_erasure import LeaceFitter

    fitter: Any = LeaceFitter(
        *xz.shape,
        dtype=torch.float64,
        shrinkage=shrinkage,
        svd_tol=SMALLEST_SINGULAR,
        constrain_cov_trace=False,
    )
    fitter.n += texts
    fitter.sigma_xx_, fitter.sigma_xz_ = xx * texts, xz * texts
    eraser = fitter.eraser
    return eraser.proj_left, eraser.proj_right


def _after(xx: Tensor, xz: Tensor, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Covariances with the groups (d, G) and variances (d,) of the erased features, in those of the features."""
    kept = torch.eye(len(xx), dtype=xx.dtype) - left @ right  # (d, d)
    return kept @ xz, ((kept @ xx) * kept).sum(1)


def _largest(covariance: Tensor, variance: Tensor) -> Tensor:
    """(G,) the largest |correlation| of any column; NaN stays."""
    return (covariance.abs() / variance.clamp(min=0).sqrt().clamp(min=ROUNDING)[:, None]).amax(0)


def _inverse(spread: Tensor) -> Tensor:
    return torch.where(spread > 0, 1 / spread, 0.0)
