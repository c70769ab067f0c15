"""Grounding: do the words mean what they say? Always a pair: how much is covered, and how much of that is right."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from splade.errors import ConfigError
from splade.evaluation.artefacts import Artefact
from splade.evaluation.registers import Heaviest
from splade.evaluation.word_weights import WordWeight
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.backbone import Backbone
from splade.models.lexical_sae import LexicalSAE
from splade.models.sparse import SparseRows
from splade.models.vocabulary import Vocabulary
from splade.tasks import Batch, Task

SMALLEST_RATING = 1.0
"""Words people rate nearer to zero than this are not clearly good or bad."""

FROZEN_TOP = 100
"""A token counts as proposed by the frozen backbone when it is among its so many highest scores at the position."""

DENSE_TEXTS = 4
"""Texts whose [L, V] activations are built at a time: a few dozen MB."""


@dataclass(frozen=True)
class LexiconAgreement:
    """Contributions against people's ratings of the words."""

    name: str
    coverage: float
    """Share of all |contribution| that falls on rated words."""
    right_sign: float
    """Share of that whose sign is the rating's."""
    heaviest_token: str
    """The token with the largest share of all |contribution| over the data …"""
    heaviest_share: float
    """… and that share: one token must not become the class."""


@dataclass(frozen=True)
class StrongestToken:
    """What speaks loudest for a class: one token at all its rows would repeat the class, and say nothing of the row."""

    token: str
    """The one that is the strongest of a row most often …"""
    share: float
    """… and at which share of the rows of the class that have any active token."""
    different: int
    """How many tokens are ever the strongest."""
    rows: int


@dataclass(frozen=True)
class Grounding:
    """Whether contributions stand on words that are there, and on what the frozen backbone would also say."""

    input_share: float
    """Share of |contribution| on tokens that are in the text; in tagging, on the word itself."""
    frozen_share: float | None
    """Share of |contribution| on tokens among the frozen backbone's highest hundred at their position."""
    self_activation: float
    """Share of whole-word positions with anything active where the word's own token is the strongest."""
    lexicon: LexiconAgreement | None
    texts: int
    """Texts that `frozen_share` and `self_activation` were measured on."""
    heaviest: Heaviest | None
    """The vocabulary token that carries most; in tagging, at the words tagged as entities. None: nothing does."""
    heaviest_word: WordWeight | None
    """The word of the texts at which most contribution arises; None: at none, or of a tagger."""
    artefacts: list[Artefact]
    """Heavy words of the texts that are no reasons; of a tagger none are looked for: there a word explains itself."""


def load_lexicon(source: str) -> dict[str, float]:
    """Ratings of words: `vader` (the package vaderSentiment), or a file of word<TAB>rating lines."""
    if source == "vader":
        try:
            place = metadata.distribution("vaderSentiment").locate_file("vaderSentiment/vader_lexicon.txt")
        except metadata.PackageNotFoundError as error:
            raise ConfigError(
                "evaluation.lexicon is 'vader', but the package vaderSentiment is not installed; install it with pip "
                "or name a file of word<TAB>rating lines."
            ) from error
        path = Path(str(place))
    else:
        path = Path(source)
        if not path.is_file():
            raise ConfigError(f"evaluation.lexicon names '{source}', which is no file; name one, or 'vader'.")
    ratings = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        parts = line.split("\t")
        try:
            ratings[parts[0]] = float(parts[1])
        except (IndexError, ValueError) as error:
            raise ConfigError(
                f"{path.name}, line {number} is not a word, a tab and a rating: '{line[:40]}'."
            ) from error
    return ratings


class LexiconMeter:
    """Gathers agreement with a lexicon, on attributions to the class that good words should speak for."""

    def __init__(self, name: str, ratings: dict[str, float], vocabulary: Vocabulary):
        strong = {word: rating for word, rating in ratings.items() if abs(rating) >= SMALLEST_RATING}
        whole, names = vocabulary.starts_word.tolist(), [vocabulary.names[token] for token in vocabulary.base.tolist()]
        self.rated = torch.tensor([strong.get(n, 0.0) if w else 0.0 for n, w in zip(names, whole, strict=True)])
        self.name, self.vocabulary = name, vocabulary
        self._by_token = torch.zeros(len(self.rated), dtype=torch.float64)
        self._right = 0.0

    def add(self, attribution: SparseRows) -> None:
        size, rating = attribution.value.abs().double().cpu(), self.rated[attribution.token.cpu()]
        self._by_token.index_add_(0, attribution.token.cpu(), size)
        self._right += float(size[(rating * attribution.value.cpu()) > 0].sum())

    def result(self) -> LexiconAgreement:
        total, rated = float(self._by_token.sum()), float(self._by_token[self.rated != 0].sum())
        heaviest = int(self._by_token.argmax())
        return LexiconAgreement(
            self.name,
            rated / total if total else 0.0,
            self._right / rated if rated else 0.0,
            self.vocabulary.names[heaviest],
            float(self._by_token[heaviest]) / total if total else 0.0,
        )


