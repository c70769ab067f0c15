"""Anchors: what keeps words meaning themselves while training goes on. One class a kind, behind `ANCHORS`.

The circuit losses alone reward a private code, since completeness with a tenth of the tokens is easiest when one token
means one class. An anchor is a further loss, in both phases, of one number a row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor

from splade.config.schema import TrainingConfig
from splade.config.variants import make
from splade.errors import ConfigError
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.backbone import frozen_copy
from splade.models.encoder import SparseSequence
from splade.models.protocol import LexicalModel, Model, is_lexical
from splade.models.sparse import group_log_softmax
from splade.models.state import CircuitState
from splade.models.supports import NeighbourhoodSupport, SupportParts
from splade.models.supports.neighbourhood import NeighbourhoodSettings
from splade.models.vocabulary import Vocabulary
from splade.registry import Registry

ANCHORS: Registry[type[Anchor]] = Registry("anchor")

# Texts of a batch that the frozen backbone reads too: a quarter, read forward only, adds little to a step.
FROZEN_TEXTS = 0.25

# Positions of those texts whose scores are compared; their scores over a vocabulary of 30,522 are 8 MB.
FROZEN_POSITIONS = 64

# Tokens the frozen backbone scores highest at a position, which its prediction there is told by.
FROZEN_TOP = 32

# The largest share of a batch's |contribution| that one token may carry before it counts as a register.
LARGEST_SHARE = 0.1


class Anchor(ABC):
    """Base of all anchors. An anchor is made from the model as it starts, before training begins or goes on after an
    interruption; nothing of it learns, and nothing of it is saved."""

    def __init__(self, model: LexicalModel):
        self.model = model

    @abstractmethod
    def __call__(self, sequence: SparseSequence, state: CircuitState, labels: Tensor) -> Tensor:
        """(R,) the loss of each row of `state`, which was decided from `sequence`."""


@ANCHORS.register("own_token")
class OwnToken(Anchor):
    """Mean over a row's words of −log softmax(z over the word's neighbourhood)[the word's own token].

    Each word's own token is to score highest among those that may speak for it, so that a neighbour cannot take its
    place and stand for a class instead. Words that speak for themselves alone do not count.
    """

    def __init__(self, model: LexicalModel):
        super().__init__(model)
        self.neighbourhood = _neighbourhood(model)

    def __call__(self, sequence: SparseSequence, state: CircuitState, labels: Tensor) -> Tensor:
        ids, rows = sequence.input_ids, sequence.num_rows
        attended = sequence.attention_mask.bool()
        position, tokens = self.neighbourhood.candidates(ids, attended, sequence.asked, sequence.words)  # its own first
        several = (tokens >= 0).sum(1) > 1
        view, which = sequence.views.of(position[several])
        tokens = tokens[several][which]
        there = tokens >= 0  # (P, k)
        z = torch.full(tokens.shape, -torch.inf, device=tokens.device)
        z[there] = self.model.encoder.scores(sequence, view[:, None].expand_as(tokens)[there], tokens[there])
        row = sequence.views.row[view]
        total = z.new_zeros(rows).index_add(0, row, F.cross_entropy(z, torch.zeros_like(row), reduction="none"))
        return total / torch.bincount(row, minlength=rows).clamp(min=1)


@ANCHORS.register("frozen_scores")
class FrozenScores(Anchor):
    """KL(p_frozen ‖ p_model) of the vocabulary scores at a sample of positions, where p = softmax of z over the tokens
    that the frozen backbone scores highest there and those that are active there.

    What the model would say at a position must stay what the untrained backbone would say: an active token that it
    would not propose loses. The sample is drawn from torch's own generator, which checkpoints keep; its mean is the
    number of every row.
    """

    def __init__(self, model: LexicalModel):
        super().__init__(model)
        if model.encoder.context is not None:
            raise ConfigError(
                "training.anchor 'frozen_scores' compares what words say for themselves alone, and cannot go together "
                "with model.context; choose 'own_token' or 'register'."
            )
        self.backbone = frozen_copy(model.backbone)
        tokens, weight = model.backbone.vocab_size, model.encoder.weight
        self.weight = (weight.detach().clone() if weight.requires_grad else weight)[:tokens]  # (V, d)
        self.bias = model.encoder.bias[:tokens].detach().clone()  # (V,)

    def __call__(self, sequence: SparseSequence, state: CircuitState, labels: Tensor) -> Tensor:
        position, frozen = self._sample(sequence)  # (P,), (P, V)
        group, token = self._tokens(state, sequence.input_ids.numel(), position, frozen)  # (M,): which position, token
        p = group_log_softmax(frozen[group, token], group, len(position))
        q = group_log_softmax(self.model.encoder.scores(sequence, position[group], token), group, len(position))
        mean = (p.exp() * (p - q)).sum() / max(1, len(position))
        return mean.expand(len(state.logits))

    @torch.no_grad()
    def _sample(self, sequence: SparseSequence) -> tuple[Tensor, Tensor]:
        """Some positions (P,) of some texts, specials left out, and the frozen scores (P, V) there."""
        ids, mask = sequence.input_ids, sequence.attention_mask
        texts = torch.randperm(len(ids))[: max(1, round(FROZEN_TEXTS * len(ids)))].to(ids.device)
        with self.model.autocast():
            hidden = self.backbone(ids[texts], mask[texts])  # (T, L, d)
        words = (mask[texts] > 0) & ~self.model.vocabulary.special.to(ids.device)[ids[texts]]
        if sequence.asked is not None:
            words &= sequence.asked[texts]
        text, place = words.nonzero(as_tuple=True)
        sampled = torch.randperm(len(text))[:FROZEN_POSITIONS].to(ids.device)
        text, place = text[sampled], place[sampled]
        scores = hidden[text, place].float() @ self.weight.T + self.bias
        return texts[text] * ids.shape[1] + place, scores

    def _tokens(self, state: CircuitState, positions: int, position: Tensor, frozen: Tensor) -> tuple[Tensor, Tensor]:
        """Pairs (which of the sampled positions, token) to compare at: the frozen top and what is active there."""
        vocab, device = frozen.shape[1], position.device
        number = torch.arange(len(position), device=device)
        top = frozen.topk(min(FROZEN_TOP, vocab), dim=1).indices  # (P, k)
        number_at = torch.full((positions,), -1, device=device).index_copy(0, position, number)
        entry, place, value = state.rows.by_position()
        token = self.model.encoder.base[state.rows.token[entry]]
        active = (number_at[place] >= 0) & (value > 0) & (token < vocab)  # a split word has no frozen score
        active_keys = number_at[place[active]] * vocab + token[active]
        keys = torch.cat([(number[:, None] * vocab + top).flatten(), active_keys]).unique()
        return keys // vocab, keys % vocab


@ANCHORS.register("register")
class Register(Anchor):
    """A penalty on tokens that act as registers, which store a class instead of meaning a word:

        Σ_{j absent} |a_j| / Σ_j |a_j|   +   Σ_j relu(S_j − 1/10),      S_j = token j's share of the batch's |a|

    with a the attributions to the label. A token is absent unless it stands in the row's text (in tagging: is the word)
    or is a neighbour of a word that does. The first is each row's own; the second, the batch's, is the same for all
    rows, and means little in batches of a few texts.
    """

    def __init__(self, model: LexicalModel):
        super().__init__(model)
        self.neighbourhood = _neighbourhood(model)

    def __call__(self, sequence: SparseSequence, state: CircuitState, labels: Tensor) -> Tensor:
        attribution = compute_attribution_tensor(state, labels)
        size, vocab, views = attribution.value.abs(), attribution.vocab_size, sequence.views
        ids, attended = sequence.input_ids, sequence.attention_mask.bool()
        position, tokens = self.neighbourhood.candidates(ids, attended, sequence.asked, sequence.words)
        view, which = views.of(position)
        neighbours = (views.row[view][:, None] * vocab + tokens[which])[tokens[which] >= 0]
        standing = views.row * vocab + ids.flatten()[views.position]
        present = torch.cat([neighbours, standing[views.row >= 0]])
        absent = ~torch.isin(attribution.row * vocab + self.model.encoder.base[attribution.token], present)
        absent_share = attribution.sum_rows(size * absent) / attribution.sum_rows(size).clamp(min=1e-9)
        tokens, entry = attribution.token.unique(return_inverse=True)
        share = size.new_zeros(len(tokens)).index_add(0, entry, size) / size.sum().clamp(min=1e-9)
        return absent_share + F.relu(share - LARGEST_SHARE).sum()


def make_anchor(config: TrainingConfig, model: Model) -> Anchor | None:
    """The anchor that the settings name; None for ``none``, and for a dense head, which has no words to hold."""
    if config.anchor in (None, "none") or not is_lexical(model):
        return None
    return make(ANCHORS, config.anchor, config, model)


def _neighbourhood(model: LexicalModel) -> NeighbourhoodSupport:
    """The model's own neighbourhood, or one made for a model that may fire anywhere."""
    for support in model.encoder.supports:
        if isinstance(support, NeighbourhoodSupport):
            return support
    vocabulary = Vocabulary.from_tokenizer(model.tokenizer, model.backbone.vocab_size)  # without further senses
    parts = SupportParts(vocabulary, False, model.backbone)
    return NeighbourhoodSupport(parts, model.config.of(NeighbourhoodSettings)).to(model.device)
