"""Gradients of the logit: how strongly a word's embedding pulls at it, and how much of it the embedding gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from splade.attribution.word_text import WordText
from splade.explainers.explainer import EXPLAINERS, Explainer, WordScores, in_order
from splade.explainers.subject import ReadBatch, Subject
from splade.models.protocol import LexicalModel
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState


@EXPLAINERS.register("gradient")
class Gradient(Explainer):
    """score(w) = ‖∂logit/∂e(w)‖₂ over the embeddings of the word's pieces; it has no sign."""

    def readings(self, words: int) -> int:
        return 2

    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        return in_order(
            (row, WordScores(square.sqrt().double().numpy()))
            for batch, _, gradient in _embedding_gradients(subject, texts, classes)
            for row, square in zip(batch.rows, batch.sum_words(gradient.pow(2).sum(-1)), strict=True)
        )

    def explain_tokens(self, model: LexicalModel, state: CircuitState, classes: Tensor) -> Tensor:
        return token_gradients(model, state.rows, classes).abs()


@EXPLAINERS.register("gradient_x_input")
class GradientTimesInput(Explainer):
    """score(w) = Σ e(w)·∂logit/∂e(w) over the embeddings of the word's pieces."""

    title = "gradient × input"
    in_logits = True

    def readings(self, words: int) -> int:
        return 2

    def explain(self, subject: Subject, texts: Sequence[WordText], classes: Sequence[int]) -> list[WordScores]:
        return in_order(
            (row, WordScores(product.double().numpy()))
            for batch, embeddings, gradient in _embedding_gradients(subject, texts, classes)
            for row, product in zip(batch.rows, batch.sum_words((embeddings * gradient).sum(-1)), strict=True)
        )

    def explain_tokens(self, model: LexicalModel, state: CircuitState, classes: Tensor) -> Tensor:
        """Of a ReLU head this is our own attribution: the head is linear where it is, so that ∂logit/∂s = W_eff."""
        return state.rows.value.detach() * token_gradients(model, state.rows, classes)


def _embedding_gradients(
    subject: Subject, texts: Sequence[WordText], classes: Sequence[int]
) -> Iterator[tuple[ReadBatch, Tensor, Tensor]]:
    """Batches with their word embeddings and the gradient of the class's logit with respect to these, (B, L, d)."""
    for batch in subject.read(texts):
        of_rows = torch.tensor([classes[row] for row in batch.rows], device=subject.device)
        embeddings = subject.embeddings(batch.input_ids).requires_grad_()
        with torch.enable_grad():
            logits = subject.logits_of_embeddings(embeddings, batch.input_ids, batch.attention_mask)
            (gradient,) = torch.autograd.grad(logits.gather(1, of_rows[:, None]).sum(), embeddings)
        yield batch, embeddings.detach(), gradient


def token_gradients(model: LexicalModel, rows: SparseRows, classes: Tensor) -> Tensor:
    """(N,) ∂logit/∂s of the entries of some rows, for a class a row (R,); only the head is asked."""
    value = rows.value.detach().clone().requires_grad_()
    with torch.enable_grad():
        logits = model.decide(rows.with_value(value)).logits
        (gradient,) = torch.autograd.grad(logits.gather(1, classes[:, None]).sum(), value)
    return gradient
