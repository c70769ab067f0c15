"""What can be odd about a file of texts; each quirk changes a table and says what must become of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from tests.campaign.tables import DELIMITERS, Expected, Table
from tests.campaign.texts import WESTERN

Quirk = Callable[[Random, Table], None]
QUIRKS: dict[str, tuple[tuple[str, ...], Quirk]] = {}
DELIMITED = ("csv", "tsv")
TEXTUAL = (*DELIMITED, "jsonl")
EVERY = (*TEXTUAL, "parquet")


def quirk(*formats: str) -> Callable[[Quirk], Quirk]:
    """Register a quirk of files of these formats, by the function's name."""

    def register(function: Quirk) -> Quirk:
        QUIRKS[function.__name__.replace("_", " ")] = (formats, function)
        return function

    return register


@quirk(*EVERY)
def plain(rng: Random, table: Table) -> None:
    """Nothing odd but the texts."""
    table.quote_all = rng.random() < 0.5


@quirk(*DELIMITED)
def another_delimiter(rng: Random, table: Table) -> None:
    table.delimiter = rng.choice([mark for mark in ",;|\t" if mark != DELIMITERS[table.format]])
    table.quote_all = rng.random() < 0.5
    if rng.random() < 0.4:
        table.settings.append(f"data.delimiter={json.dumps(table.delimiter)}")
    else:
        table.expected, table.noted = Expected.EITHER, "another delimiter"


@quirk(*TEXTUAL)
def another_encoding(rng: Random, table: Table) -> None:
    table.encoding = rng.choice(["cp1252", "latin-1", "utf-16", "utf-16-le", "utf-32", "cp1252"])
    table.quote_all = True  # characters as they are, not as escapes
    table.texts = [rng.choice(WESTERN) + rng.choice(["", "!", " ok"]) for _ in table.texts]
    table.labels = [str(label).encode("ascii", "replace").decode() for label in table.labels]
    if rng.random() < 0.5:
        table.settings.append(f"data.encoding={table.encoding}")
    else:
        table.expected = Expected.EITHER
        table.noted = "the encoding" if table.encoding in ("cp1252", "latin-1") else None  # others have a mark


@quirk(*TEXTUAL)
def byte_order_mark(rng: Random, table: Table) -> None:
    table.encoding = "utf-8-sig"


@quirk(*TEXTUAL)
def other_line_ends(rng: Random, table: Table) -> None:
    table.newline = rng.choice(["\r\n", "\r\n", "\r"]) if table.format != "jsonl" else "\r\n"


@quirk(*TEXTUAL)
def blank_lines_at_the_end(rng: Random, table: Table) -> None:
    table.after.append(lambda content: content + b"\n" * rng.randint(1, 4))


@quirk(*TEXTUAL)
def no_line_end_at_the_end(rng: Random, table: Table) -> None:
    table.after.append(lambda content: content.removesuffix(b"\n"))


@quirk(*DELIMITED)
def stray_quotes(rng: Random, table: Table) -> None:
    """A quote opens in one row and closes some rows later, in a file whose writer knew no quotes."""
    table.unquoted, table.expected = True, Expected.EITHER
    table.texts = [f"good film {row}" for row in range(len(table.texts))]
    table.labels = [str(label).translate({ord(mark): None for mark in ',;"\t'}) for label in table.labels]
    first = rng.randrange(len(table.texts) - 1)
    table.texts[first] = '"' + table.texts[first]
    if rng.random() < 0.7:
        table.texts[rng.randrange(first + 1, len(table.texts))] += rng.choice(['"', '" she said', '""'])


@quirk(*DELIMITED)
def ragged_rows(rng: Random, table: Table) -> None:
    victim, more = rng.randrange(len(table.texts)) + 1, rng.random() < 0.5
    table.texts[victim - 1], table.expected = "good film", Expected.REFUSED

    def change(rows: list[list[str]]) -> list[list[str]]:
        rows[victim] = [*rows[victim], "more"] if more else rows[victim][:1]
        return rows

    table.rows = change


@quirk(*DELIMITED)
def header_twice(rng: Random, table: Table) -> None:
    table.expected = Expected.EITHER
    name = rng.choice(["text", "label", "id", ""])
    add = ["other" for _ in table.texts]
    table.rows = lambda rows: [
        [*row, *each, *each] for row, each in zip(rows, [[name], *([x] for x in add)], strict=True)
    ]


@quirk(*EVERY)
def index_column(rng: Random, table: Table) -> None:
    table.extra = {rng.choice(["", "Unnamed: 0", "id", "__index_level_0__"]): list(range(len(table.texts)))}
    table.extra_first = True


