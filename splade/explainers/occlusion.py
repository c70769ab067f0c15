"""Occlusion: what the logit loses when a word is hidden."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from splade.attribution.word_text import WordText
from splade.explainers.explainer import EXPLAINERS, Explainer, WordScores
from splade.explainers.kept_tokens import logits_of_kept
from splade.explainers.subject import Subject
from splade.models.protocol import LexicalModel
from splade.models.state import CircuitState


@EXPLAINERS.register("occlusion")
class Occlusion(Explainer):
    """score(w) = logit(text) − logit(text with the mask token in the place of w), one word at a time.

    Hidden and not deleted: deletion is what explanations are measured by, and an explainer that is its own yardstick
    would tell us nothing. Words are deleted where a tokenizer has no mask token.
    """

    in_logits = True

    def readings(self, words: int) -> int:
        return words + 1

    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        mask = subject.tokenizer.mask_token
        hidden = [
            text.without([word]) if mask is None else text.hiding([word], mask)
            for text in texts
            for word in range(len(text))
        ]
        logits = subject.logits([*(text.text for text in texts), *hidden])
        found, start = [], len(texts)
        for number, (text, target) in enumerate(zip(texts, classes, strict=True)):
            lost = logits[number, target] - logits[start : start + len(text), target]  # (W,)
            found.append(WordScores(lost.double().numpy()))
            start += len(text)
        return found

    def explain_tokens(self, model: LexicalModel, state: CircuitState, classes: Tensor) -> Tensor:
        """What the logit loses when a token is shut: exact, and for a linear head the same as its contribution."""
        found = [state.rows.value.new_zeros(0)]
        for row, target in enumerate(classes.tolist()):
            rows = state.rows.take(torch.tensor([row], device=classes.device))
            every = frozenset(range(len(rows)))
            logits = logits_of_kept(model, rows, [every, *(every - {entry} for entry in range(len(rows)))])
            found.append((logits[0, target] - logits[1:, target]).to(state.rows.value))
        return torch.cat(found)
