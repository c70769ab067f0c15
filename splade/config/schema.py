"""Every setting of an experiment, with its type, its range, its default and the reason it exists.

The dataclasses are frozen: a run is described once, in ``config.yaml``; ``dataclasses.replace`` makes a variation.
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Literal

from pydantic import Field, Strict, model_validator
from pydantic.dataclasses import dataclass

from splade.config.loss_weights import LossWeights
from splade.config.numbers import (
    ALL_ROWS,
    Flag,
    NonNegative,
    NonNegativeInt,
    Number,
    Positive,
    PositiveInt,
    PositiveOrAuto,
    Samples,
    Share,
    ShareBelowOne,
)
from splade.config.study import StudyConfig
from splade.config.surgery import SurgeryConfig
from splade.config.texts import ColumnName, Delimiter, Encoding, FilePath, Names, Text
from splade.config.variants import SETTINGS, Choice, Choices, OpenSection, open_to

Task = Annotated[str, Choice("task")]
Gate = Annotated[str, Choice("gate")]
Pooling = Annotated[str, Choice("pooling")]
Head = Annotated[str, Choice("head")]
Recipe = Annotated[str, Choice("recipe")]
Optimizer = Annotated[str, Choice("optimizer")]
Anchor = Annotated[str, Choice("anchor", "none")]
Supports = Annotated[list[str], Choices("support")]


@dataclass(config=SETTINGS, frozen=True)
class DataConfig:
    """Which texts, and which of them train, validate and test."""

    dataset_name: Text | None = "movie_sentences"
    """A folder of the data root, a packaged set, one of the named sets (``sst2``, ``imdb``, ...) or a Hub name."""
    dataset_config: Text | None = None
    """The configuration of a Hub set that has several."""
    train_file: FilePath | None = None
    """Own training texts (CSV, TSV, JSONL, each also .gz, or Parquet; for tagging JSONL, Parquet or columns in .conll,
    .bio, .iob, .txt, .tsv); when given, ``dataset_name`` is not used."""
    validation_file: FilePath | None = None
    """Own validation texts; without them a stratified part of the training texts is held out."""
    test_file: FilePath | None = None
    """Own test texts; without them a stratified part of the training texts is held out."""
    root: FilePath | None = None
    """Folder with one folder a data set; null: the environment variable ``LEXICAL_SAE_DATA``."""
    text_column: Text | None = None
    """Column of the texts; null: ``text``, what a named set calls it, or the one that a usual name (``review``,
    ``sentence``, ...) or its look tells for certain."""
    label_column: Text | None = None
    """Column of the labels; null: ``label``, what a named set calls it, or the one that a usual name (``class``,
    ``sentiment``, ...) or its look tells for certain."""
    delimiter: Delimiter | None = None
    """Character between the fields of CSV and TSV files, or ``tab``, ``comma``, ``semicolon``, ``pipe``, ``space``;
    null: found, of commas, tabs, semicolons and pipes."""
    encoding: Encoding | None = None
    """Encoding of text files, such as ``cp1252``; null: UTF-8. A byte-order mark of UTF-8, 16 or 32 goes before it."""
    tokens_column: ColumnName | None = None
    """Column of a tagged set's words, a list a sentence; null: ``tokens`` or what looks like it, of a column file the
    first. The columns of a column file have numbers, from 1."""
    tags_column: ColumnName | None = None
    """Column of a tagged set's tags, as many as words; null: ``tags`` or ``ner_tags``, of a column file the last."""
    labels: Names | None = None
    """Class names in order; null: what the data set says, else the sorted distinct training labels. For tagging the
    tags that may occur, in the order of their numbers if the data writes numbers."""
    train_samples: Samples = ALL_ROWS
    """Training texts used, a seeded stratified sample; -1: all."""
    validation_samples: Samples = ALL_ROWS
    """Validation texts used; -1: all."""
    test_samples: Samples = ALL_ROWS
    """Test texts used; -1: all."""
    validation_fraction: ShareBelowOne = 0.1
    """Share of the training texts held out when the source has no validation split."""
    train_split: Text | None = None
    """Split of the source that trains; null: ``train``."""
    validation_split: Text | None = None
    """Split of the source that validates; null: ``validation`` where there is one."""
    test_split: Text | None = None
    """Split of the source that tests; null: ``test`` where there is one."""
    max_length: Annotated[int, Strict(), Field(ge=3)] = 128
    """Tokens a text is cut to, its two special tokens included; what is cut is counted and reported. For tagging the
    size of a window: a longer sentence is read in overlapping windows, and nothing is cut."""
    long_texts: Literal["cut", "windows"] = "cut"
    """What longer texts train as: ``cut``, or in ``windows``, each a text of its own with the label of the whole. Test
    texts are cut, but for ``documents`` and ``agreement``, where their windows decide together. Not for tagging."""

    @model_validator(mode="after")
    def _check_source(self) -> DataConfig:
        if self.dataset_name is None and self.train_file is None:
            raise ValueError("needs a 'dataset_name' or a 'train_file', and has neither")
        if self.train_file is None and (self.validation_file or self.test_file):
            raise ValueError(
                "has a 'validation_file' or 'test_file' but no 'train_file' to go with it; name one (to measure a "
                "saved model on a file alone: lexical-sae evaluate --file)"
            )
        if self.labels is not None and len(set(self.labels)) < max(2, len(self.labels)):
            raise ValueError("needs two or more different names in 'labels'")
        return self


