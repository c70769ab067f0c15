"""Context: the words around a word speak for its tag, each by itself.

A row is then a word *here*, and what it hears comes from the words *there*, at fixed offsets from it: itself, and some
to the left and right. Every offset is a role with columns of its own, the whole vocabulary once more, so that a logit
is a sum over (offset, token) and, since an offset of a word is one word of the sentence, over the sentence's words:

    z[role, v] = E[v]·M_role [h_there ; h_here] + b[v],       v: what the support lets the word there speak through

M starts at [I, 0]: at first a word is heard by all as it would be by itself. What a word says in one role is a number
times one direction, W₁'s row, so a name could not be a person here and a place there. Hence several roles at one
offset, the *aspects* of the word: they learn apart because each has weights of its own in the head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

if TYPE_CHECKING:
    from splade.models.encoder import SparseSequence


@dataclass(frozen=True)
class Views:
    """Input positions as rows hear them. Where rows are texts, or words that nobody else speaks for, a view is an input
    position, in their order."""

    state: Tensor
    """(P, d): the hidden state that scores."""
    row: Tensor
    """(P,) who hears it; −1: nobody."""
    position: Tensor
    """(P,) the flat input position b·L + l that is heard."""
    role: Tensor | None = None
    """(P,) number of the role in which it is heard (`Context.offsets`); None: 0 everywhere."""

    def of(self, position: Tensor) -> tuple[Tensor, Tensor]:
        """The views of some input positions (K,), given ascending, and which of these each view is of."""
        if not len(position):
            return position, position
        which = torch.searchsorted(position, self.position).clamp(max=len(position) - 1)
        view = (position[which] == self.position).nonzero(as_tuple=True)[0]
        return view, which[view]


class Context(nn.Module):
    """The roles in which words are heard, and how: M (roles, d, 2d)."""

    def __init__(self, width: int, words: int, aspects: int = 1):
        """`width`: of the hidden states. `words`: how many to the left and how many to the right are heard. `aspects`:
        how many roles the word itself has, the words beside it having half as many, and so on, one at least."""
        super().__init__()
        # The word itself comes first, so that its columns are the vocabulary's own.
        around = [side * distance for distance in range(1, words + 1) for side in (-1, 1)]
        self.offsets = tuple(offset for offset in (0, *around) for _ in range(max(1, aspects >> abs(offset))))
        """(roles,) at which offset each is heard."""
        start = torch.cat([torch.eye(width), torch.zeros(width, width)], 1)  # (d, 2d)
        self.mix = nn.Parameter(start.repeat(len(self.offsets), 1, 1))

    def views(self, sequence: SparseSequence) -> Views:
        """A view a (row, role), where a word of the same text stands there; a word is heard by its first piece."""
        here, role, there = self.heard(sequence)
        flat = sequence.hidden.reshape(-1, sequence.hidden.shape[-1])
        parts = [(role == number).nonzero(as_tuple=True)[0] for number in range(len(self.offsets))]
        with torch.autocast(flat.device.type, enabled=False):
            states = [
                F.linear(torch.cat([flat[there[part]], flat[here[part]]], 1).float(), mix)  # (n, d)
                for part, mix in zip(parts, self.mix, strict=True)
            ]
        order = torch.cat(parts)
        return Views(torch.cat(states), sequence.row_of_position[here[order]], there[order], role[order])

    def heard(self, sequence: SparseSequence) -> tuple[Tensor, Tensor, Tensor]:
        """Who hears whom: the position (P,) of the word here, the number of the role, the position of the word there,
        by their first pieces."""
        assert sequence.words is not None
        first = word_starts(sequence.words).flatten().nonzero(as_tuple=True)[0]  # (W,): all words, in order
        text = first // max(1, sequence.words.shape[1])
        asked = (sequence.row_of_position[first] >= 0).nonzero(as_tuple=True)[0]
        offsets = torch.tensor(self.offsets, device=first.device)
        there = asked[:, None] + offsets  # (A, offsets): numbers of words
        inside = (there >= 0) & (there < len(first))
        there = there.clamp(0, max(0, len(first) - 1))
        inside &= text[there] == text[asked][:, None]
        word, role = inside.nonzero(as_tuple=True)
        return first[asked[word]], role, first[there[word, role]]


def word_starts(words: Tensor) -> Tensor:
    """(B, L) bool: the first piece of every word of `words` (B, L), which has one number a word and −1 for none."""
    before = F.pad(words[:, :-1], (1, 0), value=-1)
    return (words != -1) & (words != before)
