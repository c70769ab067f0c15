"""Files of texts: what is read is exactly what was written, or the refusal is one sentence."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

from splade.data.types import TextSplit
from splade.errors import LexicalSAEError
from tests.campaign.case import Trial
from tests.campaign.odd_files import draw_odd_file
from tests.campaign.quirks import QUIRKS
from tests.campaign.reading import Read, read
from tests.campaign.tables import DELIMITERS, Expected, Table
from tests.campaign.tagged_files import draw_tagged
from tests.campaign.texts import LABEL_KINDS, labels_of, odd_texts
from tests.campaign.verdicts import Wrong, expect
from tests.campaign.workshop import Workshop


def draw(rng: Random, workshop: Workshop) -> Trial:
    """A table with one quirk, mostly; else a path that is odd itself, or a tagged file."""
    kind = rng.random()
    if kind < 0.12:
        return draw_odd_file(rng, workshop)
    if kind < 0.25:
        return draw_tagged(rng)
    name = rng.choice(list(QUIRKS))
    formats, quirk = QUIRKS[name]
    format_, labels = rng.choice(formats), rng.choice([*LABEL_KINDS, *["names"] * 8])
    count = rng.randint(12, 40)
    texts = odd_texts(rng, count)
    if name != "empty texts":  # and nothing else may have to be noted
        texts = [text if text.strip() else "good" for text in texts]
    table = Table(format_, texts, labels_of(rng, labels, count), delimiter=DELIMITERS.get(format_, ","))
    table.packed = format_ != "parquet" and rng.random() < 0.2
    quirk(rng, table)
    if "\0" in "".join(filter(None, table.texts)) and format_ in DELIMITERS and table.expected is Expected.READ:
        table.expected = Expected.EITHER  # no text file has a NUL; JSON and Parquet can write one
    settings = f", {' '.join(table.settings)}" if table.settings else ""
    description = f"{format_}{'.gz' if table.packed else ''} of {count} rows, {name}, labels: {labels}{settings}"
    return Trial(description, lambda folder: _check(table, folder))


def _check(table: Table, folder: Path) -> None:
    path = table.write(folder)
    try:
        found = read(path, table.settings)
    except LexicalSAEError as error:
        _check_refusal(str(error), table)
        if table.expected is Expected.READ:
            raise Wrong(f"refused a good file: {error}") from error
        raise
    expect(table.expected is not Expected.REFUSED, f"read {len(found.train)} texts of a file that cannot be right")
    _compare(found, table)
    if table.noted is not None:
        _check_note(found, table, folder)


def _compare(found: Read, table: Table) -> None:
    """Order, count and every character."""
    for part in (found.train, found.test):
        assert isinstance(part, TextSplit)
        expect(len(part) == len(table.texts), f"{len(table.texts)} texts were written and {len(part)} read")
        for row, (read_, written) in enumerate(zip(part.texts, table.texts, strict=True)):
            # Half a surrogate pair cannot be kept; its quirk asks for a note.
            replaced = written.encode("utf-8", "replace").decode()
            expect(read_ in (written, replaced), f"row {row}: {written!r:.60} was read as {read_!r:.60}")
        names = [found.label_names[label] for label in part.labels]
        for row, (name, written) in enumerate(zip(names, table.labels, strict=True)):
            expect(_same_label(written, name), f"row {row}: the label {written!r} was read as {name!r}")


def _same_label(written: object, read_: str) -> bool:
    return read_.lower() == str(written).lower() if isinstance(written, bool) else read_ == str(written).strip()


def _check_note(found: Read, table: Table, folder: Path) -> None:
    """Something was decided, so there is a note more than for the same texts in the plainest of files."""
    texts = [text.encode("utf-8", "replace").decode() if text.strip() else "good" for text in table.texts]
    usual = read(Table("jsonl", texts, table.labels).write(folder, "plain")).notes
    expect(len(found.notes) > len(usual), f"no note tells of {table.noted}; the notes are {found.notes}")


def _check_refusal(sentence: str, table: Table) -> None:
    """A proposal must help: not the column of labels for the texts, not what was given."""
    proposed = re.findall(r"Did you mean '([^']*)'", sentence)
    wanted = re.search(r"no column '([^']*)'", sentence)
    if wanted and wanted[1] == "text" and table.header[1] in proposed:
        raise Wrong(f"proposes the column of labels for the texts: {sentence}")