@quirk(*EVERY)
def more_columns(rng: Random, table: Table) -> None:
    many = {f"extra {n}": [rng.choice(["x", "", "1", "a, b"]) for _ in table.texts] for n in range(rng.randint(1, 5))}
    table.extra, table.extra_first = dict(many), rng.random() < 0.5


@quirk(*EVERY)
def other_names(rng: Random, table: Table) -> None:
    """Columns called otherwise: found with a note, or refused, or named by a setting."""
    table.header = list(
        rng.choice([("sentence", "intent"), ("tweet", "class"), ("review", "stars"), ("Text", "Label"), ("q", "y")])
    )
    if rng.random() < 0.5:
        table.settings += [f"data.text_column={table.header[0]}", f"data.label_column={json.dumps(table.header[1])}"]
    else:
        table.expected, table.noted = Expected.EITHER, "which columns were taken"


@quirk(*EVERY)
def text_is_label(rng: Random, table: Table) -> None:
    table.settings += ["data.text_column=label"] if rng.random() < 0.5 else ["data.label_column=text"]
    table.expected = Expected.REFUSED


@quirk(*EVERY)
def missing_labels(rng: Random, table: Table) -> None:
    table.labels[rng.randrange(len(table.labels))] = None
    table.expected = Expected.REFUSED


@quirk("jsonl", "parquet")
def missing_texts(rng: Random, table: Table) -> None:
    table.texts[rng.randrange(len(table.texts))] = None  # type: ignore[call-overload]
    table.expected = Expected.REFUSED


@quirk(*EVERY)
def empty_texts(rng: Random, table: Table) -> None:
    for _ in range(rng.randint(1, 3)):
        table.texts[rng.randrange(len(table.texts))] = rng.choice(["", "", " "])
    table.noted = "empty texts"


@quirk(*EVERY)
def cut_short(rng: Random, table: Table) -> None:
    """A download that broke off, within the last text."""
    table.texts[-1], table.expected = "the last text of all, which is cut", Expected.REFUSED
    mark = b"which is cut"
    if table.format == "parquet":
        table.after.append(lambda content: content[: int(len(content) * rng.uniform(0.1, 0.95))])
    else:
        table.after.append(lambda content: content[: content.rindex(mark)])


@quirk("csv", "tsv", "jsonl")
def packed_and_cut(rng: Random, table: Table) -> None:
    table.packed, table.expected = False, Expected.REFUSED
    import gzip

    def cut(content: bytes) -> bytes:
        whole = gzip.compress(content)
        return whole[: max(1, int(len(whole) * rng.uniform(0.2, 0.95)))]

    table.after.append(cut)
    table.ending = f"{table.format}.gz"


@quirk("jsonl")
def odd_json(rng: Random, table: Table) -> None:
    """One line that JSON allows and nobody has seen."""
    line = rng.choice(
        [
            '{"text": ' + "[" * 10_000 + "]" * 10_000 + ', "label": "a"}',
            '{"text": "a", "label": ' + "1" * 5_000 + "}",
            '{"text": "a", "label": "\\ud800"}',
            '{"text": "a", "label": "b\\udfff"}',
            '{"text": "a", "label": NaN}',
            '{"text": "a", "label": 1e999}',
            '{"text": "a", "label": {"name": "b"}}',
            '{"text": "a", "label": ["b"]}',
            '{"text": ["a"], "label": "b"}',
            '{"text": 5, "label": "b"}',
            '["a", "b"]',
            '"a"',
            "null",
            "{'text': 'a', 'label': 'b'}",
            '{"text": "a", "label": "b"},',
            '{"text": "a" "label": "b"}',
        ]
    )
    place = rng.randrange(len(table.texts))
    table.expected = Expected.REFUSED

    def insert(content: bytes) -> bytes:
        lines = content.split(b"\n")
        return b"\n".join([*lines[:place], line.encode(), *lines[place:]])

    table.after.append(insert)


@quirk("jsonl")
def surrogate_in_a_text(rng: Random, table: Table) -> None:
    table.texts[rng.randrange(len(table.texts))] = rng.choice(["good \ud83d film", "\udc00", "a\udfffb"])
    table.quote_all = False  # as an escape, the only way to write it
    table.expected, table.noted = Expected.EITHER, "the characters that were replaced"


@quirk(*TEXTUAL)
def another_ending(rng: Random, table: Table) -> None:
    table.ending = rng.choice(
        [
            each
            for each in ("csv", "tsv", "jsonl", "parquet", "txt", "xlsx", "json", "gz", "csv.gz", "data")
            if each != table.format
        ]
    )
    table.packed, table.expected = False, Expected.EITHER


@quirk(*TEXTUAL)
def packed_without_saying_so(rng: Random, table: Table) -> None:
    table.packed, table.ending, table.expected = True, table.format, Expected.EITHER
