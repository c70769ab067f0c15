"""GradientSHAP: integrated gradients at points drawn at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from splade.attribution.word_text import WordText
from splade.explainers.explainer import EXPLAINERS, Explainer, WordScores, in_order
from splade.explainers.integrated_gradients import baseline_logit, padding_baseline
from splade.explainers.subject import ReadBatch, Subject
from splade.models.lexical_sae import POSITIONS_AT_A_TIME


@EXPLAINERS.register("gradient_shap")
class GradientShap(Explainer):
    """Mean of (e − e₀)·∂logit/∂e at 50 points drawn evenly between e₀ and e (Lundberg & Lee, 2017), by captum.

    e₀ is the baseline of integrated gradients, the only one, so that what differs is the points.
    """

    title = "GradientSHAP"
    in_logits = True

    def readings(self, words: int) -> int:
        return 2 * self.parts.steps + 1

    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        return in_order(
            (batch.rows[0], self._explain(subject, batch, classes[batch.rows[0]]))
            for batch in subject.read(texts, batch_size=1)
        )

    def _explain(self, subject: Subject, batch: ReadBatch, target: int) -> WordScores:
        baseline = padding_baseline(subject, batch)
        scores = self._average(subject, batch, baseline, target)
        base = baseline_logit(subject, batch, baseline, target)
        return WordScores(batch.sum_words(scores.sum(-1))[0].double().numpy(), base)

    def _average(self, subject: Subject, batch: ReadBatch, baseline: Tensor, target: int) -> Tensor:
        """(1, L, d) the mean of all points, as many at a time as memory holds."""
        from captum.attr import GradientShap as Captum  # slow to load, and needed by few

        embeddings = subject.embeddings(batch.input_ids).requires_grad_()
        shap, at_a_time = Captum(subject.logits_of_embeddings), max(1, POSITIONS_AT_A_TIME // batch.input_ids.shape[1])
        total, state = torch.zeros_like(baseline), np.random.get_state()
        with torch.random.fork_rng(devices=[]):  # captum draws from the generators that everybody shares
            torch.manual_seed(self.parts.seed)
            np.random.seed(self.parts.seed % 2**32)
            try:
                for start in range(0, self.parts.steps, at_a_time):
                    points = min(at_a_time, self.parts.steps - start)
                    arguments = (batch.input_ids, batch.attention_mask)
                    mean = shap.attribute(
                        embeddings, baseline, n_samples=points, target=target, additional_forward_args=arguments
                    )
                    total += points * mean.detach()
            finally:
                np.random.set_state(state)
        return total / self.parts.steps
