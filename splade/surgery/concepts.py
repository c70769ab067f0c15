"""Concepts: from words that name one, or from texts that are about it, to what carries it in a model.

    gay = find_concept(model, texts, about_gay, labels=labels)     # labelled examples: (N,) bool
    gay = find_concept(model, texts, seeds=["gay", "gays"])        # the examples are the texts in which a seed stands
    print(gay.table())
    without = SuppressedModel(model, removal=gay.removal(model, 8))    # the eight strongest names

Names are found by what they do in these texts, not by how they are written, so that synonyms, spellings and proxies
come out beside the word itself (`splade.surgery.carriers`). How many of them to remove is measured on other texts, by
`splade.evaluation.concept_growth`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from splade.data.given import BATCH_SIZE, given_texts
from splade.errors import ConfigError, DataError, ModelError, listed
from splade.models.protocol import LexicalModel
from splade.models.removal import Removal, Silence
from splade.surgery.carriers import Carrier, comparable, rank_carriers
from splade.surgery.data_effect import class_numbers
from splade.surgery.spoken import read_spoken
from splade.surgery.targets import SHOWN, find_targets, token_match, word_match
from splade.task_description import describe
from splade.tasks import TASKS
from splade.tasks.base import Task

FEWEST_TEXTS = 20
"""Texts with a concept, and without it, that one can be found from."""

LEAST_LEFT = 0.1
"""Share of what speaks for a class that a concept must leave: what takes more is not a concept in the class's texts,
it is the class."""

TWICE = 2.0
"""Times as often as in other texts that a name must surely be active. Lower: more names, and such as nobody would
believe to carry the concept."""


@dataclass(frozen=True)
class Concept:
    """What carries a concept in a model, the strongest first."""

    name: str
    source: str
    """How it is known which texts have it."""
    texts: int
    """That it was found from."""
    positives: int
    """Of these, texts with the concept."""
    tested: int
    """Names that were active in enough texts with the concept to be tested."""
    by_class: bool
    """Whether texts were compared within their class; not where the concept and the class are one."""
    silence: bool
    """Whether the words are silenced too, not only their tokens shut."""
    carriers: tuple[Carrier, ...]
    unmatched: tuple[str, ...] = ()
    """Seeds that the model has no token for, so that they cannot be removed."""

    def __len__(self) -> int:
        return len(self.carriers)

    @property
    def seeds(self) -> int:
        """How many of the carriers, the first ones, were asked for."""
        return sum(carrier.seed for carrier in self.carriers)

    @property
    def absent(self) -> list[str]:
        """Seeds that say nothing in any of the texts; they are removed all the same."""
        return [carrier.name for carrier in self.carriers if not carrier.with_it + carrier.without]

    @property
    def largest(self) -> int:
        """The most carriers that leave every class something to rest on."""
        safe = [min(carrier.left.values(), default=1.0) >= LEAST_LEFT for carrier in self.carriers]
        return safe.index(False) if False in safe else len(safe)

    def names(self, size: int | None = None) -> list[str]:
        """The strongest so many names; None: as many as leave every class something."""
        return [carrier.name for carrier in self.carriers[: self.largest if size is None else size]]

    def targets(self, model: LexicalModel, size: int | None = None) -> tuple[list[str], list[str]]:
        """The strongest names, as tokens to shut and as words to silence: what of them a model has."""
        if size is not None and size > self.largest:
            raise self.too_much()
        names = self.names(size)
        words = [name for name in names if word_match(model, name) is not None] if self.silence else []
        return [name for name in names if token_match(model, name) is not None], words

    def removal(self, model: LexicalModel, size: int | None = None) -> Removal:
        """The tokens to shut and the words to silence: all casings, pieces and senses of the strongest names."""
        tokens, words = self.targets(model, size)
        return find_targets(model, tokens, words).removal if tokens or words else Removal()

    def too_much(self) -> DataError:
        """The sentence to say where too many names would be removed."""
        left = self.carriers[self.largest].left
        label, names = min(left, key=lambda name: left[name]), self.names(self.largest + 1)
        return DataError(
            f"Without the first {len(names)} word(s) of the concept '{self.name}' ({listed(names)}) {left[label]:.0%} "
            f"of what speaks for '{label}' would be left, and {LEAST_LEFT:.0%} or more was expected; they are what the "
            "class rests on, so take fewer words, or a narrower concept."
        )

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Concept:
        """What `to_json` wrote."""
        carriers = tuple(Carrier(**carrier) for carrier in values["carriers"])
        return cls(**{**values, "carriers": carriers, "unmatched": tuple(values["unmatched"])})

    def table(self, most: int = 20) -> str:
        """The strongest names and their figures, for people to read."""
        width = max([4, *(len(carrier.name) for carrier in self.carriers[:most])])
        others = self.texts - self.positives
        lines = [f"{'word':{width}}  with it  without  odds ratio (95 %)  contribution with, without"]
        for one in self.carriers[:most]:
            if one.name in self.absent:
                lines.append(f"{one.name:{width}}  asked for, and active in none of the texts")
                continue
            odds = f"{np.exp(one.log_odds):.1f} (from {np.exp(one.low):.1f})"
            shares = f"{one.with_it / self.positives:7.1%}  {one.without / max(others, 1):7.1%}"
            lines.append(
                f"{one.name:{width}}  {shares}  {odds:>17}  {one.contribution_with:.4f}, {one.contribution_without:.4f}"
            )
        if len(self) > most:
            lines.append(f"and {len(self) - most} more")
        return "\n".join(lines)


def find_concept(
    model: LexicalModel,
    texts: Iterable[Any],
    inside: Sequence[bool] | np.ndarray | None = None,
    *,
    seeds: Sequence[str] = (),
    labels: Sequence[str] | None = None,
    name: str = "",
    source: str = "",
    silence: bool = True,
    odds: float = TWICE,
    batch_size: int = BATCH_SIZE,
    advance: Callable[[int], None] = lambda texts: None,
) -> Concept:
    """Find what carries a concept in a model, from training texts.

    Args:
        inside: (N,) whether each text has the concept; None: those in which a seed stands.
        seeds: words that name the concept; they are its first carriers.
        labels: the class of each text; None: what the model predicts. Texts are compared within a class.
        source: how it is known which texts have the concept, for reports.
        silence: also silence the words, since the neighbours of a token that is shut speak on for it.
        odds: how many times as often as in other texts a name must surely be active in those with the concept.
        advance: told of every text that is read.
    """
    task = _task(model, texts)
    chosen = _asked(seeds, inside is not None, odds)
    matched = {seed: _reached(model, seed) for seed in dict.fromkeys(chosen)}
    known = [seed for seed, reached in matched.items() if reached]
    concept = texts_with(model, task, known, batch_size) if inside is None else _checked(inside, len(task))
    _check_size(concept, chosen if inside is None else [], [seed for seed in chosen if seed not in known])
    spoken = read_spoken(model, task, batch_size, advance)
    classes = spoken.predicted if labels is None else class_numbers(labels, model.labels, len(task))
    by_class = comparable(concept, classes)
    carriers, tested = rank_carriers(
        spoken,
        concept,
        classes if by_class else np.zeros_like(classes),
        model.labels,
        odds=odds,
        seeds=[model.vocabulary.normalise(seed) for seed in known],
        reachable=lambda each: _reached(model, each),
        silence=silence,
    )
    found = Concept(
        name or ", ".join(chosen[:3]),
        source or ("texts with a seed word" if inside is None else "labelled texts"),
        len(task),
        int(concept.sum()),
        tested,
        by_class,
        silence,
        tuple(carriers),
        tuple(seed for seed, reached in matched.items() if not reached),
    )
    _check_carriers(found, odds)
    return found


def _asked(seeds: Sequence[str], labelled: bool, odds: float) -> list[str]:
    """The seed words, where something can be looked for."""
    if isinstance(seeds, str) or not (labelled or seeds):
        raise DataError("There is no concept to look for: give a list of seed words, or say which texts have it.")
    if not odds >= 1:
        raise ConfigError(f"The odds are {odds:g}, and 1 or more was expected: how many times as often; 2 is twice.")
    return list(seeds)


def _check_carriers(found: Concept, odds: float) -> None:
    """Refuse a concept that nothing carries, and one whose first words a class rests on."""
    if not len(found):
        raise DataError(
            f"No word of the model goes with the concept '{found.name}': of {found.tested} that are active in its "
            f"{found.positives} texts, none is surely there {odds:g} times as often as in others; name seed words, or "
            "other texts."
        )
    if found.largest < max(1, found.seeds):
        raise found.too_much()


def _task(model: LexicalModel, texts: Iterable[Any]) -> Task:
    if not describe(model.task).decides_on_texts:
        raise ModelError(
            f"The model {describe(model.task).does}, and a concept is found in texts that have one label each; name a "
            "model that classifies texts."
        )
    kind = TASKS.get(model.task)
    task: Task = kind.from_texts(given_texts(texts).items, model)
    return task


def _reached(model: LexicalModel, name: str) -> bool:
    return token_match(model, name) is not None or word_match(model, name) is not None


def texts_with(model: LexicalModel, task: Task, words: Sequence[str], batch_size: int = BATCH_SIZE) -> np.ndarray:
    """(N,) bool: the texts of a task in which one of the words stands, in any casing and spelling."""
    found = np.zeros(len(task), dtype=bool)
    silence = Silence(model.vocabulary, [model.vocabulary.normalise(word) for word in words])
    for batch in task.in_order(batch_size, torch.device("cpu")):
        found[batch.rows] = silence.positions(batch.input_ids, batch.attention_mask.bool()).any(1).numpy()
    return found


def _checked(inside: Sequence[bool] | np.ndarray, texts: int) -> np.ndarray:
    values = np.asarray(inside)
    if values.shape != (texts,) or not np.isin(values, (0, 1)).all():
        raise DataError(
            f"Which texts have the concept is given as {inside!r:.{SHOWN}}, where one yes or no for each of {texts} "
            "texts was expected; say of each text whether it has it."
        )
    return values.astype(bool)


def _check_size(concept: np.ndarray, seeds: Sequence[str], unknown: Sequence[str]) -> None:
    """Refuse a concept that there are too few texts of, or that leaves too few."""
    positives, others = int(concept.sum()), int((~concept).sum())
    if min(positives, others) >= FEWEST_TEXTS:
        return
    which = f" (those in which {listed(list(seeds))} stands)" if seeds else ""
    lost = f" The model has no token for: {listed(list(unknown))}." if unknown else ""
    amount = "No text has" if not positives else "All texts have" if not others else f"{positives} texts have"
    raise DataError(
        f"{amount} the concept{which} and {others} do not, but {FEWEST_TEXTS} of either are the fewest to find a "
        f"concept from; give other texts, or other words.{lost}"
    )
