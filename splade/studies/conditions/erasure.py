"""LEACE, the rigorous rival: groups erased from the hidden states, or from the codes, as linear probes see them.

It is fitted on training texts with identity labels. Of hidden states, the eraser of their means is applied at every
position; of codes, to the tokens that fire often, which makes the code dense and signed: the short sum is lost.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cached_property

import numpy as np

from splade.errors import DataError
from splade.evaluation.concept_eraser import ConceptEraser
from splade.evaluation.leace import fit_leace_eraser, fit_leace_on_tokens
from splade.models.encoder import SparseSequence
from splade.studies.conditions.base import CONDITIONS, PLAIN, Condition
from splade.studies.conditions.coded import CodedTexts
from splade.surgery.codes import Codes, Transform, View

ERASED = "leace_hidden"
"""The view of erased hidden states."""

FEWEST_ABOUT = 20
"""Training texts about a group from which on it is erased: of fewer, what is erased is mostly noise."""


def erasable(training: CodedTexts) -> dict[str, np.ndarray]:
    """(N,) by group, those with texts enough on either side."""
    found = {name: inside for name, inside in training.members.items()}
    return {
        name: inside for name, inside in found.items() if FEWEST_ABOUT <= inside.sum() <= len(inside) - FEWEST_ABOUT
    }


def _check(training: CodedTexts) -> None:
    if not erasable(training):
        raise DataError(
            f"LEACE erases groups that {FEWEST_ABOUT} training texts are about and {FEWEST_ABOUT} are not, and there "
            "is none; leave leace_hidden and leace_tokens out of surgery.conditions, or name other groups."
        )


@CONDITIONS.register("leace_hidden")
class LeaceHidden(Condition):
    """LEACE on the hidden states."""

    title = "LEACE, hidden state"
    about = "All groups are erased from the hidden states before words are scored; no word is removed."

    view_name = ERASED

    @classmethod
    def view(cls, training: CodedTexts) -> tuple[str, View]:
        _check(training)
        eraser = fit_leace_eraser(training.hidden[PLAIN], erasable(training))
        known_by = hashlib.sha256(eraser.left.numpy().tobytes() + eraser.right.numpy().tobytes()).hexdigest()
        return known_by, Erased(eraser)

    def codes(self, part: CodedTexts) -> Codes:
        return part.codes[ERASED]


class Erased:
    """The view of an encoded batch whose hidden states are erased at every position."""

    def __init__(self, eraser: ConceptEraser):
        self.eraser = eraser

    def __call__(self, sequence: SparseSequence) -> SparseSequence:
        return replace(sequence, hidden=self.eraser(sequence.hidden))


@CONDITIONS.register("leace_hidden_refit")
class LeaceHiddenRefit(LeaceHidden):
    """The same, with the head refitted on erased codes."""

    title = "LEACE, hidden state + refit"
    about = "The same, and the head learns again on what is left."
    refits = True


@CONDITIONS.register("leace_tokens")
class LeaceTokens(Condition):
    """LEACE on the codes."""

    title = "LEACE, tokens"
    about = (
        "All groups are erased from tokens that fire often. The code becomes dense and signed: the short sum is lost."
    )

    def transform(self) -> Transform | None:
        return self._eraser

    @cached_property
    def _eraser(self) -> Transform:
        training = self.bench.training
        _check(training)
        return fit_leace_on_tokens(training.codes[PLAIN].matrix(), erasable(training))


@CONDITIONS.register("leace_tokens_refit")
class LeaceTokensRefit(LeaceTokens):
    """The same, with the head refitted on erased codes."""

    title = "LEACE, tokens + refit"
    about = "The same, and the head learns again on what is left; still dense and signed."
    refits = True
