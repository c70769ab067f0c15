"""What the tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import ToyRun


@pytest.fixture(scope="module")
def model(toy_run: ToyRun) -> Path:
    """The folder of a trained classifier; shared, so a test must leave it alone."""
    return toy_run.folder / "model"
