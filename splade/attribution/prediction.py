"""What a classifier says of a text, handed around as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Prediction:
    """The predicted label of a text."""

    text: str
    label: str
    probabilities: dict[str, float]
    active_tokens: int
    truncated: bool

    @property
    def cut(self) -> int:
        """Units, here texts, that were longer than the model reads."""
        return int(self.truncated)

    def to_json(self) -> dict[str, object]:
        """The stable machine-readable form that `lexical-sae predict --json` prints, one object a text."""
        return {
            "text": self.text,
            "label": self.label,
            "probabilities": self.probabilities,
            "truncated": self.truncated,
        }
