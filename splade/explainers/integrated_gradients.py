"""Integrated gradients: gradients gathered on the way from a text of padding to the text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from splade.attribution.word_text import WordText
from splade.explainers.explainer import EXPLAINERS, Explainer, WordScores, in_order
from splade.explainers.gradient import token_gradients
from splade.explainers.subject import ReadBatch, Subject
from splade.models.lexical_sae import POSITIONS_AT_A_TIME
from splade.models.protocol import LexicalModel
from splade.models.state import CircuitState


@EXPLAINERS.register("integrated_gradients")
class IntegratedGradients(Explainer):
    """score(w) = Σ over the embeddings of the word's pieces of (e − e₀)·∫₀¹ ∂logit/∂e(e₀ + α(e − e₀)) dα
    (Sundararajan et al., 2017), by captum, at 50 points of Gauss and Legendre's rule.

    e₀ is the embedding of the padding token where a word stands, and e itself at special tokens. Base is the logit of
    e₀, so that the sum's error is captum's convergence delta. Our models' gates jump where a token begins to count,
    which no gradient sees: there the delta does not vanish with more points.
    """

    title = "integrated gradients"
    in_logits = True

    def readings(self, words: int) -> int:
        return 2 * self.parts.steps + 1

    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        return in_order(
            (batch.rows[0], self._explain(subject, batch, classes[batch.rows[0]]))
            for batch in subject.read(texts, batch_size=1)
        )

    def _explain(self, subject: Subject, batch: ReadBatch, target: int) -> WordScores:
        scores, base = self._integrate(subject, batch, target)
        return WordScores(batch.sum_words(scores.sum(-1))[0].double().numpy(), base)

    def _integrate(self, subject: Subject, batch: ReadBatch, target: int) -> tuple[Tensor, float]:
        """(1, L, d) of one text, and the logit of its baseline."""
        from captum.attr import IntegratedGradients as Captum  # slow to load, and needed by few

        embeddings, baseline = subject.embeddings(batch.input_ids).requires_grad_(), padding_baseline(subject, batch)
        scores = Captum(subject.logits_of_embeddings).attribute(
            embeddings,
            baseline,
            target=target,
            additional_forward_args=(batch.input_ids, batch.attention_mask),
            n_steps=self.parts.steps,
            internal_batch_size=max(1, POSITIONS_AT_A_TIME // batch.input_ids.shape[1]),
        )
        return scores.detach(), baseline_logit(subject, batch, baseline, target)

    def explain_tokens(self, model: LexicalModel, state: CircuitState, classes: Tensor) -> Tensor:
        """The way begins at no token at all; the head is asked at every point of it."""
        points, weights = np.polynomial.legendre.leggauss(self.parts.steps)  # on (−1, 1)
        mean = torch.zeros_like(state.rows.value)
        for point, weight in zip(points, weights, strict=True):
            along = state.rows.with_value(state.rows.value.detach() * float(point + 1) / 2)
            mean += float(weight) / 2 * token_gradients(model, along, classes)
        return state.rows.value.detach() * mean


@EXPLAINERS.register("integrated_gradients_l2")
class IntegratedGradientsL2(IntegratedGradients):
    """The length of the same vector in the place of its sum: it has no sign, and adds up to nothing."""

    title = "integrated gradients, L2"
    in_logits = False

    def _explain(self, subject: Subject, batch: ReadBatch, target: int) -> WordScores:
        scores, _ = self._integrate(subject, batch, target)
        return WordScores(batch.sum_words(scores.pow(2).sum(-1))[0].sqrt().double().numpy())

    def explain_tokens(self, model: LexicalModel, state: CircuitState, classes: Tensor) -> Tensor:
        return super().explain_tokens(model, state, classes).abs()


def padding_baseline(subject: Subject, batch: ReadBatch) -> Tensor:
    """(B, L, d) embeddings of a text of padding; what belongs to no word, such as special tokens, stays."""
    padding = torch.full_like(batch.input_ids, subject.tokenizer.pad_token_id or 0)
    return subject.embeddings(torch.where(batch.words < 0, batch.input_ids, padding))


@torch.no_grad()
def baseline_logit(subject: Subject, batch: ReadBatch, baseline: Tensor, target: int) -> float:
    """The logit of a class for one text's baseline (1, L, d)."""
    return float(subject.logits_of_embeddings(baseline, batch.input_ids, batch.attention_mask)[0, target])
