"""Where what can be computed again is kept between commands."""

from __future__ import annotations

import os
from pathlib import Path

CACHE = "LEXICAL_SAE_CACHE"
"""The variable of the environment that names another folder."""


def cache_folder() -> Path:
    """The folder of this package in the user's cache, by the XDG base directories unless `LEXICAL_SAE_CACHE` is set."""
    if named := os.environ.get(CACHE):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "lexical-sae"
