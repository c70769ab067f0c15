"""The command line. A command a file; `main` puts them together, `errors` turns a user's mistakes into sentences."""

from splade.cli.main import app, main

__all__ = ["app", "main"]
