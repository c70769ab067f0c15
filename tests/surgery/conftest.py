"""Models that the tests of surgery share; a test must leave them as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from splade.models.lexical_sae import LexicalSAE
from tests.surgery.models import VARIANTS, variant


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LexicalSAE]:
    folder: Path = tmp_path_factory.mktemp("surgery")
    return {name: variant(folder / name, name) for name in VARIANTS}
