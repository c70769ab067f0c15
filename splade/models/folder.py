"""How a saved model's folder is told from any other; light to import, so that a wrong path is refused at once."""

from __future__ import annotations

from pathlib import Path

from splade.errors import ModelError

SETTINGS = "lexical_sae.json"
"""The file that only a saved model has."""


def is_model_folder(folder: Path) -> bool:
    """Whether a folder holds a saved model."""
    return (folder / SETTINGS).is_file()


def check_model_folder(folder: Path) -> None:
    """Refuse a folder that holds no saved model."""
    if not is_model_folder(folder):
        found = "is no folder" if not folder.is_dir() else f"has no {SETTINGS}"
        raise ModelError(
            f"{folder} is not a saved Lexical-SAE model: it {found}; name the 'model' folder that a training left in "
            "its output_dir."
        )
