"""From YAML and ``--set section.key=value`` to a checked ``Config``, with one sentence for whatever is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from splade.config.schema import Config
from splade.config.yaml_text import YAMLTextError, parse_yaml
from splade.errors import ConfigError, nearest, shown
from splade.utils.reading import read_bytes

Settings = dict[str, object]
Location = tuple[int | str, ...]

NULLS = ("null", "~")
OVERRIDE = "--set"  # how messages name the origin of a value given on the command line

_ADAPTER = TypeAdapter(Config)

# Pydantic's kinds of failure in our words; `{ctx}` values are the bounds the schema declares.
_EXPECTATIONS = {
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "string_unicode": "must be text that UTF-8 can write",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "list_type": "must be a list",
    "too_short": "must not be empty",
    "dict_type": "must be a section of keys and values",
    "dataclass_type": "must be a section of keys and values",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
}


def load_config(
    path: str | Path | None = None, overrides: Sequence[str] = (), base: Mapping[str, object] | None = None
) -> Config:
    """Read a YAML file, apply ``section.key=value`` overrides and check the whole.

    What the file does not have at its top is taken from ``base``, settings that were checked once, or the defaults.
    """
    values = _sections(base or {}) | ({} if path is None else _read_yaml(Path(path)))
    overridden = {_apply_override(values, override) for override in overrides}
    # The defaults are sound, so without a file whatever is wrong came from the command line.
    return _build(values, OVERRIDE if path is None else str(path), overridden)


def config_from_dict(values: Mapping[str, object], origin: str) -> Config:
    """Check a mapping of settings; ``origin`` (a file, say) is named in the error message."""
    return _build(_sections(values), origin, set())


def vary(config: Config, settings: Mapping[str, object], origin: str) -> Config:
    """The same config with other values for some ``section.key``; ``origin`` is named in the error message."""
    values = dataclasses.asdict(config)
    for key, value in settings.items():
        _put(values, key, value, origin)
    return _build(values, origin, set())


def config_to_yaml(config: Config) -> str:
    """The resolved settings as YAML; ``load_config`` reads the same ``Config`` back."""
    return yaml_of(dataclasses.asdict(config))


def yaml_of(values: Mapping[str, object]) -> str:
    """Settings as YAML, in their order."""
    values = dict(values)
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
    # Ends of lines to YAML alone, which it would fold; escaped they are read back.
    return yaml.safe_dump(values, sort_keys=False) if any(end in text for end in "\x85\u2028\u2029") else text


def _read_yaml(path: Path) -> Settings:
    try:
        content = parse_yaml(read_bytes(path).decode("utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"There is no settings file {path}; check the path given to --config.") from None
    except OSError as error:
        raise ConfigError(f"The settings file {path} cannot be read ({error.strerror}); check the path.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"The settings file {path} is not UTF-8 text; save it as UTF-8 YAML.") from None
    except YAMLTextError as error:
        raise ConfigError(f"The settings file {path} is not valid YAML ({error}); correct it.") from None
    if content is None:  # an empty file: nothing differs from the defaults
        return {}
    if not isinstance(content, dict):
        raise ConfigError(
            f"The settings file {path} holds {shown(content)}, but sections of keys and values were expected, "
            "such as 'training:' with 'epochs: 2' under it."
        )
    return _sections(content)


def _sections(values: Mapping[str, object]) -> Settings:
    """Copy two levels deep, so that overrides never write into the caller's mapping; an empty section is ``{}``."""
    sections = {each.name for each in dataclasses.fields(Config) if dataclasses.is_dataclass(each.default_factory)}
    copied: Settings = {}
    for key, value in values.items():
        value = {} if value is None and key in sections else value
        copied[str(key)] = {str(k): v for k, v in value.items()} if isinstance(value, Mapping) else value
    return copied


