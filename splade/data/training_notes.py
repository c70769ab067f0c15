"""Sentences about training texts that a reader of the results should not miss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from splade.data.types import TaggedSplit, TextSplit

FEW_TEXTS = 10  # of a class: too few to learn much from
FEW_SHARE = 0.1  # of the largest class: a model that never says the class is hardly less accurate
SHOWN_CLASSES = 5


def type_notes(split: TaggedSplit, label_names: Sequence[str]) -> list[str]:
    """What is odd about the types of a tagger's entities."""
    return list(_alike([name.removeprefix("B-") for name in label_names if name.startswith("B-")]))


def class_notes(split: TextSplit, label_names: Sequence[str]) -> list[str]:
    """What is odd about the classes of the training texts."""
    return [*_alike(label_names), *_joined(label_names), *_uneven(split, label_names), *_contradicting(split)]


def _alike(names: Sequence[str]) -> Iterator[str]:
    """On names that somebody may have meant for one."""
    spellings: dict[str, list[str]] = {}
    for name in names:
        spellings.setdefault(" ".join(name.casefold().split()), []).append(name)
    several = [alike for alike in spellings.values() if len(alike) > 1]
    if several:
        named = "; ".join(" and ".join(f"'{name}'" for name in alike) for alike in several[:SHOWN_CLASSES])
        yield (
            f"Labels that differ only in case or spaces are taken for different ones: {named}; if they are one, write "
            "it one way."
        )


def _joined(names: Sequence[str]) -> Iterator[str]:
    """On class names that look like several labels in one cell."""
    for sign in ";|,/":
        lists = [sorted(part.strip() for part in name.split(sign)) for name in names if sign in name]
        again = {tuple(parts) for parts in lists if lists.count(parts) > 1}
        single = {part for parts in lists for part in parts} & set(names)
        if len(lists) > 1 and (again or len(single) > 1):
            example = next(name for name in names if sign in name)
            yield (
                f"{len(lists)} of the {len(names)} labels, such as '{example}', look like several in one cell; each "
                "such list was taken for a class of its own, since a text is given one class."
            )
            return


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
