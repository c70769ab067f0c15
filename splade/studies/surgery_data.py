"""The texts of the study of surgery: the splits of its set, and sets of the data root that no training has seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from splade.config.schema import Config, DataConfig
from splade.data.columns import ClassLabels, raw_split
from splade.data.groups import Groups, column_groups, term_groups
from splade.data.identity_terms import load_terms
from splade.data.packaged import packaged_source
from splade.data.root import root_source
from splade.data.types import TextSplit
from splade.errors import DataError, listed
from splade.evaluation.bias_measure import BiasSettings
from splade.evaluation.positive_scores import positive_classes
from splade.studies.conditions.coded import CodedTexts
from splade.tasks.base import UNLABELLED

TEMPLATE = "template"
"""The column of what texts were generated from, which are then drawn together."""


def groups_of(split: TextSplit, config: Config, *, own: bool = True) -> Groups:
    """Whom the texts of a split are about, as the settings of `bias` say; `own`: whether columns that they name are
    those of this set."""
    settings = config.evaluation.of(BiasSettings)
    if settings.bias_terms is not None:
        return term_groups(split.texts, load_terms(settings.bias_terms))
    return column_groups(split.extra, settings.bias_groups if own else None)


def part_of(name: str, split: TextSplit, positive: np.ndarray, config: Config, *, own: bool = True) -> CodedTexts:
    """A split as conditions see it, yet without codes; `positive` (C,): of its classes."""
    labels, groups = np.asarray(split.labels), groups_of(split, config, own=own)
    templates = split.extra.get(TEMPLATE)
    drawn = None if templates is None else np.unique(np.array(list(map(str, templates))), return_inverse=True)[1]
    numbers = labels if own else np.full(len(labels), UNLABELLED)
    return CodedTexts(name, list(split.texts), positive[labels], numbers, groups.members, {}, groups.source, drawn)


def load_set(name: str, config: Config) -> tuple[TextSplit, list[str]]:
    """All rows of the test split of a set of the data root or of a package, and the names of its classes."""
    data = replace(DataConfig(), dataset_name=name, root=config.data.root)
    source = root_source(data) or packaged_source(name)
    if source is None:
        raise DataError(
            f"There is no set '{name}' in the data root nor among the packages; name its root with --set data.root, or "
            "leave it out of the settings of surgery."
        )
    if "test" not in source.splits:
        raise DataError(
            f"The set {name} has no test split, only: {listed(list(source.splits))}; leave it out of surgery.test_sets."
        )
    raw = raw_split(source.splits["test"]())
    labels = ClassLabels(source.label_names, raw)
    return labels.encode(raw), labels.names


def unseen_part(name: str, config: Config) -> CodedTexts:
    """A set that no training has seen; its labels may have other names than the model's."""
    split, names = load_set(name, config)
    return part_of(name, split, positive_classes(names), config, own=False)