@open_to("support", "gate", "pooling", "head")
@dataclass(config=SETTINGS, frozen=True, eq=False, repr=False)
class ModelConfig(OpenSection):
    """The encoder, which vocabulary tokens may fire, and the head that sums them."""

    name: Text = "minilm"
    """The backbone: the alias ``minilm`` (or ``mpnet``, with ``requirements-mpnet.txt``), a local folder or the Hub
    name of any masked language model; or the folder of a saved Lexical-SAE of either task, whose backbone learns on
    under a new gate and head."""
    revision: Text | None = None
    """Branch, tag or commit of a Hub backbone."""
    support: Supports = field(default_factory=lambda: ["neighbourhood"])
    """Tokens that may fire at a position: one name, or several joined (``neighbourhood+dictionary``, or a list)."""
    exclude_stop_words: Flag = True
    """Keep stop words from firing (negations always may), because they soak up contribution and explain nothing."""
    gate: Gate | None = None
    """How a score becomes an activation or exactly zero: ``jumprelu`` keeps the whole score above the threshold,
    ``drelu`` what it exceeds it by, ``drelu_log1p`` the logarithm of that; null: the recipe's."""
    pooling: Pooling = "max"
    """How a text's positions become one sparse vector: ``max`` takes each token's best, ``attention`` a sum weighted by
    a learned score a position (``training.pooling`` is read as this setting too)."""
    word_pieces: Literal["first", "all"] = "first"
    """What a word that the tokenizer splits is tagged by: its ``first`` piece, or ``all`` of them, pooled."""
    context: NonNegativeInt = 0
    """Tagging: how many words to the left and to the right of a word speak for its tag beside itself, each by itself or
    its neighbours (with the support ``neighbourhood`` and the head ``tied_mlp``). 0: the word alone."""
    aspects: PositiveInt = 1
    """Tagging with a context: ways in which a word may speak for its own tag (*Washington* as a person or a place),
    each with a score and weights of its own; half as many for the words beside it, and so on."""
    topk_per_position: NonNegativeInt = 0
    """Tagging, after training only: how many active tokens a word may keep, its most active ones; 0: all."""
    head: Head = "tied_mlp"
    """How the sparse vector becomes logits: ``relu_mlp`` has a weight vector a word, ``tied_mlp`` derives it from the
    word's frozen embedding, so that near synonyms speak alike, ``bcos`` is a B-cos network: no bias, every unit scaled
    by how well the input points its way."""
    senses: PositiveInt = 1
    """Senses of ambiguous tokens, each with a column of its own (``bank#2``); the hidden state chooses one at each
    position. 1: none."""
    sense_tokens: Literal["auto"] | list[Text] = "auto"
    """Words that get senses; auto: those whose hidden states in the training texts fall most clearly into groups."""
    hidden_size: PositiveInt = 256
    """Width of the head's hidden layer."""
    token_dropout: Annotated[Number, Field(ge=0, lt=1)] = 0.1
    """Chance of each active token to be left out in a training step, so that evidence does not rest on single ones."""
    train_embeddings: Flag = False
    """Train the input word embeddings too; frozen, words keep their places and a step costs a third less."""
    train_decoder: Flag = False
    """Train the output embedding; frozen it keeps each token's meaning in place."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Precision of the backbone; auto: bfloat16 where the hardware is fast at it. The head is always float32."""

    @model_validator(mode="after")
    def _check_senses(self) -> ModelConfig:
        if self.senses == 1 and self.sense_tokens != "auto":
            raise ValueError("has 'sense_tokens', but 'senses' is 1, so that no word has several; set it to 2 or more")
        return self


