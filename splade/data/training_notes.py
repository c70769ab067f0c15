"""Sentences about training texts that a reader of the results should not miss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from splade.data.types import TaggedSplit, TextSplit

FEW_TEXTS = 10  # of a class: too few to learn much from
FEW_SHARE = 0.1  # of the largest class: a model that never says the class is hardly less accurate
SHOWN_CLASSES = 5


def training_notes(split: TextSplit | TaggedSplit, label_names: Sequence[str]) -> list[str]:
    """What is odd about the classes of the training texts."""
    return [*_uneven(split, label_names), *_contradicting(split)] if isinstance(split, TextSplit) else []


def _uneven(split: TextSplit, label_names: Sequence[str]) -> Iterator[str]:
    counts = Counter(split.labels)
    (largest, most), *_ = counts.most_common(1)
    rare = [(count, label) for label, count in counts.items() if count < max(FEW_TEXTS, FEW_SHARE * most)]
    if rare:
        named = ", ".join(f"'{label_names[label]}' {count:,}" for count, label in sorted(rare)[:SHOWN_CLASSES])
        more = f" and {len(rare) - SHOWN_CLASSES} more" if len(rare) > SHOWN_CLASSES else ""
        yield (
            f"Some classes have few of the {len(split):,} training texts: {named}{more} (most, {most:,}, has "
            f"'{label_names[largest]}'); they are easily missed, so look at macro-F1 beside the accuracy."
        )


def _contradicting(split: TextSplit) -> Iterator[str]:
    labels: dict[str, int] = {}
    several = {
        text for text, label in zip(split.texts, split.labels, strict=True) if labels.setdefault(text, label) != label
    }
    if several:
        yield f"{len(several):,} different training texts occur with more than one label."
