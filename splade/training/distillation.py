"""Distillation: a dense head that learns beside the sparse one, teaches it, and is thrown away after training.

Settings, history and checkpoints call it the guide.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from splade.models.dense import DenseHead
from splade.models.encoder import SparseSequence

TEACHER_WIDTH = 256
"""Hidden units of the teacher, as many as the dense baseline has."""


class DenseTeacher(nn.Module):
    """(R,) CE(teacher) + KL(p_teacher ‖ p_sparse), with the teacher's prediction a constant in the second.

    Through the gate only the positions of active words learn from a text's label. The teacher reads all positions, so
    the backbone learns as it would under a dense head, and the sparse head, drawn to the teacher's probabilities
    instead of to certainty, does not let one strong word outshout the rest of a sentence. The teacher is no part of the
    model: a prediction is the sum of words it would be without.
    """

    def __init__(self, width: int, num_classes: int):
        super().__init__()
        self.head = DenseHead(width, TEACHER_WIDTH, num_classes)

    def forward(self, sequence: SparseSequence, logits: Tensor, labels: Tensor) -> Tensor:
        """`logits` (R, C): what the sparse head said of the same rows."""
        taught = self.head(sequence.hidden, sequence.attention_mask, sequence.groups)  # (R, C)
        log_p = F.log_softmax(taught.detach(), -1)
        distance = F.kl_div(F.log_softmax(logits, -1), log_p, log_target=True, reduction="none").sum(-1)
        return F.cross_entropy(taught, labels, reduction="none") + distance