@open_to("optimizer", "anchor", "completeness loss", "separation loss", "sparsity loss", "deletion loss")
@dataclass(config=SETTINGS, frozen=True, eq=False, repr=False)
class TrainingConfig(OpenSection):
    """The two-phase training: first cross-entropy alone, then circuit losses under a constraint on it."""

    recipe: Recipe = "cajt"
    """The gate and the set of losses; ``baseline`` is cross-entropy only."""
    epochs: PositiveInt = 2
    """Passes over the training texts."""
    max_steps: PositiveInt | None = None
    """Stop after so many optimiser steps; null: after the epochs."""
    batch_size: PositiveInt | None = 32
    """Texts a batch; null: chosen from the memory there is."""
    gradient_accumulation_steps: PositiveInt = 1
    """Batches whose gradients make one optimiser step."""
    optimizer: Optimizer = "adamw"
    """``schedule_free``: Schedule-Free AdamW; ``adamw``: AdamW with warm-up and cosine decay."""
    learning_rate: PositiveOrAuto = 1e-4
    """Base learning rate of the backbone; ``auto``: found by a short range test before training."""
    head_learning_rate: Positive = 1e-3
    """Learning rate of the head, which starts from nothing and needs longer strides."""
    gate_learning_rate: Positive = 1e-2
    """Learning rate of the thresholds, which need longer strides too; ``lexical_sae`` takes five times as much."""
    weight_decay: NonNegative | None = None
    """Decoupled weight decay; null: a tenth of the learning rate."""
    weight_ema: Annotated[Number, Field(ge=0, lt=1)] | None = None
    """Decay of a moving average of the weights, which is the model; null: the recipe's (0.999 for ``lexical_sae`` and
    ``cis``, otherwise none); 0: none. Not with ``schedule_free``, which averages itself."""
    lr_warmup_steps: NonNegativeInt = 50
    """Steps over which the learning rate rises from zero."""
    mlm_warmup_steps: NonNegativeInt = 0
    """Steps of masked-token prediction before anything else, for a backbone without a trained masked-LM head."""
    warmup_fraction: ShareBelowOne = 0.4
    """Share of the steps spent on cross-entropy alone, from which the constraint is set."""
    dropout: Flag = False
    """Whether the backbone leaves out units by chance while it learns. Without it a text's logit in training is the one
    in use, and the deletion loss need not read whole texts a second time."""
    sparsity_target: Share = 0.1
    """Share of a text's active tokens that make up its circuit."""
    active_target: Positive = 20.0
    """Active tokens a text that the sparsity pressure aims at; without an aim it would not stop before one."""
    target_accuracy: ShareBelowOne | None = None
    """Accuracy p from which the bound τ on the cross-entropy is derived: τ = −p·log p − (1−p)·log((1−p)/(C−1)), that of
    a model always just as sure as it is right (labels smoothed by ε: with (1−ε)·p + ε/C for p). An approximation: a
    model that knows when it is sure stays below τ at the same accuracy, an overconfident one above it. Null: from the
    warm-up."""
    label_smoothing: Annotated[Number, Field(ge=0, lt=1)] = 0.0
    """Share of the target probability spread over all classes."""
    max_grad_norm: Positive = 1.0
    """Gradients are scaled down to this norm."""
    early_stopping_patience: PositiveInt | None = None
    """Validations without improvement after which training ends; null: never."""
    eval_every: PositiveInt | None = None
    """Steps between validations; null: ten validations a run."""
    save_every: PositiveInt | None = None
    """Steps between checkpoints; null: one with every validation."""
    log_every: PositiveInt = 10
    """Steps between lines of ``metrics.jsonl``."""
    anchor: Anchor | None = None
    """What keeps words meaning themselves; null: the recipe's (``own_token`` for ``cajt`` where the support is a
    neighbourhood, otherwise none). ``own_token``: each word scores highest in its own neighbourhood;
    ``frozen_scores``: vocabulary scores stay near the untrained backbone's; ``register``: tokens that speak where
    neither they nor their neighbours stand, or carry over a tenth of all contribution, are penalised."""
    loss_weights: LossWeights = field(default_factory=LossWeights)
    """Weights of the circuit losses."""

    @model_validator(mode="after")
    def _check_averages(self) -> TrainingConfig:
        if self.weight_ema and self.optimizer == "schedule_free":
            raise ValueError("has a 'weight_ema', but the optimizer 'schedule_free' averages the weights itself")
        return self


@open_to("measure")
@dataclass(config=SETTINGS, frozen=True, eq=False, repr=False)
class EvaluationConfig(OpenSection):
    """What is measured after training, always on the test split."""

    measures: Annotated[list[str], Choices("measure")] | None = None
    """The measures to take, one name or several joined (``identity,completeness``, or a list); null: all that are for
    the task, but for those that take long and are taken only when named."""
    dense_baseline: Flag = False
    """Also train the same backbone with an ordinary head, on the same data and budget."""
    batch_size: PositiveInt = 64
    """Texts a batch."""
    explain_samples: NonNegativeInt = 10
    """Texts explained in the report."""
    max_samples: Samples = ALL_ROWS
    """Test texts the slower measurements look at; -1: all."""


@dataclass(config=SETTINGS, frozen=True)
class Config:
    """One experiment."""

    experiment_name: Text = "lexical_sae"
    """Title of the report."""
    task: Task = "classification"
    """What is predicted: one class a text, or by ``tagging`` which words name an entity, and of which type."""
    output_dir: FilePath = "results/lexical_sae"
    """Folder that receives everything the run leaves behind."""
    seed: Annotated[NonNegativeInt, Field(lt=2**63)] = 42
    """Seed of every random choice."""
    data: DataConfig = field(default_factory=DataConfig)
    """Which texts."""
    model: ModelConfig = field(default_factory=ModelConfig)
    """Which model."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """How it is trained."""
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    """What is measured."""
    study: StudyConfig = field(default_factory=StudyConfig)
    """Which variations of all this are compared, if any."""
    surgery: SurgeryConfig = field(default_factory=SurgeryConfig)
    """What is removed from a trained model, and what that is compared with, in the study ``surgery``."""
