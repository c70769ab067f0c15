"""The schema of the interface, written to a file: `python -m splade.apps.server.schema docs/openapi.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from splade.apps.server.app import create_app
from splade.apps.server.security import Access
from splade.apps.server.server import Server
from splade.utils.atomic import write_text


def schema_text() -> str:
    """What `docs/openapi.json` holds."""
    return json.dumps(create_app(Server([]), Access.of("127.0.0.1")).openapi(), indent=1) + "\n"


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), schema_text())
