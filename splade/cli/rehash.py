"""`lexical-sae rehash`."""

from __future__ import annotations

from splade.cli.errors import reports_errors
from splade.cli.options import ModelFolder


@reports_errors
def rehash(model: ModelFolder) -> None:
    """Take a saved model for whole as it is now, after its files were changed on purpose.

    A model is refused where one of its files is not as it was saved. This writes their hashes anew, once they make a
    model that can be loaded.
    """
    from splade.models.rehash import rehash_model  # loads torch, which no --help needs

    changed = rehash_model(model)
    print(
        f"{model}: {', '.join(changed)} taken as changed on purpose." if changed else f"{model}: nothing had changed."
    )
