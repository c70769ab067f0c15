"""Variants in the settings: which of them may be chosen, and the settings that they bring along.

A variant (a gate, a support, an anchor, ...) is declared once, where its code is::

    @dataclass(config=SETTINGS, frozen=True)
    class LeakySettings:
        leak: Share = 0.1
        \"\"\"Share of a score below the threshold that comes through.\"\"\"

    @GATES.register("leaky")
    class LeakyGate(ThresholdGate):
        Settings = LeakySettings

        def __init__(self, vocab_size: int, settings: LeakySettings): ...

From then on ``model.gate: leaky`` and ``model.leak: 0.2`` are settings as any other: checked, documented, written to
``config.yaml`` and into saved models, and part of what a run is known by. ``make`` builds a variant by its name.

A section of the schema says by ``open_to`` which kinds of variants may add settings to it, and ``KINDS`` where each
kind's registry is; that module is imported when it is first asked, so that settings stay below models in the order of
imports, and a command that needs no model loads none. A function has no attribute ``Settings``, so it names them when
it is registered. Who needs a variant's settings without making it asks the section: ``section.of(LeakySettings)``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from pydantic import ConfigDict, ValidationError, model_validator
from pydantic_core import ArgsKwargs, InitErrorDetails, PydanticKnownError, core_schema

from splade.registry import Registry

SETTINGS = ConfigDict(extra="forbid", use_attribute_docstrings=True)
"""How pydantic treats dataclasses of settings."""

KINDS = {
    "task": "splade.tasks:TASKS",
    "support": "splade.models.supports:SUPPORTS",
    "gate": "splade.models.layers.activation:GATES",
    "pooling": "splade.models.pooling:POOLINGS",
    "head": "splade.models.heads:HEADS",
    "completeness loss": "splade.circuits.losses:COMPLETENESS",
    "separation loss": "splade.circuits.losses:SEPARATIONS",
    "sparsity loss": "splade.circuits.sparsity:SPARSITIES",
    "deletion loss": "splade.training.deletion:DELETIONS",
    "recipe": "splade.training.recipes:RECIPES",
    "anchor": "splade.training.anchors:ANCHORS",
    "optimizer": "splade.training.optim:OPTIMIZERS",
    "measure": "splade.evaluation.measures:MEASURES",
    "explainer": "splade.explainers:EXPLAINERS",
    "condition": "splade.studies.conditions:CONDITIONS",
    "word choice": "splade.studies.conditions:WORD_CHOICES",
    "protocol": "splade.evaluation.rationale_protocols:PROTOCOLS",
}
"""Where the registry of each kind is: the module that has all its variants once it is imported, and the name there."""

SectionType = TypeVar("SectionType", bound=type)
VariantSettings = TypeVar("VariantSettings")
Made = TypeVar("Made")


def registry_of(kind: str) -> Registry[Any]:
    """The registry of a kind, with all its variants in it."""
    module, _, name = KINDS[kind].partition(":")
    return getattr(import_module(module), name)


def make(registry: Registry[Callable[..., Made]], name: str, section: OpenSection, *parts: Any) -> Made:
    """The variant called `name`, of the parts that all of its kind are made of and, if it has some, its settings."""
    settings = registry.settings().get(name)
    return registry.get(name)(*parts, *(() if settings is None else (section.of(settings),)))


class Choice:
    """Annotates text that names a variant of some kind, or is one of a few further words."""

    def __init__(self, kind: str, *further: str) -> None:
        self.kind, self.further = kind, further

    def names(self) -> list[str]:
        return [*registry_of(self.kind).names(), *self.further]

    def check(self, value: object) -> str:
        names = self.names()
        if not isinstance(value, str) or value not in names:
            expected = " or ".join(part for part in (", ".join(map(repr, names[:-1])), repr(names[-1])) if part)
            raise PydanticKnownError("literal_error", {"expected": expected})
        return value

    def __get_pydantic_core_schema__(self, *_: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(self, *_: Any) -> dict[str, Any]:
        return {"enum": self.names()}


class Choices(Choice):
    """Annotates a list of one or more different variants of a kind, which text may name joined by ``+`` or commas."""

    def names(self) -> list[str]:
        return sorted(super().names())

    def split(self, value: object) -> object:
        return [name.strip() for name in re.split("[+,]", value)] if isinstance(value, str) else value

    def check_different(self, names: list[str]) -> list[str]:
        if not names or len(set(names)) < len(names):
            raise ValueError(f"must name one or more different {self.kind}s")
        return names

    def __get_pydantic_core_schema__(self, *_: Any) -> core_schema.CoreSchema:
        names = core_schema.list_schema(super().__get_pydantic_core_schema__())
        split = core_schema.no_info_before_validator_function(self.split, names)
        return core_schema.no_info_after_validator_function(self.check_different, split)

    def __get_pydantic_json_schema__(self, *_: Any) -> dict[str, Any]:
        return {"type": "array", "items": super().__get_pydantic_json_schema__()}


class Declaration(NamedTuple):
    """Settings of their own that some variants of a kind have declared; more than one if they share them."""

    settings: type[Any]
    kind: str
    variants: list[str]

    @property
    def fields(self) -> dict[str, dataclasses.Field[Any]]:
        return {field.name: field for field in dataclasses.fields(self.settings)}

    @property
    def absent(self) -> str:
        """Why the settings have no effect where none of the variants is chosen."""
        return f"the {self.kind} has no {' or '.join(self.variants)}"


def declarations(section: type[OpenSection]) -> list[Declaration]:
    """What variants have declared for a section, in the order of its kinds and of the variants' names."""
    declared: dict[type[Any], Declaration] = {}
    for kind in section.kinds:
        for variant, settings in sorted(registry_of(kind).settings().items()):  # whatever was imported first
            declared.setdefault(settings, Declaration(settings, kind, [])).variants.append(variant)
    names: list[str] = list(section.__pydantic_fields__)  # type: ignore[attr-defined]
    names += [name for declaration in declared.values() for name in declaration.fields]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"The setting '{twice}' is declared twice for {section.__name__}; variants may share a class.")
    return list(declared.values())


