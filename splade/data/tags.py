"""From named columns to words and tags, whatever scheme the tags are of and wherever they came from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from splade.data.column_choice import TAGS, TAGS_COLUMNS, WORDS, choose_columns
from splade.data.column_choice import TOKENS_COLUMN as TOKENS_COLUMN
from splade.data.columns import require_columns
from splade.data.encoding import clean_text
from splade.data.schemes import OUTSIDE, Tag, breaks, find_scheme, iob2_names, split_tag, to_iob2
from splade.data.types import Columns, RawTags, Table, TaggedSplit
from splade.errors import DataError, OtherTaskError, UnknownLabelError, listed, nearest, shown

CONTEXT = 2  # words shown on either side of a word with a wrong tag
NEARLY_OUTSIDE = {"o", "0"}  # a small letter, a nought
PREFIX = re.compile(r"[BIELSU][-_:/]", re.IGNORECASE)  # near to a scheme's: of b-PER, B_PER
WHICH_COLUMN = "check which column has the tags (of a column file the last, unless data.tags_column says another)"
LONG = 50  # words a sentence on average: CoNLL-2003 and WNUT-17 have 13 to 18, so more look like sentences run together


def raw_tags(
    table: Table,
    tokens_column: str | None = None,
    tags_column: str | None = None,
    like: Mapping[str, str] | None = None,
) -> RawTags:
    """Pick the columns of words and tags and check every row.

    ``like``: the columns of the training sentences, which other splits must have too; ``tags`` and ``ner_tags`` are as
    good as one another, since files of several formats may be one set.
    """
    columns, origin = table.columns, table.origin
    wanted = tokens_column or TOKENS_COLUMN
    if wanted not in columns and any(isinstance(value, str) for value in columns.get("text", ())):
        raise OtherTaskError(
            f"{origin} holds 'text' for classification, but tagging needs '{wanted}' and "
            f"'{tags_column or TAGS_COLUMNS[0]}' columns",
            "choose a tagged set, or set task: classification",
        )
    if set(columns) == {wanted}:
        raise DataError(
            f"{origin} has words alone, but each needs a tag; add the tags, in a column file as the last column."
        )
    unusual = {setting: name for setting, name in (like or {}).items() if name not in TAGS_COLUMNS}
    named = {WORDS.setting: tokens_column, TAGS.setting: tags_column} | require_columns(table, unusual)
    choice = choose_columns(table, {part: named[part.setting] for part in (WORDS, TAGS)})
    tokens_column, tags_column = choice.columns[WORDS.setting], choice.columns[TAGS.setting]
    sentences = raw_words(columns, tokens_column, origin)
    tags = [_list(value, row, tags_column, origin) for row, value in enumerate(columns[tags_column], start=1)]
    if not any(sentences):
        raise DataError(f"{origin} has no words, but at least one tagged sentence is needed; check the file.")
    for row, (words, word_tags) in enumerate(zip(sentences, tags, strict=True), start=1):
        if len(words) != len(word_tags):
            raise DataError(
                f"{origin} has {len(words)} words but {len(word_tags)} tags in sentence {row} "
                f"('{_shown(words)}'), where each word needs one tag; correct the sentence."
            )
    return RawTags(
        sentences,
        [[_tag(tag, row, tags_column, origin) for tag in of_row] for row, of_row in enumerate(tags, start=1)],
        origin,
        (*table.notes, *choice.notes),
        choice.columns,
    )


def raw_words(columns: Columns, tokens_column: str, origin: str) -> list[list[str]]:
    """The column of words, every row checked."""
    sentences = [_list(value, row, tokens_column, origin) for row, value in enumerate(columns[tokens_column], start=1)]
    return [[_word(word, row, tokens_column, origin) for word in words] for row, words in enumerate(sentences, start=1)]


def _list(value: object, row: int, column: str, origin: str) -> list[object]:
    if isinstance(value, list):
        return value
    found = "nothing" if value is None else shown(value)
    raise DataError(
        f"{origin} has {found} in row {row} of column '{column}', where a list was expected, one entry a word; write "
        "JSON Lines, Parquet or a column file."
    )


def _word(value: object, row: int, column: str, origin: str) -> str:
    if isinstance(value, str):
        return clean_text(value)
    raise DataError(
        f"{origin} has {shown(value)} in row {row} of column '{column}', where a word was expected; correct it."
    )


def _tag(value: object, row: int, column: str, origin: str) -> str:
    if isinstance(value, str | int) and not isinstance(value, bool):
        tag = str(value).strip()
        if tag == clean_text(tag):
            return tag
    raise DataError(
        f"{origin} has {shown(value)} in row {row} of column '{column}', where a tag was expected; correct it."
    )


def _shown(words: Sequence[str]) -> str:
    return " ".join(words[: 2 * CONTEXT + 1]) + (" ..." if len(words) > 2 * CONTEXT + 1 else "")


class TagLabels:
    """Numbers the tags of a set's splits: which there are is found once, of which scheme they are for each split."""

    column = "tags_column"

    def __init__(self, given: Sequence[str] | None, sample: RawTags, numbered: bool = True) -> None:
        """``given``: the tags there may be, in any scheme and in the order of their numbers if ``numbered``; without
        them those of ``sample``."""
        tags = list(given or dict.fromkeys(tag for of_sentence in sample.tags for tag in of_sentence))
        _check(tags, "The label set" if given else sample.origin)
        parsed = {tag: split_tag(tag) for tag in tags}
        for tag in given or []:
            if parsed[tag] is None:
                raise _of_no_scheme(f"The label set has the tag '{tag}'", tag)
        self.names = iob2_names(tag for tag in parsed.values() if tag is not None)
        self.classes = [name.removeprefix("B-") for name in self.names[1::2]]
        self._numbered = {str(number): tag for number, tag in enumerate((given or []) if numbered else [])}
        self._known = bool(given)
        # The names are sorted: only if they were before, too, do the numbers stand for them.
        self.numbered = numbered and self.names == list(given or [])

    @staticmethod
    def problem(names: Sequence[str]) -> str | None:
        """Why these cannot be the names of a saved tagger's labels, if they cannot."""
        if names[0] == OUTSIDE and list(names) == iob2_names(tag for tag in map(split_tag, names) if tag):
            return None
        return "'labels' of a tagger must be O, then B-X and I-X of each type X"

    def encode(self, raw: RawTags) -> TaggedSplit:
        """Rewrite the tags as IOB2 and number them; sentences without words are left out."""
        numbers = {name: number for number, name in enumerate(self.names)}
        parsed = self._parse(raw)
        rows = [row for row, words in enumerate(raw.sentences) if words]
        return TaggedSplit(
            [raw.sentences[row] for row in rows],
            [[numbers[tag] for tag in to_iob2(parsed[row])] for row in rows],
            (*raw.notes, *self._notes(raw, parsed)),
        )

    def occurring(self, split: TaggedSplit) -> set[int]:
        """Numbers of the entity types that a split has."""
        return {(tag - 1) // 2 for tags in split.tags for tag in tags if tag}

    def shortage(self, split: TaggedSplit) -> str | None:
        """What a split lacks to train on, if anything."""
        return None if self.occurring(split) else "no entities, but a tagger needs some"

    def _parse(self, raw: RawTags) -> list[list[Tag]]:
        """Letter and type of every tag; numbers stand for the given names."""
        known: dict[str, Tag] = {}
        for row, tags in enumerate(raw.tags):
            for place, tag in enumerate(tags):
                if tag in known:
                    continue
                found = f"{raw.origin} has the tag '{tag}' in sentence {row + 1} (at '{raw.sentences[row][place]}')"
                parsed = split_tag(self._numbered.get(tag, tag))
                if parsed is None and self._known and not self._numbered and tag.isdecimal():
                    raise DataError(
                        f"{found}, a number, but the tags are known by name alone ({listed(self.names)}), so that it "
                        "may stand for any; write the names, or set data.labels to them in the order of their numbers."
                    )
                if parsed is None and not self._known:
                    alone = sum(of_sentence.count(tag) for of_sentence in raw.tags) == 1
                    raise _of_no_scheme(found, tag, header=alone and row == place == 0)
                if parsed is None or (parsed[1] and parsed[1] not in self.classes):
                    raise UnknownLabelError(
                        f"{found}, but the known tags are: {listed(self.names)}",
                        "correct it, or name all tags in data.labels",
                        nearest(tag, self.names),
                    )
                known[tag] = parsed
        return [[known[tag] for tag in tags] for tags in raw.tags]

    def _notes(self, raw: RawTags, parsed: Sequence[Sequence[Tag]]) -> Iterator[str]:
        empty = sum(not words for words in raw.sentences)
        if empty:
            yield f"{raw.origin}: {empty} sentence(s) without words were left out."
        sentences = [words for words in raw.sentences if words]
        blank = sum(not word.strip() for words in sentences for word in words)
        if blank:
            yield f"{raw.origin}: {blank} word(s) are blank; they keep their tags and are read as unknown words."
        average = sum(map(len, sentences)) / max(1, len(sentences))
        if average > LONG:
            yield (
                f"{raw.origin}: the {len(sentences)} sentence(s) have {average:,.0f} words on average, so several may "
                "have been run together; in a column file a blank line must end each."
            )
        scheme = find_scheme(parsed)
        if scheme != "IOB2":
            yield f"{raw.origin}: the tags are {scheme} and were rewritten as IOB2."
        wrong = [(row, place) for row, tags in enumerate(parsed) for place in breaks(tags, scheme)]
        if wrong:
            row, place = wrong[0]
            around = range(max(0, place - CONTEXT), min(len(parsed[row]), place + CONTEXT + 1))
            example = " ".join(f"{raw.sentences[row][word]}/{raw.tags[row][word]}" for word in around)
            yield (
                f"{raw.origin}: {len(wrong)} tag(s) break {scheme}, the first in sentence {row + 1} ("
                f"'{example}'); a tag that cannot continue an entity was read as the start of one."
            )


def _check(tags: Sequence[str], owner: str) -> None:
    """The different tags of a set must have names, O among them, and an entity."""
    if all(tag.lstrip("-").isdecimal() for tag in tags):
        raise DataError(
            f"{owner} has numbers for tags ({listed(tags)}), and nothing says what they stand for; name the tags in "
            "data.labels, beginning with number 0."
        )
    if OUTSIDE not in tags and not NEARLY_OUTSIDE.intersection(tags):
        raise DataError(
            f"{owner} has no tag 'O' (but: {listed(tags)}), which words outside every entity must have; "
            f"{WHICH_COLUMN}, add it, or set task: classification if these are classes of texts."
        )
    if len(tags) < 2:
        raise DataError(f"{owner} has no tag but '{tags[0]}', and a tagger needs entities; {WHICH_COLUMN}.")


def _of_no_scheme(found: str, tag: str, header: bool = False) -> DataError:
    """What to write instead; ``header``: the tag may be the name of a file's column."""
    if tag in NEARLY_OUTSIDE:
        return DataError(
            f"{found}, where 'O', a capital letter, was expected for a word outside every entity; write it."
        )
    kind = PREFIX.sub("", tag) or "TYPE"
    advice = f"write B-{kind} where an entity starts and I-{kind} where it goes on"
    return DataError(
        f"{found}, which no known scheme has (IOB1, IOB2, BIOES, BILOU); "
        f"{'if this is a header, remove it, else ' if header else ''}{advice}."
    )
