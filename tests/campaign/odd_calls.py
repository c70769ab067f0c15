"""The other public functions and methods, called rightly and wrongly."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from splade import (
    explain_batch,
    explain_model,
    explain_tags,
    explain_tags_batch,
    predict_batch,
    predict_model,
    tag_model,
)
from splade.inference import explain_model_spans, score_model
from splade.models.lexical_sae import LexicalSAE
from tests.campaign.case import Trial
from tests.campaign.containers import ACCEPTED, REFUSED
from tests.campaign.verdicts import expect, must_accept, must_refuse
from tests.campaign.workshop import TAGGER, Workshop, load, reviews, sentences, truth

Call = Callable[[Random, Workshop], Trial]
ONE: dict[str, Callable[..., Any]] = {
    "predict_model": predict_model,
    "explain_model": explain_model,
    "explain_model_spans": explain_model_spans,
    "tag_model": tag_model,
    "explain_tags": explain_tags,
}
NO_TEXTS: list[Any] = [None, 5, 1.5, float("nan"), b"good", {"text": "good"}, object(), True, np.arange(3)]
EXACT = 1e-4


def draw_odd_call(rng: Random, workshop: Workshop) -> Trial:
    return rng.choice(CALLS)(rng, workshop)


def _refused(description: str, run: Callable[[], object]) -> Trial:
    return Trial(description, lambda _: must_refuse(run, description))


def _accepted(description: str, check: Callable[[], object]) -> Trial:
    return Trial(description, lambda _: must_accept(check, description))


def _one_text(rng: Random, workshop: Workshop) -> Trial:
    name = rng.choice(list(ONE))
    model = workshop.model(TAGGER if "tag" in name else "named")
    bad = rng.choice([*NO_TEXTS, ["good", "bad film"]])
    return _refused(f"{name} of {bad!r:.40}", lambda: ONE[name](load(model), bad))


def _other_task(rng: Random, workshop: Workshop) -> Trial:
    name = rng.choice(list(ONE))
    model = workshop.model("named" if "tag" in name else TAGGER)
    return _refused(f"{name} of a model for the other task", lambda: ONE[name](load(model), "good film"))


def _target(rng: Random, workshop: Workshop) -> Trial:
    tags = rng.random() < 0.4
    folder = workshop.model(TAGGER if tags else "named")
    bad = rng.choice(["", "nonsense", 0, 1, -1, 1.5, None, ["positive"], "Positive", b"positive", True])

    def explain(target: Any) -> Any:
        texts = sentences(2) if tags else reviews(2)
        return (
            explain_tags_batch(load(folder), texts, target=target)
            if tags
            else explain_batch(load(folder), texts, target)
        )

    if bad is None:
        return _accepted("explain with target=None", lambda: _exact(explain(None)))
    return _refused(f"explain with target={bad!r}", lambda: explain(bad))


def _exact(explained: Any) -> None:
    """Tokens and bias are the logit."""
    for each in explained:
        for explanation in [word.explanation for word in each.explained] if hasattr(each, "explained") else [each]:
            total = explanation.bias + math.fsum(token.score for token in explanation.tokens)
            error = abs(total - explanation.logits[explanation.target])
            expect(error <= EXACT, f"tokens + bias differ from the logit by {error:.2g}")


def _score(rng: Random, workshop: Workshop) -> Trial:
    """Texts and labels in any two containers: the accuracy is that of two lists."""
    texts, count = reviews(16, rng.randrange(1000)), 16
    labels: list[Any] = truth(texts)
    kinds = [rng.choice(list(ACCEPTED)) for _ in range(2)]
    given = [ACCEPTED[kind](rng, each) for kind, each in zip(kinds, (texts, labels), strict=True)]
    if all(hasattr(each, "reindex") for each in given):  # of two Series with other indexes nobody knows what is meant
        given[1].index = given[0].index

    def check() -> None:
        model = load(workshop.model("named"))
        right = sum(p.label == label for p, label in zip(predict_batch(model, texts), labels, strict=True))
        found = score_model(model, *given)["accuracy"]
        expect(math.isclose(found, right / count), f"accuracy {found}, but {right} of {count} are right")

    return _accepted(f"score_model of a {kinds[0]} and a {kinds[1]}", check)


def _bad_score(rng: Random, workshop: Workshop) -> Trial:
    texts, labels = reviews(8), truth(reviews(8))
    kind = rng.choice([*REFUSED, "labels"])
    if kind == "labels":
        bad: Any = rng.choice(
            [
                labels[:-1],
                [*labels[:-1], "nonsense"],
                [*labels[:-1], None],
                [5] * 8,
                None,
                "positive",
                [1.5] * 8,
                [-1] * 8,
                [float("nan")] * 8,
            ]
        )
        return _refused(
            f"score_model with labels {bad!r:.60}", lambda: score_model(load(workshop.model("named")), texts, bad)
        )
    return _refused(
        f"score_model of {kind}", lambda: score_model(load(workshop.model("named")), REFUSED[kind](texts), labels)
    )


def _numbers_as_labels(rng: Random, workshop: Workshop) -> Trial:
    """Numbers mean something only to a model whose classes are numbers."""
    texts = reviews(8)
    numbers = [int(label == "positive") for label in truth(texts)]
    if rng.random() < 0.5:
        return _refused(
            "score_model of numbers, classes being names",
            lambda: score_model(load(workshop.model("named")), texts, numbers),
        )
    return _accepted("score_model of numbers", lambda: score_model(load(workshop.model("numbered")), texts, numbers))


def _spans(rng: Random, workshop: Workshop) -> Trial:
    text = "the movie was good and charming"
    good: Any = rng.choice([None, [], [(0, 3), (4, 9)], [(0, len(text))], np.array([[0, 3], [4, 9]]), ((0, 9),)])
    bad: Any = rng.choice([[(5, 2)], [(-1, 3)], [5], "ab", [(0.5, 2)], [(None, 2)], [(0, 1, 2)], 5])

    def check() -> None:
        model = load(workshop.model("named"))
        explanation = explain_model(model, text)
        total = explanation.bias + math.fsum(score for _, score in explain_model_spans(model, text, good))
        expect(abs(total - explanation.logits[explanation.target]) <= EXACT, "spans + bias are not the logit")

    if rng.random() < 0.5:
        return _accepted(f"explain_model_spans of {good!r:.60}", check)
    return _refused(
        f"explain_model_spans of {bad!r}", lambda: explain_model_spans(load(workshop.model("named")), text, bad)
    )


def _word(rng: Random, workshop: Workshop) -> Trial:
    bad: Any = rng.choice([-1, 10_000, 1.5, "0", None, [0]])
    if bad is None:
        return _accepted(
            "explain_tags of all", lambda: _exact([explain_tags(load(workshop.model(TAGGER)), "john saw london")])
        )
    return _refused(
        f"explain_tags with word={bad!r}",
        lambda: explain_tags(load(workshop.model(TAGGER)), "john saw london", word=bad),
    )


def _suppress(rng: Random, workshop: Workshop) -> Trial:
    good: Any = rng.choice(
        [["good"], ("good", "bad"), "good", [], np.array(["good"], dtype=object), (w for w in ["good", "great"])]
    )
    bad: Any = rng.choice([["nonsenseword"], [5], None, 5, b"good", [None], [""], [["good"]], [float("nan")]])

    def check() -> None:
        model = LexicalSAE.from_pretrained(workshop.model("named"))
        words = list(good) if not isinstance(good, str) else [good]
        model.suppress(words if hasattr(good, "__next__") else good)
        names = {token.token for one in explain_batch(model, reviews(10)) for token in one.tokens}
        expect(not names & set(words), f"{words} still fire")

    if rng.random() < 0.5:
        return _accepted(f"suppress {good!r:.50}", check)
    return _refused(f"suppress {bad!r}", lambda: LexicalSAE.from_pretrained(workshop.model("named")).suppress(bad))


def _topk(rng: Random, workshop: Workshop) -> Trial:
    most: Any = rng.choice([0, 1, 3, 10**9, -1, 1.5, "3", None, float("nan")])
    good = type(most) is int and most >= 0

    def run() -> None:
        model = LexicalSAE.from_pretrained(workshop.model(TAGGER))
        model.topk_per_position = most
        counts = [
            len(word.explanation.tokens)
            for one in explain_tags_batch(model, sentences(4), word=0)
            for word in one.explained
        ]
        expect(not most or max(counts) <= most, f"{max(counts)} tokens are kept, not {most}")

    return _accepted(f"topk_per_position = {most!r}", run) if good else _refused(f"topk_per_position = {most!r}", run)


def _from_pretrained(rng: Random, workshop: Workshop) -> Trial:
    if rng.random() < 0.3:
        device: Any = rng.choice(["nonsense", "cuda:99"])
        return _refused(
            f"from_pretrained on the device {device!r}",
            lambda: LexicalSAE.from_pretrained(workshop.model("named"), device),
        )
    bad: Any = rng.choice(
        ["", ".", "nowhere", "/dev/null", "a\0b", "x" * 300, workshop.backbone, workshop.run("named"), workshop.folder]
    )
    return _refused(f"from_pretrained of {bad!r:.40}", lambda: LexicalSAE.from_pretrained(bad))


CALLS: tuple[Call, ...] = (
    *(_one_text, _other_task, _target, _score, _score, _bad_score, _numbers_as_labels),
    *(_spans, _word, _suppress, _topk, _from_pretrained),
)
