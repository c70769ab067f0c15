"""Direct logit attribution: the exact sum that our own models decide by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from splade.attribution.word_text import WordText
from splade.explainers.explainer import EXPLAINERS, Explainer, WordScores, in_order
from splade.explainers.subject import Subject
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.protocol import LexicalModel, is_lexical
from splade.models.state import CircuitState
from splade.tasks.documents import read_documents


@EXPLAINERS.register("dla")
class DLA(Explainer):
    """What each word adds to the logit by the vocabulary tokens that fired at it; the bias is the base."""

    title = "DLA (ours)"
    by_words = True
    in_logits = True

    @torch.no_grad()
    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        found: list[tuple[int, WordScores]] = []
        for batch in subject.read(texts):
            state = subject.state(batch)
            of_rows = torch.tensor([classes[row] for row in batch.rows], device=subject.device)
            attribution = compute_attribution_tensor(state, of_rows)
            _, position, value = attribution.by_position()
            at_positions = value.new_zeros(batch.input_ids.numel()).index_add(0, position, value)  # (B·L,)
            words = batch.sum_words(at_positions.view_as(batch.input_ids))
            totals = attribution.sum_rows().tolist()
            bias = state.b_eff.gather(1, of_rows[:, None])[:, 0].tolist()
            for n, row in enumerate(batch.rows):
                scores = words[n].double().numpy()
                found.append((row, WordScores(scores, bias[n], totals[n] - float(scores.sum()))))
        return in_order(found)

    def explain_documents(
        self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]
    ) -> list[np.ndarray]:
        """Exact for documents too: their logit is the mean of their windows' logits, which are sums of words."""
        assert is_lexical(subject.model)
        found: dict[int, np.ndarray] = {}
        for batch in read_documents(
            subject.model, [text.words for text in texts], subject.batch_size, subject.max_length
        ):
            of_rows = torch.tensor([classes[row] for row in batch.rows], device=subject.device)
            found |= dict(zip(batch.rows, batch.word_scores(of_rows), strict=True))
        return [found[row] for row in range(len(texts))]

    def explain_tokens(self, model: LexicalModel, state: CircuitState, classes: Tensor) -> Tensor:
        return compute_attribution_tensor(state, classes).value
