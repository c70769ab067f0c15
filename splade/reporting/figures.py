"""The numbers of results.json as a person reads them: a name, a value, and a line on what it means.

Every key of the results is optional. A figure whose number is missing is left out, never shown as a zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

MISSING = "–"


@dataclass(frozen=True)
class Figure:
    """One number of a run."""

    name: str
    value: str
    meaning: str
    """One plain line: what was measured, and which way is good."""
    beside: str = ""
    """The number to compare with, such as the dense baseline's."""


TIMES = (("train", "training"), ("eval", "evaluation"))
"""Parts of a run whose seconds are shown."""


SCORES = {
    "accuracy": ("Accuracy", "Share of held-out texts given the right label."),
    "macro_f1": ("Macro-F1", "F1 averaged over the labels, rare ones counting alike."),
    "f1": ("Entity F1", "Precision and recall in one; an entity must have all its words and its type right."),
    "precision": ("Precision", "Share of the entities found that are right."),
    "recall": ("Recall", "Share of the entities there are that were found."),
    "token_accuracy": ("Right tags", "Share of all words given the right tag; most are outside any entity."),
}
"""How good a model is, by the key of the results: of a classifier the first two, of a tagger the others."""


def unit(results: Mapping[str, Any]) -> str:
    """What a prediction is made for."""
    return "word" if results.get("task") == "tagging" else "text"


def headline(results: Mapping[str, Any]) -> list[Figure]:
    """The few figures a reader wants first, beside the dense baseline where there is one."""
    dense = dense_figures(results)
    figures = [
        *(_beside_dense(results, dense, key, name, meaning) for key, (name, meaning) in SCORES.items()),
        *_active(results),
        *_capped(results),
        _dla(results),
        _lexicon(results),
        _speed(results, dense),
    ]
    return [figure for figure in figures if figure is not None]


