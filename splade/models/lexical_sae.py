"""LexicalSAE: a masked language model whose predictions are, exactly, short sums of named words."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from splade.config.schema import ModelConfig, Task
from splade.config.variants import make
from splade.data.batching import EncodedTexts
from splade.data.given import whole_number
from splade.errors import ConfigError, ModelError
from splade.models.backbone import Backbone
from splade.models.calibration import calibrate
from splade.models.context import Context
from splade.models.encoder import LexicalEncoder, SparseSequence
from splade.models.heads import HEADS, HeadParts
from splade.models.layers.activation import DEFAULT_GATE, GATES
from splade.models.layers.virtual_expander import VirtualExpander
from splade.models.open_words import FREE_COLUMNS, OpenWords, split_words_of
from splade.models.pooling import POOLINGS
from splade.models.record import SavedModel
from splade.models.removal import Removal
from splade.models.savable import Savable
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState, TagCircuitState
from splade.models.supports import SUPPORTS, SupportParts
from splade.models.suppression import Suppression
from splade.models.text_methods import TextMethods
from splade.models.vocabulary import Vocabulary
from splade.models.word_reader import WordReader
from splade.task_description import describe
from splade.utils.cuda import pick_dtype

# Positions a processor reads at a time when nothing is learnt: what the layers hold in between then stays near its
# caches. Measured on 2 cores, 32 texts of 128 tokens took 15 % less time and 60 MB less than at once.
POSITIONS_AT_A_TIME = 2048


class LexicalSAE(TextMethods, Suppression, Savable):
    """text → backbone → scores over the vocabulary → gate → sparse s → head → logits.

    sparse_seq = model(input_ids, attention_mask)           # stands for [B, L, V], holds [B, L, d]
    state = model.classify(sparse_seq, attention_mask)      # CircuitState
    state = model.tag(sparse_seq, words)                    # the same with a row a word: TagCircuitState
    state.logits, state.sparse_vector, state.W_eff, state.b_eff

    model.predict(texts), model.explain(texts)              # the same for texts as people have them: `TextMethods`
    """

    kind = "lexical_sae"
    has_sparse_rows = True

    def __init__(
        self,
        backbone: Backbone,
        tokenizer: PreTrainedTokenizerFast,
        labels: Sequence[str],
        config: ModelConfig,
        *,
        max_length: int,
        texts: EncodedTexts | None = None,
        senses: tuple[list[int], Tensor] | None = None,
        open_words: tuple[int, int] | None = None,
        blank: bool = False,
        task: Task = "classification",
    ):
        """`texts`: those that it will be trained on, for supports that take their words from there. `senses`: tokens
        with several of them, and typical hidden states (n, M, d) of each (`choose_senses`). `open_words`: of a saved
        model, how many split words have columns, and how many of these are frequent. `blank`: leave out what a saved
        state dict will fill in. `task`: what the head is trained for."""
        super().__init__()
        config = replace(config, gate=config.gate or DEFAULT_GATE)  # what is saved names the gate it was made with
        self.config, self.labels, self.tokenizer, self.task = config, list(labels), tokenizer, task
        self.record = {}
        self.max_length = min(max_length, backbone.max_length)
        self.backbone = backbone
        if not config.train_embeddings:
            backbone.freeze_embeddings()
        vocabulary = Vocabulary.from_tokenizer(tokenizer, backbone.vocab_size)
        opened = self._open_vocabulary(vocabulary, texts, open_words)
        if opened is not None:
            vocabulary = vocabulary.with_words(len(opened), opened.free)
        self.vocabulary = vocabulary if senses is None else vocabulary.with_senses(senses[0], senses[1].shape[1])
        columns, context = len(self.vocabulary), self._context(senses is not None)
        if context is not None:
            self.vocabulary = vocabulary.at_offsets(context.offsets)
        whole = [(word,) for word in vocabulary.content.tolist()]
        readings = None if opened is None or blank else opened.reader.read_once(whole)
        parts = SupportParts(vocabulary, config.exclude_stop_words, backbone, texts, blank, opened, readings)
        weight, bias = backbone.decoder()
        self.encoder = LexicalEncoder(
            F.pad(weight, (0, 0, 0, len(vocabulary) - len(weight))),
            F.pad(bias, (0, len(vocabulary) - len(bias)), value=0.0 if blank else float(bias.mean())),
            make(GATES, config.gate or DEFAULT_GATE, config, columns),
            [make(SUPPORTS, name, config, parts) for name in config.support],
            config.train_decoder,
            make(POOLINGS, config.pooling, config, backbone.hidden_size),
            None if senses is None else VirtualExpander(len(vocabulary), *senses),
            context,
        )
        sense_of = list(self.vocabulary.sense_of.values())
        blocks = len(self.vocabulary.offsets)
        rest = config.hidden_size, len(self.labels), sense_of, len(opened) if opened else 0, blocks
        self.head = make(HEADS, config.head, config, HeadParts(backbone.frozen_embeddings(), *rest))
        self.open_words = opened
        if opened is not None:
            opened.attach(self.encoder, self.head, self.vocabulary)
        if opened is not None and readings is not None:
            content = vocabulary.content
            table = self.head.words[content].float() if self.head.words_from_meaning else None
            opened.fit(readings, weight[content], table)

    def _context(self, has_senses: bool) -> Context | None:
        """How the words around a word speak for it, where they may."""
        config, words = self.config, self.config.context
        if not words or "model.context" in describe(self.task).idle_settings:
            return None
        fits = {
            f"the head '{config.head}'": HEADS.get(config.head).has_blocks,
            f"the pooling '{config.pooling}'": POOLINGS.get(config.pooling).of_views,
            **{f"the support '{name}'": SUPPORTS.get(name).speaks_for_others for name in config.support},
            f"model.senses={config.senses}": not has_senses,
        }
        if misfit := next((name for name, fit in fits.items() if not fit), None):
            raise ConfigError(
                f"model.context={words} cannot go together with {misfit}; it needs the support 'neighbourhood', the "
                "head 'tied_mlp', the pooling 'max' and one sense a word, or set it to 0."
            )
        return Context(self.backbone.hidden_size, words, config.aspects)

    def _open_vocabulary(
        self, vocabulary: Vocabulary, texts: EncodedTexts | None, saved: tuple[int, int] | None
    ) -> OpenWords | None:
        """Columns for words that the tokenizer splits, where a support lets them speak: those of the training texts, or
        as many as a saved model has."""
        if not any(SUPPORTS.get(name).lets_split_words_speak for name in self.config.support):
            return None
        words, often = ([], 0) if texts is None else split_words_of(texts, vocabulary, given=bool(self.config.context))
        known, often = (len(words), often) if saved is None else saved
        from_meaning = HEADS.get(self.config.head).words_from_meaning
        widths = self.backbone.hidden_size, self.backbone.input_embeddings().embedding_dim if from_meaning else 0
        reader = WordReader(self.backbone, self.tokenizer)
        opened = OpenWords(reader, len(vocabulary), known, often, widths, FREE_COLUMNS if from_meaning else 0)
        if saved is None:
            opened.begin(words)
        return opened

    @classmethod
    def from_saved(cls, backbone: Backbone, tokenizer: PreTrainedTokenizerFast, saved: SavedModel) -> LexicalSAE:
        tokens = saved.sense_tokens
        model = cls(
            backbone,
            tokenizer,
            saved.labels,
            saved.model,
            max_length=saved.max_length,
            senses=(tokens, torch.zeros(len(tokens), saved.model.senses, backbone.hidden_size)) if tokens else None,
            open_words=(saved.open_words, saved.frequent_open_words),
            blank=True,
            task=saved.task,
        )
        if model.open_words is not None:
            model.open_words.shut |= set(map(tuple, saved.shut_words))
        model.encoder.removal = Removal(words=frozenset(saved.silenced_words))
        return model

    def own_settings(self) -> dict[str, Any]:
        opened = self.open_words
        return {
            "sense_tokens": [] if self.encoder.senses is None else self.encoder.senses.tokens.tolist(),
            "open_words": opened.known if opened else 0,
            "frequent_open_words": opened.often if opened else 0,
            "shut_words": sorted(map(list, opened.shut)) if opened else [],
            "silenced_words": self.silenced_words,
        }

    @property
    def precision(self) -> torch.dtype:
        """Of the backbone's products, where the model now is."""
        return pick_dtype(self.device, self.config.dtype)

    @property
    def device(self) -> torch.device:
        return self.encoder.bias.device

    @property
    def vocab_size(self) -> int:
        return self.encoder.vocab_size

    @property
    def topk_per_position(self) -> int:
        """How many tokens a tagged word may keep, its most active ones; 0: all. May be set on a trained model."""
        return self.config.topk_per_position

    @topk_per_position.setter
    def topk_per_position(self, most: int) -> None:
        self.config = replace(self.config, topk_per_position=whole_number(most, "topk_per_position", least=0))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> SparseSequence:
        """Encode a batch (B, L); the result stands for the [B, L, V] sparse activations."""
        with self.autocast():
            if torch.is_grad_enabled() or self.device.type != "cpu":
                hidden = self.backbone(input_ids, attention_mask)  # (B, L, d)
            else:
                texts = max(1, POSITIONS_AT_A_TIME // input_ids.shape[1])
                parts = zip(input_ids.split(texts), attention_mask.split(texts), strict=True)
                hidden = torch.cat([self.backbone(*part) for part in parts])
        if self.precision == torch.float32:
            hidden = hidden.float()
        return SparseSequence(hidden, input_ids, attention_mask, self.encoder)

    def classify(self, sequence: SparseSequence, attention_mask: Tensor | None = None) -> CircuitState:
        """Pool over positions and decide; a row a text. `attention_mask` is already in the sequence, and optional."""
        return self.decide(*self._pool(sequence))

    def tag_words(self, sequence: SparseSequence, words: Tensor | None = None) -> TagCircuitState:
        """Decide on every word; the same encoder, gate and head as for a text, with a row a labelled word.

        `words` (B, L): the number of the word that each position is a piece of, −1 where there is none to decide on; a
        batch's words are counted from 0 in the order of their first pieces. Without it every position that is neither
        padding nor special is a word. Positions nobody asks for are not scored. With a context, further words of the
        texts, which only speak for those to decide on, may have numbers from −2 down, one each.
        """
        sequence = self.by_word(sequence, words)
        rows, scores = self._pool(sequence)
        if self.topk_per_position and not self.training:
            kept = rows.most_active(self.topk_per_position)
            rows, scores = rows.select(kept), scores[kept]
        state = self.decide(rows, scores)
        return TagCircuitState(state.logits, state.rows, state.scores, state.region, sequence)

    def by_word(self, sequence: SparseSequence, words: Tensor | None = None) -> SparseSequence:
        """The sequence with a row a word in the place of a row a text; `words` as in `tag_words`."""
        given = words
        if words is None:
            special = self.vocabulary.special.to(self.device)[sequence.input_ids]
            inside = (sequence.attention_mask > 0) & ~special  # (B, L)
            words = groups = torch.where(inside, inside.flatten().cumsum(0).view_as(inside) - 1, -1)
        elif self.config.word_pieces == "first":
            groups = torch.where(first_pieces(words), words, -1)
        else:
            groups = words.clamp(min=-1)
        heard = words if self.encoder.context is not None else None
        return replace(sequence, groups=groups, words=heard, given=given)

    def _pool(self, sequence: SparseSequence) -> tuple[SparseRows, Tensor]:
        rows, scores = sequence.encoder.pool(sequence)
        if self.training and self.config.token_dropout > 0:
            rows = rows.with_value(F.dropout(rows.value, self.config.token_dropout))
        return rows, scores

    def decide(self, rows: SparseRows, scores: Tensor | None = None) -> CircuitState:
        """The head on any sparse rows, in float32 whatever the backbone's precision."""
        with torch.autocast(self.device.type, enabled=False):
            logits, region = self.head(rows)
        return CircuitState(logits, rows, rows.value if scores is None else scores, region)

    def autocast(self):  # type: ignore[no-untyped-def]
        """The context in which a backbone computes in the model's precision."""
        if self.precision == torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, self.precision)

    def calibrate(self, batches: Sequence[tuple[Tensor, ...]], active_target: float) -> None:
        """Start the thresholds from a sample of the training data; see `splade.models.calibration`."""
        calibrate(self, batches, active_target)


def first_pieces(words: Tensor) -> Tensor:
    """(B, L) bool: where each word of `words` (B, L), as `LexicalSAE.tag_words` takes them, begins."""
    flat = words.flatten()
    before = torch.cat([flat.new_full((1,), -1), flat[:-1]])
    return ((flat >= 0) & (flat != before)).view_as(words)


def check_task(model: Savable, task: Task) -> None:
    """Refuse a model that was trained for the other task: its labels would mean nothing."""
    if model.task != task:
        raise ModelError(
            f"The model {describe(model.task).does} (its task is {model.task}), and a model for {task} was expected; "
            f"name another model, or train one with --set task={task}."
        )
