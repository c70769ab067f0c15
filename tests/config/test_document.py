"""The page of settings says what the code does."""

from __future__ import annotations

from pathlib import Path

from splade.config.document import settings_page
from splade.evaluation.measures import MEASURES

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_is_made_from_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == settings_page(), (
        "run: python -m splade.config.document > docs/settings.md"
    )


def test_the_measures_are_listed_by_name() -> None:
    (row,) = (line for line in settings_page().splitlines() if line.startswith("| `evaluation.measures`"))
    assert f"Choices: {', '.join(sorted(MEASURES.names()))}." in row


def test_every_setting_has_a_meaning() -> None:
    rows = [line for line in settings_page().splitlines() if line.startswith("| `")]
    assert len(rows) > 40
    assert all(row.split("|")[3].strip() for row in rows)
