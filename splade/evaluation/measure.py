"""Measures: each gathers one thing about a model on held-out rows, and says how its figures are to be read.

A measure is one class in one file, registered under its name. The one pass of `splade.evaluation.run` feeds it, and
`results.json`, the table in the terminal, the report, the model card, the columns of studies and `docs/results.md` are
derived from what it declares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, get_args

import numpy as np
from torch import Tensor

from splade.config.schema import EvaluationConfig
from splade.evaluation.figure import Drawing, Figure, Key, Table
from splade.models.backbone import Backbone
from splade.models.dense import DenseClassifier
from splade.models.protocol import LexicalModel
from splade.models.sparse import SparseRows
from splade.models.state import CircuitState
from splade.registry import Registered, Registry
from splade.tasks import Batch, Task


class MeasureRegistry(Registry["type[Measure[Any]]"]):
    """The measures, each of which knows the name it is registered under."""

    def register(self, name: str, settings: type[Any] | None = None) -> Callable[[Registered], Registered]:
        remember = super().register(name, settings)

        def named(measure: Registered) -> Registered:
            measure.name = name  # type: ignore[attr-defined]
            _check_fed(measure)  # type: ignore[arg-type]
            return remember(measure)

        return named


def _check_fed(measure: type[Measure[Any]]) -> None:
    """Refuse a measure that would wait for batches in vain, or be fed what it does not take: a slip of its author."""
    takes, never = ("predicted", "update") if measure.reads == "every row" else ("update", "predicted")
    if getattr(measure, never) is not getattr(Measure, never):
        raise TypeError(
            f"{measure.__name__} reads {measure.reads}, so {takes} is called, and its {never} never would be."
        )


MEASURES = MeasureRegistry("measure")

Result = TypeVar("Result")

Reads = Literal["every row", "explained rows", "sample", "nothing"]
"""The rows that a measure is fed: of all texts of the split; of the texts that `evaluation.max_samples` allows; of the
few of those that are enough for what is slow; of none, since it reads texts in its own way once it is asked for its
result."""


@dataclass
class References:
    """What a model is compared with. Each is loaded when a measure first asks for it, and None if it is not at hand."""

    load_frozen: Callable[[], Backbone | None] = lambda: None
    load_dense: Callable[[], DenseClassifier | None] = lambda: None
    load_training: Callable[[], Task | None] = lambda: None
    load_untrained: Callable[[], LexicalModel | None] = lambda: None
    load_validation: Callable[[], Task | None] = lambda: None

    @cached_property
    def frozen(self) -> Backbone | None:
        """The backbone as it was before training."""
        return self.load_frozen()

    @cached_property
    def dense(self) -> DenseClassifier | None:
        """The same backbone under an ordinary head, trained on the same texts."""
        return self.load_dense()

    @cached_property
    def training(self) -> Task | None:
        """The texts it was trained on, for whatever is fitted."""
        return self.load_training()

    @cached_property
    def validation(self) -> Task | None:
        """The validation texts of its training, for thresholds."""
        return self.load_validation()

    @cached_property
    def untrained(self) -> LexicalModel | None:
        """A model of the same settings as training begins with it."""
        return self.load_untrained()


Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""A progress bar: of a title and how much there is to do, a context with a function that is told what is done."""


