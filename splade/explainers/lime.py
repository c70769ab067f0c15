"""LIME: a straight line fitted to what the model says of the text without some of its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from splade.attribution.word_text import WordText
from splade.explainers.explainer import EXPLAINERS, Explainer, WordScores
from splade.explainers.kept_tokens import logits_of_kept
from splade.explainers.subject import Subject
from splade.models.protocol import LexicalModel
from splade.models.state import CircuitState


@EXPLAINERS.register("lime")
class Lime(Explainer):
    """Weights of a ridge regression on which words are there (Ribeiro et al., 2016), by the package `lime`.

    Words are deleted, as `lime` does by default (`bow=True`), but each place is a word of its own (`bow=False`); the
    line is fitted to the logit of the class and not to its probability, so that all explainers explain one number.
    The intercept is the base.
    """

    title = "LIME"
    in_logits = True

    def readings(self, words: int) -> int:
        return self.parts.lime_samples // 2  # of which half the words are there

    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        return [self._explain(subject, text, target) for text, target in zip(texts, classes, strict=True)]

    def _explain(self, subject: Subject, text: WordText, target: int) -> WordScores:
        weights, intercept = self._line(len(text), lambda kept: subject.logits([text.only(k) for k in kept]), target)
        return WordScores(weights, intercept)

    def explain_tokens(self, model: LexicalModel, state: CircuitState, classes: Tensor) -> Tensor:
        found = [state.rows.value.new_zeros(0)]
        for row, target in enumerate(classes.tolist()):
            rows = state.rows.take(torch.tensor([row], device=classes.device))
            weights, _ = self._line(len(rows), partial(logits_of_kept, model, rows), target)
            found.append(torch.from_numpy(weights).to(state.rows.value))
        return torch.cat(found)

    def _line(
        self, count: int, logits_of: Callable[[list[frozenset[int]]], Tensor], target: int
    ) -> tuple[np.ndarray, float | None]:
        """Weights (count,) and intercept of the line; `logits_of` gives the logits when only some of them are kept.

        LIME is handed their numbers in the place of words, `0 1 2 …`, so that its words are ours in every language,
        and a text without some words is the one that all other measures read.
        """
        if not count:
            return np.zeros(0), None
        from lime.lime_text import LimeTextExplainer  # slow to load, and needed by this explainer alone

        explainer = LimeTextExplainer(
            split_expression=r"\s+",
            bow=False,
            mask_string="",
            feature_selection="none",
            random_state=self.parts.seed % 2**32,
        )
        found = explainer.explain_instance(
            " ".join(map(str, range(count))),
            lambda numbers: logits_of([frozenset(map(int, each.split())) for each in numbers]).double().numpy(),
            labels=(target,),
            num_features=count,
            num_samples=self.parts.lime_samples,
        )
        weights = np.zeros(count)
        for number, weight in found.local_exp[target]:
            weights[number] = weight
        return weights, float(found.intercept[target])
