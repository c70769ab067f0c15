"""The lexical encoder: hidden states to sparse rows over the vocabulary, through supports, scores, pooling and gate."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor, nn

from splade.models.context import Context, Views
from splade.models.layers.activation import ThresholdGate
from splade.models.layers.virtual_expander import VirtualExpander
from splade.models.open_words import OpenWords
from splade.models.plain_activations import dense_activations
from splade.models.pooling import MaxPooling, Pooling, active_pairs
from splade.models.projection import best_position, pair_dot
from splade.models.removal import Removal, Silence
from splade.models.sparse import SparseRows
from splade.models.supports import Scene, Support

# Bandwidths below θ that evaluation still looks at: the scan may run in bfloat16, and what it rounds down by a
# hundredth must not be lost before the exact score is known.
EVALUATION_MARGIN = 1.0


@dataclass(frozen=True)
class SparseSequence:
    """Stands for the [B, L, V] sparse activations of a batch; becomes that tensor only by `to_dense()`."""

    hidden: Tensor
    """(B, L, d): vocabulary scores are hidden·Eᵀ + b."""
    input_ids: Tensor
    """(B, L)."""
    attention_mask: Tensor
    """(B, L): 0 for padding."""
    encoder: LexicalEncoder
    groups: Tensor | None = None
    """(B, L) the number of the row that each position speaks for, −1 for none; every row has a position, and rows
    follow one another as their first positions do. None: a row a text."""
    words: Tensor | None = None
    """(B, L) a number a word, −1 for none: all words of the texts, where those around a row speak for it too (with a
    `Context`), also words that are no row."""
    given: Tensor | None = None
    """(B, L) the same wherever the words of the texts are given, with a context or without."""

    @cached_property
    def speaking(self) -> Tensor:
        """(B, L) bool: positions that may speak, neither padding nor part of a word that is silenced."""
        attended, silence = self.attention_mask.bool(), self.encoder.silence
        if silence is None:
            return attended
        silent = silence.positions(self.input_ids, attended, self.words)
        if self.words is None and self.given is not None:  # *german-made* is two words to the tokenizer, and one given
            silent |= silence.positions(self.input_ids, attended, self.given)
        return attended & ~silent

    @property
    def asked(self) -> Tensor | None:
        """(B, L) bool: the only positions that may speak, where rows are no whole texts and nothing around them may."""
        return None if self.groups is None or self.words is not None else self.groups >= 0

    @property
    def hears_others(self) -> bool:
        """Whether a row has a sum over words: it is a text, or a word that those around it speak for."""
        return self.groups is None or self.words is not None

    @cached_property
    def views(self) -> Views:
        """The positions that rows hear, and the states that these are scored by."""
        # Kept for whoever asks next, so with a gradient even where the first to ask wants none.
        with torch.set_grad_enabled(torch.is_grad_enabled() or self.hidden.requires_grad):
            if self.words is not None and self.encoder.context is not None:
                return self.encoder.context.views(self)
            row = self.row_of_position
            position = torch.arange(len(row), device=row.device)
            return Views(self.hidden.reshape(-1, self.hidden.shape[-1]), row, position)

    @cached_property
    def row_of_position(self) -> Tensor:
        """(B·L,) the row of each position; −1 at padding, and where nobody asked."""
        if self.groups is not None:
            return self.groups.flatten()
        lines = torch.arange(len(self.input_ids), device=self.input_ids.device)
        return torch.where(self.attention_mask > 0, lines[:, None], -1).flatten()

    @cached_property
    def num_rows(self) -> int:
        if self.groups is None:
            return len(self.input_ids)
        return int(self.groups.max()) + 1 if self.groups.numel() else 0

    def active_pairs(self) -> tuple[Tensor, Tensor, Tensor]:
        """Position b·L + l, column and value (N,) of all activations above zero; one may be there several times."""
        return active_pairs(self.encoder, self)

    def to_dense(self) -> Tensor:
        """(B, L, V) gated activations, the plain definition; for small inputs."""
        return self.encoder.dense(self)


class LexicalEncoder(nn.Module):
    """Scores z = h·Eᵀ + b where a support allows them, the gate, and a pooling over positions.

    With a `context`, the columns of all tokens are there once for every offset, one block after another; weights,
    thresholds and what is suppressed are the token's, whatever the offset.
    """

    base: Tensor
    suppressed: Tensor

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor,
        gate: ThresholdGate,
        supports: list[Support],
        train_decoder: bool,
        pooling: Pooling | None = None,
        senses: VirtualExpander | None = None,
        context: Context | None = None,
    ):
        """`gate` has a threshold a column: the vocabulary's tokens, then the further `senses` of some. `pooling`: None
        is a maximum. `context`: not together with senses."""
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=train_decoder)  # (V, d): E, frozen unless asked
        self.bias = nn.Parameter(bias)  # (V,)
        self.gate = gate
        self.supports: Sequence[Support] = nn.ModuleList(supports)  # type: ignore[assignment]
        self.pooling = pooling or MaxPooling(weight.shape[1])
        self.senses, self.context = senses, context
        tokens = torch.arange(len(bias))
        base = tokens if senses is None else torch.cat([tokens, senses.extra])
        self.register_buffer("suppressed", torch.zeros(len(base), dtype=torch.bool))  # shut for every input
        gate.blocks = 1 if context is None else len(context.offsets)
        self.register_buffer("base", base.repeat(gate.blocks), persistent=False)  # (V,): the token each scores with
        self._scan_copy: dict[torch.dtype, Tensor] = {}  # the decoder in the scan's precision
        self.removal = Removal()
        """What is not listened to beyond the columns in `suppressed`: silenced words, and what a view leaves out."""
        self.open_words: tuple[OpenWords] | None = None  # a tuple: the module belongs to the model
        self._silences: dict[frozenset[str], Silence] = {}

    @property
    def vocab_size(self) -> int:
        """Columns of the sparse vector, V: tokens and further senses, or tokens at each offset."""
        return len(self.base)

    def suppress(self, tokens: Tensor) -> None:
        """Shut tokens with all their senses, at all offsets, for every input; a sense shuts its token."""
        self.suppressed |= torch.isin(self.base[: len(self.suppressed)], self.base[tokens])

    def restore(self, tokens: Tensor) -> None:
        """Open tokens again, with all their senses, at all offsets."""
        self.suppressed &= ~torch.isin(self.base[: len(self.suppressed)], self.base[tokens])

    def without(self, removal: Removal) -> LexicalEncoder:
        """A view of this encoder, of the same tensors, that does not listen to some tokens and words either."""
        view = copy(self)
        view.removal = self.removal | removal
        return view

    @property
    def silence(self) -> Silence | None:
        """The words that are silenced; None: there are none."""
        words = self.removal.words
        if words and words not in self._silences:
            self._silences.clear()  # of one model at a time few sets are asked for
            self._silences[words] = Silence(self.supports[0].vocabulary, words)
        return self._silences[words] if words else None

    def left_out(self) -> Tensor | None:
        """(V,) bool: the tokens that a view does not listen to, split words by the columns they have now."""
        tokens = [*self.removal.tokens]
        if self.removal.split and self.open_words is not None:
            columns = map(self.open_words[0].column_of, self.removal.split)
            tokens += [column for column in columns if column is not None]
        if not tokens:
            return None
        return torch.zeros_like(self.bias, dtype=torch.bool).index_fill_(
            0, torch.tensor(tokens, device=self.bias.device), True
        )

    @torch.no_grad()
    def write_rows(self, tokens: Tensor, rows: Tensor) -> None:
        """Set the decoder's rows (n, d) of some tokens (n,), for words that get a column while the model is used."""
        self.weight.data[tokens] = rows.to(self.weight.dtype)
        for dtype, table in self._scan_copy.items():
            table[tokens] = rows.to(dtype)

    def _decoder_for_scan(self, dtype: torch.dtype) -> Tensor:
        if dtype == self.weight.dtype:
            return self.weight.detach()
        kept = self._scan_copy.get(dtype)
        if kept is None or kept.device != self.weight.device or self.weight.requires_grad:
            kept = self._scan_copy[dtype] = self.weight.detach().to(dtype)  # kept, so that `write_rows` finds it
        return kept

    def _load_from_state_dict(self, *args, **kwargs) -> None:  # type: ignore[no-untyped-def]
        self._scan_copy.clear()
        super()._load_from_state_dict(*args, **kwargs)

    @torch.no_grad()
    def propose(
        self, sequence: SparseSequence, floor: Tensor, *, everywhere: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Pairs (view (N,), token (N,)) of all supports whose score may exceed `floor` (V,), and their h·E (N,).

        Tokens, not yet columns; the floor of a token is that of the sense that opens first.

        Supports that look at all positions alike propose only a token's best in each text, unless all are wanted
        (`everywhere`) or rows are no texts. A pair that several supports propose is there several times.

        The products are float32: a scan in that precision has them already, those of a faster one are done again.
        """
        state, shut = sequence.views.state.detach(), self.suppressed
        scene = Scene(
            sequence.hidden.detach(),
            sequence.input_ids,
            sequence.speaking,
            self._decoder_for_scan(state.dtype),
            self._lowest(torch.where(shut, torch.inf, floor[: len(shut)])) - self.bias.detach(),
            everywhere or sequence.groups is not None,
            sequence.asked,
            sequence.words,
            None if sequence.words is None else replace(sequence.views, state=state),
        )
        pairs = [support.propose(scene) for support in self.supports]
        view, token, product = (torch.cat(parts) for parts in zip(*pairs, strict=True))
        if (left_out := self.left_out()) is not None:  # after the supports: split words may have met their columns now
            kept = ~left_out[token]
            view, token, product = view[kept], token[kept], product[kept]
        if state.dtype != torch.float32:
            product = pair_dot(state, self.weight.detach(), view, token)
        return view, token, product

    def _lowest(self, floor: Tensor) -> Tensor:
        """(V,) floors of columns to the floor of each token: that of its most easily opened sense."""
        tokens = len(self.bias)
        if self.senses is None:
            return floor.float()
        return floor[:tokens].float().scatter_reduce(0, self.base[tokens:], floor[tokens:].float(), "amin")

    def activate(
        self, sequence: SparseSequence, view: Tensor, column: Tensor, product: Tensor, taken: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Scores z and gated values (N,) of chosen pairs; `taken` (N,) is the senses' own, where there are any."""
        z = self.scores(sequence, view, self.base[column], product)
        value = self.gate(z, column)
        if taken is None:
            return z, value
        # A sense that was not chosen is there for the choice's gradient alone: its score counts as one out of reach.
        z = torch.where(taken > 0.5, z, torch.minimum(z.detach(), self.gate.floor()[column]))
        return z, torch.where(self.suppressed[column], 0.0, value * taken)

    def scores(self, sequence: SparseSequence, view: Tensor, token: Tensor, product: Tensor | None = None) -> Tensor:
        """(N,) z of chosen pairs in float32, differentiable; `product` (N,) is their h·E where that is known."""
        return pair_dot(sequence.views.state, self.weight, view, token, product) + self.bias.index_select(0, token)

    def columns(self, sequence: SparseSequence, view: Tensor, token: Tensor) -> Tensor:
        """(N,) the columns of tokens (N,) at the offsets of views (N,)."""
        role = sequence.views.role
        return token if role is None else token + role[view] * len(self.bias)

    def floor(self) -> Tensor:
        """(V,) the score below which a pair has no influence: on the values, and in training on θ either."""
        return self.gate.floor() if self.training else self.gate.floor(EVALUATION_MARGIN)

    def pool(self, sequence: SparseSequence) -> tuple[SparseRows, Tensor]:
        """A row a text, or what `groups` says: the gated rows, and each entry's highest score z (N,) over positions.

        In training, entries just below their threshold stay in (with value 0), because θ learns from them.
        """
        rows, z = self.pooling(self, sequence)
        if self.training:
            return rows, z
        active = rows.value > 0
        return rows.select(active), z[active]

    def dense(self, sequence: SparseSequence) -> Tensor:
        """(B, L, V) activations by the plain formula; with a `context`, those that the word at a position hears."""
        return dense_activations(self, sequence)

    @torch.no_grad()
    def pooled_scores(self, sequence: SparseSequence) -> Tensor:
        """(N,) the pooled score of every token that a support allows anywhere in a row, for all rows of the batch."""
        view, token, product = self.propose(sequence, torch.full_like(self.gate.theta, -torch.inf))
        z, column = product + self.bias.index_select(0, token), self.columns(sequence, view, token)
        return z[best_position(sequence.views.row[view], column, z, self.vocab_size)]
