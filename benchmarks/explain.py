"""The cost of an explanation: plain prediction, our sums and interactions, Integrated Gradients and LIME, on one model.

All start from texts and end with scores of words (prediction: with probabilities). Rivals that need many readings of a
text are given fewer texts, and seconds are compared a text; each reads in batches, as its library or ours lets it.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.measure import Goal, Measurement, Result, Rival, Work, compare
from splade.config.schema import ModelConfig
from splade.data.batching import collate, encode_texts
from splade.data.columns import raw_split
from splade.data.packaged import packaged_source
from splade.errors import DataError
from splade.explainers import EXPLAINERS, ExplainerParts, Subject, WordText
from splade.inference import explain, predict
from splade.models.backbone import Backbone
from splade.models.calibration import INITIAL_DENSITY
from splade.models.lexical_sae import LexicalSAE

PREDICT, EXPLAIN, INTERACT = "prediction", "sum of words (ours)", "interactions (ours)"
RIVALS = {"integrated_gradients": (8, 30.0), "lime": (1, 300.0)}
"""By the name of an explainer: texts a call, and how many times cheaper ours should be."""

LARGEST_RATIO = 1.1
"""Times a plain prediction that ours may take, and times ours that interactions may take for each of their readings."""

SPARSER = 8
"""One text of so many is read once for each of its words."""

BATCH = 32
ACTIVE = 23
"""Tokens a text: as many as the trained default has on such sentences."""


def sentences(count: int) -> tuple[str, ...]:
    """Review sentences of the packaged set, from all lengths."""
    source = packaged_source("movie_sentences")
    texts = raw_split(source.splits["train"]()).texts if source else []
    if len(texts) < count:
        raise DataError(f"The packaged sentences are {len(texts)}, but {count} are asked for; run `make quickstart`.")
    return tuple(texts[:: max(1, len(texts) // count)][:count])


def untrained(texts: Sequence[str], backbone: str, **settings: Any) -> LexicalSAE:
    """A model that lights as many tokens of a text as a trained one; `settings` go to `ModelConfig`."""
    torch.manual_seed(0)
    network, tokenizer = Backbone.from_name(backbone)
    config = ModelConfig(name=backbone, support=["neighbourhood"], **settings)
    model = LexicalSAE(network, tokenizer, ["no", "yes"], config, max_length=64).eval()
    encoded = encode_texts(texts, tokenizer, model.max_length)
    model.calibrate([collate(encoded, range(min(BATCH, len(texts))), tokenizer.pad_token_id)], ACTIVE / INITIAL_DENSITY)
    return model


def build(texts: tuple[str, ...], way: str, backbone: str = "minilm") -> Work:
    """One way of answering for some texts, by an untrained model with calibrated thresholds."""
    model = untrained(texts, backbone)
    tokenizer = model.tokenizer
    if way in (PREDICT, EXPLAIN):
        answer = predict if way == PREDICT else explain

        def work() -> dict[str, float]:
            for start in range(0, len(texts), BATCH):
                answer(model, texts[start : start + BATCH], batch_size=BATCH)
            return {"texts": len(texts), "passes_a_text": 1}

        return work
    if way == INTERACT:

        def delete() -> dict[str, float]:
            found = explain(model, texts, batch_size=BATCH, interactions=True)
            return {
                "texts": len(texts),
                "passes_a_text": 1 + sum(len(one.interactions.words) for one in found) / len(texts),
            }

        return delete
    explainer, words = EXPLAINERS.get(way)(ExplainerParts()), [WordText.of(text) for text in texts]

    def rival() -> dict[str, float]:
        subject = Subject(model, tokenizer, model.max_length, BATCH)
        explainer.explain(subject, words, [0] * len(words))
        return {"texts": len(texts), "passes_a_text": subject.passes / len(texts)}

    return rival


def ratio(one: Measurement, other: Measurement) -> float:
    """How many times the other's seconds a text one takes: the median over rounds."""
    rounds = zip(one.seconds, other.seconds, strict=True)
    return statistics.median(a / b for a, b in rounds) * other.facts["texts"] / one.facts["texts"]


def run(rounds: int = 5, count: int = 256, **options: Any) -> list[Result]:
    """All ways in turns, `count` sentences by those that read a text once."""
    texts = sentences(count)
    middle = sorted(texts, key=len)[len(texts) // 2 :]  # a few of ordinary length stand for all
    rivals = [Rival(way, build, {"texts": texts, "way": way, **options}) for way in (PREDICT, EXPLAIN)]
    for way, (some, _) in RIVALS.items():
        rivals.append(Rival(way, build, {"texts": tuple(middle[:some]), "way": way, **options}))
    rivals.append(Rival(INTERACT, build, {"texts": texts[::SPARSER], "way": INTERACT, **options}))
    found = compare(rivals, rounds)
    deleting = ratio(found[INTERACT], found[EXPLAIN]) / found[INTERACT].facts["passes_a_text"]
    goals = [
        Goal("ours, times the seconds of a prediction", ratio(found[EXPLAIN], found[PREDICT]), LARGEST_RATIO, True),
        Goal("interactions, times the seconds of ours a reading", deleting, LARGEST_RATIO, True),
    ]
    goals += [
        Goal(f"{way}, times the seconds a text of ours", ratio(found[way], found[EXPLAIN]), least, False)
        for way, (_, least) in RIVALS.items()
    ]
    for each in found.values():
        each.facts["ms_a_text"] = 1000 * each.median / each.facts["texts"]
    setting = {
        "texts": f"{count} packaged review sentences",
        "batch_size": BATCH,
        "integrated gradients": f"{ExplainerParts().steps} steps",
        "LIME": f"{ExplainerParts().lime_samples:,} samples",
        "rounds": rounds,
    }
    return [Result("The cost of an explanation", setting, list(found.values()), goals)]
