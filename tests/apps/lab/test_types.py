"""The page's types, said in JSDoc, hold."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent / "tsconfig.json"

BESIDE = Path(sys.prefix) / "typescript" / "node_modules" / ".bin" / "tsc"
"""Where `.ci/run` installs the compiler, if there is an npm."""


def test_the_types_of_the_page_hold() -> None:
    compiler = shutil.which("tsc") or (str(BESIDE) if BESIDE.exists() else None)
    if compiler is None or shutil.which("node") is None:
        pytest.skip(f"there is no TypeScript compiler; npm install --prefix {BESIDE.parents[2]} typescript has one")
    done = subprocess.run([compiler, "-p", str(PROJECT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
