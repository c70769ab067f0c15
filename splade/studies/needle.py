"""The needle test: one telling sentence among plain ones. Is the prediction kept, and is the needle its reason?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from splade.attribution.explanation import Explanation
from splade.data.types import TextSplit
from splade.errors import ConfigError, DataError
from splade.inference import explain_batch, predict_batch
from splade.models.lexical_sae import LexicalSAE
from splade.studies.filler import SENTENCES
from splade.utils.cuda import peak_rss_mb, reset_peak_rss

Place = Literal["start", "middle", "end"]
PLACES: tuple[Place, ...] = ("start", "middle", "end")

NEUTRAL = 16
"""Filler sentences used, those of which the model is least sure."""
LONGEST_NEEDLE = 0.5
"""Share of the shortest length a needle may take, so that there is always some hay."""
POSITIONS_A_BATCH = 4096
TIMED_TEXTS = 3
"""Texts timed one by one at each length, after one that is not."""


@dataclass(frozen=True)
class Hidden:
    """A needle in its hay: the sentences joined by spaces, and which of them is the needle."""

    sentences: list[str]
    needle: int

    @property
    def text(self) -> str:
        return " ".join(self.sentences)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where each sentence stands in the text."""
        ends = np.cumsum([len(sentence) + 1 for sentence in self.sentences]).tolist()
        return [(end - len(sentence) - 1, end - 1) for sentence, end in zip(self.sentences, ends, strict=True)]


def default_lengths(longest: int) -> list[int]:
    """64, 128, … and the longest itself."""
    lengths = [64]
    while lengths[-1] * 2 <= longest:
        lengths.append(lengths[-1] * 2)
    return sorted({*(length for length in lengths if length <= longest), longest})


def choose_needles(model: LexicalSAE, test: TextSplit, count: int, shortest: int, seed: int) -> list[tuple[str, str]]:
    """A seeded choice of test texts that the model gets right and that fit, each with its label."""
    room = int(LONGEST_NEEDLE * shortest)
    found: list[tuple[str, str]] = []
    order = np.random.default_rng(seed).permutation(len(test))
    for start in range(0, len(order), 64):
        texts = [test.texts[row] for row in order[start : start + 64]]
        labels = [model.labels[test.labels[row]] for row in order[start : start + 64]]
        predictions = predict_batch(model, texts)
        for text, label, prediction in zip(texts, labels, predictions, strict=True):
            if prediction.label == label and prediction.active_tokens and _tokens(model, text) <= room:
                found.append((text.strip(), label))
        if len(found) >= count:
            return found[:count]
    if not found:
        raise DataError(
            f"No test text of at most {room} tokens is predicted rightly, so there is no needle; train the model "
            "longer or raise study.lengths."
        )
    return found


def neutral_filler(model: LexicalSAE) -> list[str]:
    """Of the plain sentences those the model is least sure of: the smallest highest probability first."""
    predictions = predict_batch(model, SENTENCES)
    order = np.argsort([max(p.probabilities.values()) for p in predictions], kind="stable")
    return [SENTENCES[index] for index in order[:NEUTRAL]]


def hide(model: LexicalSAE, needle: str, filler: Sequence[str], length: int, place: Place, seed: int) -> Hidden:
    """The needle at its place in as much filler, in a seeded order, as makes a text of at most ``length`` tokens.

    A length without room for any filler is an error: a needle alone would weigh most whatever the model does.
    """
    generator = np.random.default_rng(seed)
    hay: list[str] = []
    while True:
        more = [filler[index] for index in generator.permutation(len(filler))]
        for sentence in more:
            tokens = _tokens(model, " ".join([*hay, sentence, needle]))
            if tokens > length:
                if not hay:
                    raise ConfigError(
                        f"study.lengths has {length}, but a needle and one sentence of filler take up to {tokens} "
                        "tokens; leave shorter lengths out."
                    )
                at = {"start": 0, "middle": len(hay) // 2, "end": len(hay)}[place]
                return Hidden([*hay[:at], needle, *hay[at:]], at)
            hay.append(sentence)


def judge(hidden: Hidden, explanation: Explanation, label: str) -> dict[str, float]:
    """What became of one needle; sentences are compared by the sum of |score| of their words."""
    sizes = [
        sum(abs(word.score) for word in explanation.words if start <= word.start < end and word.end > 0)
        for start, end in hidden.spans
    ]
    total, own = sum(abs(word.score) for word in explanation.words), sizes[hidden.needle]
    return {
        "kept": float(explanation.label == label),
        "share": own / total if total else 0.0,
        "rank": 1.0 + sum(size > own for size in sizes),
        "first": float(own > 0 and own >= max(sizes)),
        "sentences": float(len(sizes)),
    }


def measure(
    model: LexicalSAE, needles: Sequence[tuple[str, str]], filler: Sequence[str], length: int, place: Place, seed: int
) -> dict[str, float]:
    """Means over all needles at one length and place."""
    hidden = [hide(model, text, filler, length, place, seed + number) for number, (text, _) in enumerate(needles)]
    explanations = explain_batch(model, [each.text for each in hidden], batch_size=max(1, POSITIONS_A_BATCH // length))
    judged = [judge(*each) for each in zip(hidden, explanations, [label for _, label in needles], strict=True)]
    return {key: float(np.mean([figures[key] for figures in judged])) for key in judged[0]}


@torch.no_grad()
def cost(model: LexicalSAE, length: int, seed: int = 0) -> dict[str, float]:
    """Seconds that one text of just ``length`` tokens takes in the backbone and in all that we add, and the memory."""
    model.eval()
    words = torch.nonzero(~model.vocabulary.special[: model.vocabulary.tokens]).flatten()
    generator = torch.Generator().manual_seed(seed)
    backbone, added = [], []
    for number in range(TIMED_TEXTS + 1):
        ids = words[torch.randint(len(words), (1, length), generator=generator)].to(model.device)  # (1, L)
        mask = torch.ones_like(ids)
        reset_peak_rss()
        before, began = peak_rss_mb(), time.perf_counter()
        sequence = model(ids, mask)
        encoded = time.perf_counter()
        float(model.classify(sequence, mask).logits.sum())  # also waits for a device that works on its own
        ended = time.perf_counter()
        if number:
            backbone.append(encoded - began)
            added.append(ended - encoded)
    return {
        "backbone_seconds": float(np.median(backbone)),
        "added_seconds": float(np.median(added)),
        "extra_mb": peak_rss_mb() - before,
    }


def growth(points: Sequence[tuple[float, float]]) -> float | None:
    """The exponent p of seconds ~ length^p, by least squares on logarithms: 1 is linear, 2 quadratic.

    Only lengths from an eighth of the longest count: with short texts a fixed cost hides the growth.
    """
    longest = max(length for length, _ in points)
    counted = [(length, max(seconds, 1e-9)) for length, seconds in points if length >= longest / 8]
    if len(counted) < 2:
        return None
    lengths, seconds = np.log(np.array(counted)).T
    return float(np.polyfit(lengths, seconds, 1)[0])


def _tokens(model: LexicalSAE, text: str) -> int:
    return len(model.tokenizer(text, verbose=False)["input_ids"])
