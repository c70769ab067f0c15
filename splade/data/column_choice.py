"""Which column of a table has the texts and which the labels, where no setting says it: by usual names, then by looks.

Whatever is decided is said in a sentence; where it is not clear, the columns are listed with what they look like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from splade.data.column_names import UNNAMED
from splade.data.column_profile import Profile, profile
from splade.data.types import Table
from splade.errors import DataError, listed, nearest, shown

TEXT_COLUMN, LABEL_COLUMN, TOKENS_COLUMN = "text", "label", "tokens"
TAGS_COLUMNS = ("tags", "ner_tags")

# Columns that look like classes and say something else about a text.
ABOUT = re.compile(
    r"(.*_)?(id|ids|uuid|guid|index|idx|no|nr|row|date|time|timestamp|created|updated|year|month|day|hour|url|link|user|"
    r"username|author|name|lang|language|locale|country|city|source|origin|site|platform|split|fold|set|partition|"
    r"subset|version|gender|age|count|length|len|likes|votes|confidence|probability|annotator|worker|file|filename)"
)
MOST_NAME_WORDS = 3  # a longer name of a column is rather a text, in a file without a header


@dataclass(frozen=True)
class Part:
    """A part that a column can play, and what tells such a column."""

    setting: str
    plural: str
    usual: tuple[str, ...]
    """Names that are taken without a word, in this order."""
    names: tuple[str, ...]
    """Regular expressions of names by which it is found; the earlier, the surer."""
    may_be: Callable[[Profile], bool]
    """Whether a column of such a name can be meant."""
    must_be: Callable[[Profile], bool]
    """Whether a column of any name is probably meant."""
    option: str = ""
    """What names it on a command line that has no such setting."""

    @property
    def named_by(self) -> str:
        """What a user names it with."""
        return self.option or f"data.{self.setting}"


TEXTS = Part(
    "text_column",
    "texts",
    (TEXT_COLUMN,),
    (
        "texts?",
        "sentences?|reviews?|comments?|content|body|tweets?|utterances?|messages?|documents?|posts?|sms|email|passage",
        ".*_(text|sentence|review|comment|content|body|tweet|utterance|message)",
        "title|headline|subject|summary|description|question|query|prompt|input|snippet|feedback",
    ),
    may_be=lambda column: column.kind in ("texts", "classes", "short values", "other values"),
    must_be=lambda column: column.kind == "texts",
)
LABELS = Part(
    "label_column",
    "labels",
    (LABEL_COLUMN,),
    (
        "labels?",
        "class|classes|category|categories|sentiments?|intents?|targets?|topics?|emotions?|polarity",
        ".*_(label|class|category|sentiment|intent|target|topic|emotion|polarity)",
        "ratings?|stars?|scores?|y|output|type|tag|toxic|spam|hate",
    ),
    may_be=lambda column: column.kind in ("classes", "short values", "numbers"),
    must_be=lambda column: column.kind == "classes",
)
WORDS = Part(
    "tokens_column",
    "words",
    (TOKENS_COLUMN,),
    ("tokens?", "words?", "sentences?|text"),
    may_be=lambda column: column.kind == "words",
    must_be=lambda column: column.kind == "words",
)
TAGS = Part(
    "tags_column",
    "tags",
    TAGS_COLUMNS,
    ("tags?|ner_tags?", "ner|ner_labels?|iob|iob2|bio|entities", "labels?"),
    may_be=lambda column: column.kind == "tags",
    must_be=lambda column: column.kind == "tags",
)


@dataclass(frozen=True)
class Choice:
    """The column of each part, by the part's setting."""

    columns: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """A sentence for each column that was found."""


