"""What one prediction is made of, in words: the value every explanation in this project is handed around as.

The same logit is written as a sum twice, once over the vocabulary tokens that fired and once over the words of
the text, and both sums are exact:

    logits[target] = bias + Σ tokens.score = bias + Σ words.score
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from splade.attribution.interactions import Interactions

NO_WORD = "(no word)"
"""Name of the row for score that arose at a position belonging to no word of the text, such as `[CLS]`."""

NOT_A_WORD = "(not a word)"
"""Name of the row for vocabulary entries a person cannot read as a word: specials, unused slots, pieces."""

NO_POSITION = -1
"""Position and id of the `NOT_A_WORD` row, which stands for several tokens at several positions."""


@dataclass(frozen=True)
class TokenScore:
    """One active vocabulary token and what it adds to the target's logit."""

    token: str
    """Display name of the vocabulary token."""
    token_id: int
    """Its id, or -1 for the `NOT_A_WORD` row."""
    score: float
    """Its contribution, value × effective weight."""
    value: float
    """Its activation s_j."""
    position: int
    """Where in the input it fired (most, with attention pooling), counted in subword tokens with specials; -1 for the
    `NOT_A_WORD` row."""
    offset: int = 0
    """Of a tagger: how many words to the right of the explained one the word stands that it fired at."""


@dataclass(frozen=True)
class WordScore:
    """One word of the text and what it adds to the target's logit."""

    word: str
    """The characters text[start:end], or `NO_WORD`."""
    start: int
    """First character of the word in the text."""
    end: int
    """One past its last character; start = end = 0 for the `NO_WORD` row."""
    score: float
    """Sum of the contributions that arose at the word's positions."""
    tokens: list[str] = field(default_factory=list)
    """Names of the vocabulary tokens that fired at the word, strongest first. For display; not in the JSON."""
    offset: int = 0
    """Of a tagger: how many words to the right of the explained one it stands; 0: it is the explained one."""
    parts: list[tuple[str, float]] = field(default_factory=list)
    """What each of these names adds, strongest first: the score as a sum. Not in the JSON either."""


@dataclass(frozen=True)
class Explanation:
    """A prediction as an exact sum of named words."""

    text: str
    """The input as it was given."""
    label: str
    """The predicted label."""
    target: str
    """The label whose logit is explained: the predicted one unless another was asked for."""
    logits: dict[str, float]
    """Logit of every label."""
    probabilities: dict[str, float]
    """Probability of every label."""
    bias: float
    """b_eff of the target: what the logit would be with nothing active, under this input's linear map. Where that is
    the same for every input, it is the prior (`constant_bias`)."""
    tokens: list[TokenScore]
    """Active vocabulary tokens, largest |score| first."""
    words: list[WordScore]
    """The words of the text in reading order."""
    truncated: bool = False
    """Whether the text was longer than the model reads, so that its end has no say."""
    interactions: Interactions | None = None
    """What deleting words does, and through which others, where that was asked for."""
    constant_bias: bool = False
    """Whether the bias is the same for every text: what the model says before it has read a word."""

    def __post_init__(self) -> None:
        # Sorting here makes the order a property of the type. The sort is stable, so ties keep the order they came in.
        object.__setattr__(self, "tokens", sorted(self.tokens, key=lambda token: -abs(token.score)))
        object.__setattr__(self, "words", sorted(self.words, key=lambda word: (word.start, word.end)))

    @property
    def bias_name(self) -> str:
        """What to call the bias."""
        return "prior" if self.constant_bias else "bias"

    @property
    def cut(self) -> int:
        """Units, here texts, that were longer than the model reads."""
        return int(self.truncated)

    def check(self) -> float:
        """The larger error of the two identities, |Σ score + bias − logits[target]| over tokens and over words."""
        logit = self.logits[self.target]
        by_token = math.fsum(token.score for token in self.tokens) + self.bias
        by_word = math.fsum(word.score for word in self.words) + self.bias
        return max(abs(by_token - logit), abs(by_word - logit))

    def to_json(self) -> dict[str, object]:
        """The stable machine-readable form that `lexical-sae explain --json` prints, one object a text."""
        found: dict[str, object] = {
            "text": self.text,
            "label": self.label,
            "target": self.target,
            "logits": _plain(self.logits),
            "probabilities": _plain(self.probabilities),
            "bias": float(self.bias),
            "constant_bias": self.constant_bias,
            "truncated": self.truncated,
            "tokens": [
                {
                    "token": token.token,
                    "score": float(token.score),
                    "value": float(token.value),
                    "position": int(token.position),
                }
                for token in self.tokens
            ],
            "words": [
                {"word": word.word, "start": int(word.start), "end": int(word.end), "score": float(word.score)}
                for word in self.words
            ],
        }
        return found if self.interactions is None else found | {"interactions": self.interactions.to_json()}

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from splade import explanation_html

        return explanation_html(self)


def _plain(numbers: Mapping[str, float]) -> dict[str, float]:
    """NumPy scalars become floats here: `json` refuses them."""
    return {name: float(number) for name, number in numbers.items()}