def no_progress(title: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
    """Progress that nobody looks at."""
    return nullcontext(lambda done: None)


class Parts(Protocol):
    """Where a slow measure keeps what it has found so far, so that an interrupted one goes on."""

    def recall(self, name: str) -> Any | None:
        """What was kept under a name; None if nothing was, or it is of another model, data or setting."""

    def keep(self, name: str, value: Any) -> None:
        """Keep what JSON can hold."""


class NoParts:
    """Keeps nothing."""

    def recall(self, name: str) -> Any | None:
        return None

    def keep(self, name: str, value: Any) -> None:
        return None


@dataclass
class Scope:
    """What is measured: a model on a task, under some settings."""

    model: LexicalModel
    task: Task
    config: EvaluationConfig
    share: float
    """Of a row's active tokens, that make its circuit."""
    references: References = field(default_factory=References)
    seed: int = 0
    """Draws random tokens and pairs, never texts."""
    rows: np.ndarray = field(default_factory=lambda: np.arange(0))
    """(K,) the texts whose rows are explained."""
    sample: np.ndarray = field(default_factory=lambda: np.arange(0))
    """(S,) those of them that slow measures look at."""
    logits: Tensor | None = None
    """(N, C) of all rows of the split, once they are there."""
    classes: np.ndarray | None = None
    """(N,) the classes decided on, once they are there."""
    progress: Progress = no_progress
    """For slow work after the pass over the rows."""
    to_train: bool = False
    """Whether the model is yet to be trained, and what it is compared with too: only settings can be checked."""

    @property
    def columns(self) -> int:
        """Words that could be active: tokens, split words of the training texts, further senses of some."""
        return len(self.model.vocabulary) - self.model.vocabulary.free


@dataclass(frozen=True)
class Seen:
    """One batch with its prediction, explained."""

    batch: Batch
    state: CircuitState
    classes: Tensor
    """(R,) decided on."""
    attribution: SparseRows
    """Contributions to those classes."""


class Declared:
    """Figures, tables and drawings under one title, whoever measures them."""

    name: ClassVar[str] = ""
    title: ClassVar[str]
    """Heading of its section in the report."""
    about: ClassVar[str] = ""
    """What is asked, and how the answer is to be read."""
    tasks: ClassVar[Sequence[str] | None] = None
    """Names of the tasks it is for; None: all."""
    figures: ClassVar[Sequence[Figure]] = ()
    tables: ClassVar[Sequence[Table]] = ()
    drawings: ClassVar[Sequence[Drawing]] = ()
    keys: ClassVar[Sequence[Key]] = ()

    @classmethod
    def is_for(cls, task: str) -> bool:
        return cls.tasks is None or task in cls.tasks


class Measure(Declared, ABC, Generic[Result]):
    """Gathers over batches and gives a frozen result, whose fields become keys of `results.json`."""

    reads: ClassVar[Reads] = "explained rows"
    section: ClassVar[str] = ""
    """The key under which its results stand; empty: at the top."""
    on_request: ClassVar[bool] = False
    """Whether it takes so long that it is only taken when `evaluation.measures` names it."""
    Settings: ClassVar[type[Any] | None] = None
    """Its own settings, a dataclass, which then stand in the section `evaluation`; None: it has none."""
    version: ClassVar[int] = 1
    """Raised when it comes to compute something else, so that what was measured before is measured again."""

    def __init__(self, scope: Scope):
        self.scope = scope
        self.parts: Parts = NoParts()

    @classmethod
    def check(cls, scope: Scope) -> None:
        """Refuse settings that cannot be measured; called before a training, and before a measurement."""

    @classmethod
    def result_type(cls) -> type[Result]:
        """What `result` gives: the type that the class names when it says which measure it is, `Measure[DLACheck]`."""
        return get_args(cls.__orig_bases__[0])[0]  # type: ignore[attr-defined]

    @classmethod
    def sources(cls, scope: Scope) -> list[str]:
        """Hashes of the files that it reads beside model and data, so that it is measured again when they change."""
        return []

    @classmethod
    def is_wanted(cls, scope: Scope) -> bool:
        """Whether there is anything to measure; what is not wanted has no key in the results."""
        return True

    def predicted(self, batch: Batch, state: CircuitState) -> None:
        """Take in one more prediction; called for the whole split where `reads` is every row."""

    def update(self, seen: Seen) -> None:
        """Take in one more batch with its explanations; called for the rows that are explained, or the sample."""

    @abstractmethod
    def result(self) -> Result:
        """What was found."""

    def findings(self, result: Result) -> list[str]:
        """Sentences on what a reader of the result should not miss."""
        return []

    @staticmethod
    def to_json(result: Any) -> dict[str, Any]:
        """The result as it stands in `results.json`, under `section`: its fields, unless said otherwise."""
        fields_: dict[str, Any] = as_json(result)
        return fields_


def as_json(value: object) -> Any:
    """A result as `results.json` holds it: keys are text, a number among them as short as it can be written."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: as_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {f"{key:g}" if isinstance(key, int | float) else key: as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return value