def choose_columns(table: Table, wanted: Mapping[Part, str | None]) -> Choice:
    """The columns that the settings name (``wanted``), else those of the usual names, else what can be meant."""
    chosen = dict(_certain(table, wanted))
    for part, name in chosen.items():
        if name not in table.columns:
            raise _missing(table, part, name, [taken for other, taken in chosen.items() if other is not part])
    if len(set(chosen.values())) < len(chosen):
        (one, name), (other, _) = chosen.items()
        setting = f"data.{(one if wanted[one] else other).setting}"
        raise DataError(
            f"{table.origin}: the column '{name}' would give both the {one.plural} and the {other.plural}, since "
            f"{setting} names it; name another with data.{one.setting} or data.{other.setting}."
        )
    notes = []
    for part in (part for part in wanted if part not in chosen):
        chosen[part] = _find(table, part, chosen.values())
        notes.append(f"The {part.plural} are the column '{chosen[part]}' ({part.named_by} can name another).")
    return Choice({part.setting: name for part, name in chosen.items()}, tuple(notes))


def choose_texts(table: Table) -> tuple[str, tuple[str, ...]]:
    """The column that can be meant by the texts to predict on, with notes."""
    choice = choose_columns(table, {replace(TEXTS, option="--column"): None})
    return choice.columns[TEXTS.setting], choice.notes


def unusual_columns(columns: Mapping[str, str], named: object) -> dict[str, str]:
    """Those of the chosen columns that the settings (``named``) do not name and that have no usual name."""
    usual = {part.setting: part.usual for part in (TEXTS, LABELS, WORDS, TAGS)}
    return {
        setting: name
        for setting, name in columns.items()
        if getattr(named, setting) is None and name not in usual[setting]
    }


def _certain(table: Table, wanted: Mapping[Part, str | None]) -> Iterator[tuple[Part, str]]:
    """What settings name, and what has a usual name."""
    for part, name in wanted.items():
        certain = name or next((usual for usual in part.usual if usual in table.columns), None)
        if certain is not None:
            yield part, certain


def _find(table: Table, part: Part, taken: Collection[str]) -> str:
    """The one column whose name or looks say that it plays a part."""
    profiles = {name: profile(values) for name, values in table.columns.items() if name not in taken}
    for pattern in part.names:
        named = [name for name in profiles if re.fullmatch(pattern, _plain(name)) and part.may_be(profiles[name])]
        if len(named) == 1:
            return named[0]
        if named:
            raise _unclear(table, part, profiles)
    alike = [name for name, column in profiles.items() if part.must_be(column) and not _is_about(name)]
    if len(alike) != 1:
        raise _unclear(table, part, profiles)
    name = alike[0]
    if len(name.split()) > MOST_NAME_WORDS or name in table.columns[name]:
        raise DataError(
            f"{table.origin} begins with a row that looks like the others ({shown(name)} for the {part.plural}), where "
            "the names of the columns were expected; put a line with these first, such as text,label."
        )
    return name


def _plain(name: str) -> str:
    """``reviewText`` and ``Review Text`` are ``review_text``."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\W_]+", "_", parted).strip("_").lower()


def _is_about(name: str) -> bool:
    """Whether the name says that a column numbers or dates the texts, or tells where they are from."""
    return name.startswith((UNNAMED, "Unnamed:")) or ABOUT.fullmatch(_plain(name)) is not None


def _unclear(table: Table, part: Part, profiles: Mapping[str, Profile]) -> DataError:
    usual = part.usual[0]
    looks = listed([f"{name} ({column})" for name, column in profiles.items()]) or "none"
    return DataError(
        f"{table.origin} has no column '{usual}', and which other has the {part.plural} is not clear: {looks}; name it "
        f"with {part.named_by}.{_suggested(usual, part, profiles)}"
    )


def _missing(table: Table, part: Part, name: str, taken: Sequence[str]) -> DataError:
    profiles = {column: profile(values) for column, values in table.columns.items() if column not in taken}
    return DataError(
        f"{table.origin} has no column '{name}', only: {listed(list(table.columns)) or 'none'}; name the right one "
        f"with {part.named_by}.{_suggested(name, part, profiles)}"
    )


def _suggested(name: str, part: Part, profiles: Mapping[str, Profile]) -> str:
    """The nearest name, of columns that can be meant and do not look as if they played another part."""
    others = [other for other in (TEXTS, LABELS, WORDS, TAGS) if other.setting != part.setting]
    fitting = [
        column
        for column, looks in profiles.items()
        if part.may_be(looks) and not any(other.must_be(looks) for other in others)
    ]
    return nearest(name, fitting)