class StrongestMeter:
    """Counts, class by class, which token adds most to the class's own logit."""

    def __init__(self, labels: list[str], vocabulary: Vocabulary):
        self.labels, self.vocabulary = labels, vocabulary
        self._counts = torch.zeros(len(labels), len(vocabulary), dtype=torch.long)

    def add(self, attribution: SparseRows, classes: Tensor) -> None:
        """`attribution` to `classes` (R,), one a row."""
        first = attribution.rank_in_row(attribution.value) == 0
        place = classes[attribution.row[first]] * len(self.vocabulary) + attribution.token[first]
        self._counts += torch.bincount(place.cpu(), minlength=self._counts.numel()).view_as(self._counts)

    def result(self) -> dict[str, StrongestToken]:
        """By class, of those with any row."""
        found = {}
        for label, counts in zip(self.labels, self._counts, strict=True):
            rows, top = int(counts.sum()), int(counts.argmax())
            if rows:
                share, different = int(counts[top]) / rows, int((counts > 0).sum())
                found[label] = StrongestToken(self.vocabulary.names[top], share, different, rows)
        return found


def positive_class(labels: list[str]) -> int | None:
    """The class that positively rated words should speak for: the one named positive, of two; None if there is none."""
    if len(labels) != 2:
        return None
    names = [label.lower() for label in labels]
    for word in ("positive", "pos", "good"):
        if word in names:
            return names.index(word)
    return None


def input_share(batch: Batch, attribution: SparseRows, base: Tensor | None = None) -> tuple[float, float]:
    """|attribution| on tokens that are in the row's text (of its word), and in all; `base` (V,): the token each column
    is a sense of."""
    text = torch.arange(len(batch.input_ids), device=batch.input_ids.device)[:, None].expand_as(batch.input_ids)
    row = text if batch.words is None else batch.words  # (B, L)
    keys = (row * attribution.vocab_size + batch.input_ids)[row >= 0]
    token = attribution.token if base is None else base[attribution.token]
    there = torch.isin(attribution.row * attribution.vocab_size + token, keys)
    size = attribution.value.abs()
    return float(size[there].sum()), float(size.sum())


@torch.no_grad()
def frozen_share(
    model: LexicalSAE,
    frozen: Backbone,
    task: Task,
    rows: np.ndarray,
    batch_size: int,
    predicted: np.ndarray | None = None,
) -> float:
    """Share of |contribution| to the predicted class on tokens that the untrained backbone also proposes there.

    `predicted` (N,): the classes of all the task's rows, such as decoded tags; None: each row's most probable.
    """
    weight, bias = (t.to(model.device) for t in frozen.decoder())
    agreed = total = 0.0
    for batch in task.in_order(batch_size, model.device, rows):
        state = task.predict(model, batch)
        if predicted is None:
            classes = state.logits.argmax(-1)
        else:
            classes = torch.from_numpy(predicted[batch.places]).to(model.device)
        attribution = compute_attribution_tensor(state, classes)
        if len(attribution) == 0:
            continue
        hidden = frozen(batch.input_ids, batch.attention_mask).reshape(-1, weight.shape[1])  # (B·L, d)
        entry, position, value = attribution.by_position()
        places, inverse = position.unique(return_inverse=True)
        top = (hidden[places].float() @ weight.T + bias).topk(FROZEN_TOP, dim=1).indices  # (P, 100)
        proposed = (top[inverse] == model.encoder.base[attribution.token[entry], None]).any(1)
        size = value.abs()
        agreed, total = agreed + float(size[proposed].sum()), total + float(size.sum())
    return agreed / total if total else 0.0


@torch.no_grad()
def self_activation(model: LexicalSAE, task: Task, rows) -> float:  # type: ignore[no-untyped-def]
    """Of words that are one token and where anything is active: how often that token is the strongest."""
    own = spoken = 0
    starts, wordlike = (mask.to(model.device) for mask in (model.vocabulary.starts_word, model.vocabulary.wordlike))
    goes_on = wordlike & ~starts  # (V,): further pieces of a word
    for batch in task.in_order(DENSE_TEXTS, model.device, rows):
        sequence = model(batch.input_ids, batch.attention_mask)
        if batch.words is not None:
            sequence = model.by_word(sequence, batch.words)
        activations: Tensor = sequence.to_dense()  # (B, L, V)
        value, strongest = activations.max(-1)
        cut = F.pad(goes_on[batch.input_ids[:, 1:]], (0, 1))  # (B, L): the word has a piece more
        speaks = (value > 0) & (starts & wordlike)[batch.input_ids] & ~cut
        own += int((speaks & (model.encoder.base[strongest] == batch.input_ids)).sum())
        spoken += int(speaks.sum())
    return own / spoken if spoken else 0.0