class OpenSection:
    """Base of the sections that variants add settings to, which are then fields and attributes like the section's own.

    A setting that was not given is looked up only when somebody asks for it. Where a setting is changed whose variant
    is not chosen, it is `idle`, or an error if the settings have ``only_if_chosen = True``.
    """

    kinds: ClassVar[tuple[str, ...]] = ()

    def of(self, settings: type[VariantSettings]) -> VariantSettings:
        """The settings that a variant has declared."""
        names = (field.name for field in dataclasses.fields(settings))  # type: ignore[arg-type]
        return settings(**{name: getattr(self, name) for name in names})

    def idle(self) -> dict[str, Declaration]:
        """The settings that are not at their defaults, but whose variants are not chosen."""
        idle: dict[str, Declaration] = {}
        for declared in declarations(type(self)):
            chosen = getattr(self, declared.kind, None)  # None: nothing chooses, or a recipe will
            if chosen is not None and not {*declared.variants} & {*(chosen if isinstance(chosen, list) else [chosen])}:
                defaults = declared.settings()
                changed = (name for name in declared.fields if getattr(self, name) != getattr(defaults, name))
                idle |= dict.fromkeys(changed, declared)
        return idle

    if not TYPE_CHECKING:  # a typed program asks by `of`

        def __getattr__(self, name: str) -> Any:
            """The default of a variant's setting that was not given."""
            for declared in () if name.startswith("_") else declarations(type(self)):
                if name in declared.fields:
                    default = getattr(declared.settings(), name)
                    object.__setattr__(self, name, default)  # once: of two lists one would be written to in vain
                    return default
            raise AttributeError(f"{type(self).__name__} has no setting '{name}'")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and list(_values(self)) == list(_values(other))

    def __hash__(self) -> int:
        return hash(tuple(_values(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in _values(self))})"

    @model_validator(mode="wrap")
    @classmethod
    def _check_variants_too(cls, given: Any, check: Callable[[Any], Any]) -> Any:
        """Check the section's own settings by their types, and those of variants by what these declare."""
        values = given.kwargs if isinstance(given, ArgsKwargs) else given
        if not isinstance(values, Mapping) or values.keys() <= cls.__pydantic_fields__.keys():  # type: ignore[attr-defined]
            return check(given)
        errors: list[ValidationError] = []
        checked: dict[str, Any] = {}
        for declared in declarations(cls):
            chosen = {name: values[name] for name in declared.fields if name in values}
            try:
                settings = declared.settings(**chosen)
                checked |= {name: getattr(settings, name) for name in chosen}
            except ValidationError as error:
                checked |= chosen
                errors.append(error)
        rest = {name: value for name, value in values.items() if name not in checked}
        try:
            section = check(ArgsKwargs(given.args, rest) if isinstance(given, ArgsKwargs) else rest)
        except ValidationError as error:
            errors.append(error)
        if errors:
            raise _joined(cls.__name__, errors)
        for name, value in checked.items():
            object.__setattr__(section, name, value)
        for name, declared in section.idle().items():
            if getattr(declared.settings, "only_if_chosen", False):
                only = f"the {declared.kind} " + " or ".join(f"'{variant}'" for variant in declared.variants)
                raise ValueError(f"has '{name}' {getattr(section, name)}, which only {only} can have")
        return section


def open_to(*kinds: str) -> Callable[[SectionType], SectionType]:
    """Decorate a dataclass of settings: variants of these kinds may add their own to it."""

    def decorate(section: SectionType) -> SectionType:
        opened: Any = section
        opened.kinds, opened.__dataclass_fields__ = kinds, _Fields(opened, opened.__dataclass_fields__)
        return section

    return decorate


class _Fields(Mapping[str, "dataclasses.Field[Any]"]):
    """The fields of an open section, for `dataclasses`: its own, with those of variants behind what chooses them."""

    def __init__(self, section: type[OpenSection], own: dict[str, dataclasses.Field[Any]]) -> None:
        self.section, self.own = section, own

    def all(self) -> dict[str, dataclasses.Field[Any]]:
        of_kind: dict[str, dict[str, dataclasses.Field[Any]]] = {}
        for declared in declarations(self.section):
            of_kind.setdefault(declared.kind, {}).update(declared.fields)
        ordered: dict[str, dataclasses.Field[Any]] = {}
        for name, field in self.own.items():
            ordered |= {name: field} | of_kind.pop(name, {})
        return ordered | {name: field for fields in of_kind.values() for name, field in fields.items()}

    def __getitem__(self, name: str) -> dataclasses.Field[Any]:
        return self.all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self.all())


def _values(section: object) -> Iterator[tuple[str, Any]]:
    return ((field.name, getattr(section, field.name)) for field in dataclasses.fields(section))  # type: ignore[arg-type]


def _joined(title: str, errors: list[ValidationError]) -> ValidationError:
    """One error with the faults of several."""
    lines = []
    for fault in (fault for error in errors for fault in error.errors(include_url=False)):
        given = fault["input"].kwargs if isinstance(fault["input"], ArgsKwargs) else fault["input"]
        lines.append(InitErrorDetails(type=fault["type"], loc=fault["loc"], input=given, ctx=fault.get("ctx", {})))
    return ValidationError.from_exception_data(title, lines)