def _apply_override(values: Settings, override: str) -> str:
    """Write one ``section.key=value`` into ``values`` and return its key."""
    key, equals, text = override.partition("=")
    key = key.strip()
    if not equals or not all(key.split(".")):
        raise ConfigError(
            f"{OVERRIDE} was given {shown(override)}, but section.key=value was expected, such as training.epochs=3."
        )
    # In a file, `train_file:` with nothing after it is YAML's null, and people write it for "as usual". On the command
    # line nothing is rather a shell variable that is not set, and null would be something else than was meant.
    if not text.strip():
        raise ConfigError(f"{OVERRIDE} {key}= was given no value; write one after '=', or null for none.")
    try:
        value = parse_yaml(text)
    except YAMLTextError:
        raise ConfigError(f"{OVERRIDE} {key} has the value {shown(text)}, which is not valid YAML; quote it.") from None
    if value is None and text.strip().lower() not in NULLS:
        raise ConfigError(f"{OVERRIDE} {key} has the value {shown(text)}, which YAML takes for nothing; quote it.")
    _put(values, key, value, OVERRIDE)
    return key


def _put(values: Settings, key: str, value: object, origin: str) -> None:
    *parents, last = key.split(".")
    target = values
    for depth, parent in enumerate(parents):
        inner = target.setdefault(parent, {})
        if not isinstance(inner, dict):
            whole = ".".join(parents[: depth + 1])
            raise ConfigError(f"{origin} {key} asks for a key inside '{whole}', which is a single value; set that.")
        # Copied, because a deeper mapping may still be the caller's own.
        target[parent] = inner = dict(inner)
        target = inner
    target[last] = value


def _build(values: Settings, origin: str, overridden: set[str]) -> Config:
    _move_pooling(values, origin)
    try:
        return _ADAPTER.validate_python(values)
    except ValidationError as error:
        first, *others = error.errors(include_url=False)
        key = _key(first["loc"])
        more = f" (and {len(others)} more)" if others else ""
        raise ConfigError(_sentence(first, key, _source(key, origin, overridden)) + more) from None


def _source(key: str, origin: str, overridden: set[str]) -> str:
    """Who is to blame for a fault at ``key``: the file, an override, or (a fault of a whole section) both."""
    if any(key == each or key.startswith((f"{each}.", f"{each}[")) for each in overridden):
        return OVERRIDE
    if origin != OVERRIDE and any(each.startswith(f"{key}.") for each in overridden):
        return f"{origin} with {OVERRIDE}"
    return origin


def _move_pooling(values: Settings, origin: str) -> None:
    """The seeds write ``pooling`` under ``training``; it describes the model, so it is kept there."""
    training, model = values.get("training"), values.setdefault("model", {})
    if not isinstance(training, dict) or not isinstance(model, dict) or "pooling" not in training:
        return
    pooling = training.pop("pooling")
    if model.setdefault("pooling", pooling) != pooling:
        raise ConfigError(
            f"{origin}: training.pooling is {_show(pooling)} and model.pooling is {_show(model['pooling'])}, "
            "but they are one setting; keep model.pooling."
        )


def _sentence(error: ErrorDetails, key: str, source: str) -> str:
    kind, found = error["type"], _show(error["input"])
    if kind == "unexpected_keyword_argument":
        return _unknown_key(error["loc"], key, source)
    if kind == "value_error":  # our own validators phrase the expectation themselves
        expected = str(error["ctx"]["error"])
        if isinstance(error["input"], Mapping) or not key:
            return f"{source}: '{key}' {expected}."
        return f"{source}: {key} {expected}, but is {found}."
    if kind == "literal_error":
        choices = [choice.strip("' ") for choice in error["ctx"]["expected"].replace(" or ", ", ").split(",")]
        expected = f"must be one of {', '.join(choices)}" if len(choices) > 1 else f"must be {choices[0]}"
        return f"{source}: {key} {expected}, but is {found}.{nearest(str(error['input']), choices)}"
    expected = _EXPECTATIONS[kind].format(**error.get("ctx", {})) if kind in _EXPECTATIONS else error["msg"]
    return f"{source}: {key} {expected}, but is {found}."


def _unknown_key(location: Location, key: str, source: str) -> str:
    section: object = Config()  # the defaults know which keys each section has
    for part in location[:-1]:
        section = getattr(section, str(part))
    choices = [each.name for each in dataclasses.fields(section)]  # type: ignore[arg-type]
    parent = _key(location[:-1])
    where = f"the keys of '{parent}' are" if parent else "the keys at the top are"
    return f"{source}: unknown key '{key}'; {where}: {', '.join(choices)}.{nearest(str(location[-1]), choices)}"


def _key(location: Location) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{shown(part)[1:-1]}" for part in location)
    return "".join(parts).lstrip(".")


def _show(value: object) -> str:
    """A value as a person wrote it in YAML, short."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else shown(value)
