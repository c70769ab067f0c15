"""The documentation of `results.json`, from what measures declare: `python -m splade.reporting.documentation FILE`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from splade.evaluation.measure import Declared
from splade.evaluation.measures import declared
from splade.reporting.sections import spoken_of_any

BEGIN, END = "<!-- measures: begin -->", "<!-- measures: end -->"
"""The lines of a page between which the table stands."""


def keys_table() -> str:
    """A Markdown table of every key that measures write to `results.json`."""
    rows = ["| key | task | better | meaning |", "|---|---|---|---|"]
    for one in declared():
        rows += [
            *(_row(figure.key, one, figure.better or "", figure.meaning) for figure in one.figures),
            *(_row(table.fields, one, "", table.meaning) for table in one.tables),
            *(_row(key.key, one, "", key.meaning) for key in one.keys),
        ]
    return "\n".join(rows)


def _row(key: str, one: type[Declared], better: str, meaning: str) -> str:
    tasks = one.tasks or ()
    cells = (f"`{key}`", ", ".join(tasks), better, spoken_of_any(meaning, {"task": tasks[0] if tasks else None}))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def documented(text: str) -> str:
    """A page with the table as it is now between its two lines."""
    table = f"{BEGIN}\n{keys_table()}\n{END}"
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: table, text, flags=re.DOTALL)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(documented(page.read_text(encoding="utf-8")), encoding="utf-8")