def about(results: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the model is and what it was trained on, as name and value."""
    samples = results.get("samples") or {}
    training = results.get("training") or {}
    seconds = results.get("seconds") or {}
    constraint = results.get("constraint") or {}
    labels = results.get("labels") or []
    support = results.get("support")
    parts = ", ".join(f"{count:,} {name}" for name, count in samples.items() if count is not None)
    rows: list[tuple[str, object]] = [
        ("Task", results.get("task")),
        ("Backbone", results.get("backbone")),
        ("Support", " + ".join(support) if isinstance(support, list) else support),
        ("Recipe", results.get("recipe")),
        ("Data", results.get("dataset")),
        ("Where from", results.get("dataset_source")),
        ("Sentences" if unit(results) == "word" else "Texts", parts),
        ("Labels", ", ".join(labels[:10]) + (f" and {len(labels) - 10} more" if len(labels) > 10 else "")),
        ("Training", _counted(training, {"steps": "steps", "epochs": "epochs", "examples": "examples"})),
        ("Truncated", f"{training['truncated']:,} {unit(results)}s were cut" if training.get("truncated") else None),
        ("Constraint", _constraint(constraint)),
        ("Time", ", ".join(f"{seconds[key]:,.0f} s {name}" for key, name in TIMES if is_number(seconds.get(key)))),
        ("Peak memory", f"{results['peak_rss_mb']:,.0f} MB" if is_number(results.get("peak_rss_mb")) else None),
    ]
    return [(name, str(value)) for name, value in rows if value]


def grounding(results: Mapping[str, Any]) -> list[Figure]:
    """Do the words mean what they say? Always read as a pair: how much is covered, and how much of that is right."""
    measured = results.get("grounding") or {}
    lexicon = measured.get("lexicon") or {}
    name = lexicon.get("name", "lexicon")
    figures = [
        _share(
            measured, "input_share", "On words of the text", "Share of the contribution from words that stand there."
        ),
        _share(
            measured,
            "frozen_share",
            "On words the backbone proposes",
            "Share of the contribution from words the untrained backbone would also put there.",
        ),
        _share(
            measured,
            "self_activation",
            "Own word first",
            "How often a word's own token is the strongest at its place.",
        ),
        _share(lexicon, "coverage", f"Rated by {name}", "Share of the contribution on words that people have rated."),
        _share(lexicon, "right_sign", "Of that, right sign", "How much of it agrees with what people say of the word."),
    ]
    figures += _heaviest(measured)
    figures += [
        Figure(
            f"Strongest for {tag}",
            f"{found['token']}, {percent(found['share'])}",
            "Speaks loudest at that share of the words so tagged; near 100 % it only repeats the tag. "
            f"Different ones: {found['different']}.",
        )
        for tag, found in (results.get("strongest") or {}).items()
    ]
    return [figure for figure in figures if figure is not None]


def _heaviest(measured: Mapping[str, Any]) -> list[Figure]:
    """The token and the word that carry most; in older results the token stands with the lexicon."""
    lexicon, token, word = (measured.get(key) or {} for key in ("lexicon", "heaviest", "heaviest_word"))
    token = token or {"token": lexicon.get("heaviest_token"), "share": lexicon.get("heaviest_share")}
    for_label = f", most of it for {word['label']}" if word.get("label") is not None else ""
    carried = [
        (
            "Heaviest token",
            token.get("token"),
            token.get("share"),
            "The one vocabulary token that carries most; a large share would be a private code, not a reason.",
        ),
        (
            "Heaviest word",
            word.get("word"),
            word.get("share"),
            f"The word of the texts that most contribution comes from{for_label}; is it a good reason?",
        ),
    ]
    return [
        Figure(name, f"{what}, {percent(share)}", meaning) for name, what, share, meaning in carried if is_number(share)
    ]


def separation(results: Mapping[str, Any]) -> list[dict[str, str]]:
    """Likeness of class circuits, between classes and within one."""
    measured = results.get("separation") or {}
    rows = [
        {"name": name, "between": decimal(measured.get(key)), "within": decimal(measured.get(f"within_{key}"))}
        for key, name in (
            ("cosine", "Cosine"),
            ("size_cosine", "Cosine of sizes"),
            ("overlap", "Cosine of sizes, all active tokens"),
            ("jaccard", "Jaccard"),
        )
    ]
    return [row for row in rows if row["between"] != MISSING]


def dense_figures(results: Mapping[str, Any]) -> dict[str, float]:
    """The dense baseline's numbers, wherever the run wrote them."""
    found = {"accuracy": results.get("dense_accuracy"), **(results.get("dense") or {})}
    return {key: value for key, value in found.items() if is_number(value)}


def percent(share: object) -> str:
    """A share in per cent with one decimal."""
    return f"{100 * share:.1f} %" if is_number(share) else MISSING


def decimal(value: object) -> str:
    """A number with three decimals."""
    return f"{value:.3f}" if is_number(value) else MISSING


def thousands(value: object) -> str:
    """A whole number, its thousands apart."""
    return f"{value:,}" if is_number(value) else MISSING


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value can be shown: a finite number, and not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _beside_dense(
    results: Mapping[str, Any], dense: Mapping[str, float], key: str, name: str, meaning: str
) -> Figure | None:
    if not is_number(results.get(key)):
        return None
    beside = ""
    if key in dense:
        points = 100 * (results[key] - dense[key])
        beside = f"dense head {percent(dense[key])} ({points:+.1f} points)"
    return Figure(name, percent(results[key]), meaning, beside)


def _active(results: Mapping[str, Any]) -> list[Figure]:
    """The length of the sums; of a tagger also at the words of entities, whose sums are the ones read."""
    row = unit(results)
    where = "at a word" if row == "word" else "in a text"
    of = f"of {results['vocab_size']:,}" if is_number(results.get("vocab_size")) else ""
    names = {
        "active_tokens": (
            f"Active tokens a {row}",
            f"Vocabulary tokens with a say {where}, on average: all that an explanation holds.",
        ),
        "active_tokens_entities": (
            "Active tokens a word of an entity",
            "The same where there is something to explain: the many words outside any entity have fewer.",
        ),
    }
    figures = []
    for key, (name, meaning) in names.items():
        active = results.get(key) or {}
        if is_number(active.get("mean")):
            spread = f"95 % of {row}s at most {active['p95']:.0f}" if is_number(active.get("p95")) else ""
            beside = ", ".join(part for part in (of, spread) if part)
            figures.append(Figure(name, f"{active['mean']:.1f}", meaning, beside))
    return figures


def _capped(results: Mapping[str, Any]) -> list[Figure]:
    """Entity F1 of a tagger whose words keep only so many tokens."""
    return [
        Figure(
            f"Entity F1, {k} tokens",
            percent(capped["f1"]),
            f"When no word may keep more than its {k} strongest tokens.",
            f"{percent(capped.get('capped'))} of words had more",
        )
        for k, capped in (results.get("topk_per_position") or {}).items()
        if is_number(capped.get("f1"))
    ]


def per_type(results: Mapping[str, Any]) -> list[dict[str, str]]:
    """Entities of each type: how well they are found, beside the dense baseline where there is one."""
    dense = (results.get("dense") or {}).get("per_type") or {}
    return [
        {
            "name": name,
            **{key: percent(found.get(key)) for key in ("precision", "recall", "f1")},
            "dense": percent((dense.get(name) or {}).get("f1")),
            "support": thousands(found.get("support")),
        }
        for name, found in (results.get("per_type") or {}).items()
    ]


def _dla(results: Mapping[str, Any]) -> Figure | None:
    dla = results.get("dla") or {}
    if not is_number(dla.get("max_error")):
        return None
    mean = f"mean {dla['mean_error']:.1e}" if is_number(dla.get("mean_error")) else ""
    return Figure(
        "Largest error of the sum",
        f"{dla['max_error']:.1e}",
        f"Largest gap between a logit and the sum of its words, over every held-out {unit(results)} and label.",
        mean,
    )


def _lexicon(results: Mapping[str, Any]) -> Figure | None:
    lexicon = (results.get("grounding") or {}).get("lexicon") or {}
    if not (is_number(lexicon.get("coverage")) and is_number(lexicon.get("right_sign"))):
        return None
    return Figure(
        "On rated words",
        percent(lexicon["coverage"]),
        "Share of the contribution on words people have rated, and how much of it has the sign they gave.",
        f"{percent(lexicon['right_sign'])} of it with the right sign",
    )


def _speed(results: Mapping[str, Any], dense: Mapping[str, float]) -> Figure | None:
    per_step = (results.get("seconds") or {}).get("per_step")
    if not is_number(per_step):
        return None
    base = dense.get("seconds_per_step", 0.0)
    beside = f"{per_step / base:.2f} × the dense head's" if base else ""
    return Figure("Seconds a step", f"{per_step:.3f}", "Time of one training step.", beside)


def _share(measured: Mapping[str, Any], key: str, name: str, meaning: str) -> Figure | None:
    return Figure(name, percent(measured[key]), meaning) if is_number(measured.get(key)) else None


def _constraint(constraint: Mapping[str, Any]) -> str:
    if not is_number(constraint.get("tau")):
        return ""
    kept = "met" if constraint.get("satisfied") else "not met"
    step = f" by the model of step {constraint['step']:,}" if is_number(constraint.get("step")) else ""
    return f"training cross-entropy near {constraint['tau']:.4f} or below, and sparse: {kept}{step}"


def _counted(numbers: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return ", ".join(f"{numbers[key]:,.6g} {name}" for key, name in names.items() if is_number(numbers.get(key)))
