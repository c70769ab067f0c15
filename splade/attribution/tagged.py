"""What a tagger says of a text: words with their tags, the entities these make, and why. Handed around as values.

The logit of a tag at a word is exactly a sum over the vocabulary tokens that fired for it, and over the words of the
sentence where they fired: the word itself, and with a context (`model.context`) those around it. An `ExplainedWord`
holds both as the `Explanation` of that one word:

    logits[target] = bias + Σ tokens.score = bias + Σ words.score
"""

from __future__ import annotations

from dataclasses import dataclass, field

from splade.attribution.context import ContextEffects
from splade.attribution.explanation import NO_POSITION, Explanation, WordScore
from splade.utils.one_line import one_field

OUTSIDE = "O"


@dataclass(frozen=True)
class TaggedWord:
    """One word of the text and the tag decoded for it."""

    word: str
    start: int
    """First character in the text."""
    end: int
    """One past its last character."""
    tag: str
    """The decoded tag: of the sequences of tags that are possible, the most probable one has it here."""
    probabilities: dict[str, float]
    """Of every tag at this word by itself; another tag may be more probable than one that fits its neighbours."""
    active_tokens: int
    truncated: bool = False
    """Whether the word alone is longer than the model reads, so that its end has no say."""

    @property
    def probability(self) -> float:
        return self.probabilities[self.tag]


@dataclass(frozen=True)
class Entity:
    """Words that together name one thing."""

    type: str
    text: str
    """The characters text[start:end]."""
    start: int
    end: int
    words: range
    """Numbers of its words in the text, from 0."""
    probability: float
    """Of the tag of its least certain word, by the softmax over the tags at that word alone."""


@dataclass(frozen=True)
class TaggedText:
    """A text with all its words, none left out."""

    text: str
    """As it was given; of a list of words, the words joined by spaces."""
    words: list[TaggedWord]
    entities: list[Entity] = field(init=False)
    """In reading order."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "entities", _entities(self.text, self.words))

    @property
    def cut(self) -> int:
        """Units, here words, that alone were longer than the model reads."""
        return sum(word.truncated for word in self.words)

    def to_json(self) -> dict[str, object]:
        """The stable machine-readable form that `lexical-sae predict --json` prints, one object a text."""
        return {
            "text": self.text,
            "entities": [
                {
                    "type": entity.type,
                    "text": entity.text,
                    "start": entity.start,
                    "end": entity.end,
                    "words": list(entity.words),
                    "probability": entity.probability,
                }
                for entity in self.entities
            ],
            "words": [
                {"word": w.word, "start": w.start, "end": w.end, "tag": w.tag, "probability": w.probability}
                for w in self.words
            ],
        }

    def to_conll(self) -> str:
        """A word and its tag a line, then a blank line: a sentence of a column file, as `data.train_file` reads it.

        Columns are parted by white space, so in a word or a tag an underscore stands for it."""
        return "".join(f"{one_field(word.word)} {one_field(word.tag)}\n" for word in self.words) + "\n"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from splade import tagged_html

        return tagged_html(self)


@dataclass(frozen=True)
class ExplainedWord:
    """Why a word has its tag."""

    number: int
    """Of the word in the text, from 0."""
    explanation: Explanation
    """Its `label` is the tag decoded, its words this one and those around it that may speak for it."""
    context: ContextEffects | None = None
    """What deleting each other word does to the decision, where that was asked for; no part of the sum."""

    @property
    def itself(self) -> WordScore:
        """The word and what it adds by itself."""
        return next(word for word in self.explanation.words if word.offset == 0)

    def to_json(self) -> dict[str, object]:
        """An entry of `explained` in what `lexical-sae explain --json` prints."""
        whole = self.explanation.to_json()
        kept = {key: whole[key] for key in ("target", "logits", "probabilities", "bias")}
        tokens = [
            {
                "token": t.token,
                "score": float(t.score),
                "value": float(t.value),
                "word": None if t.token_id == NO_POSITION else self.number + t.offset,
            }
            for t in self.explanation.tokens
        ]
        words = [
            {"word": w.word, "start": w.start, "end": w.end, "score": float(w.score), "offset": w.offset}
            for w in self.explanation.words
        ]
        entry = {"word": self.number, "tag": self.explanation.label, **kept, "tokens": tokens, "words": words}
        if self.context is None:
            return entry
        effects = [None if effect is None else effect.to_json() for effect in self.context.effects]
        return entry | {"context_estimate": self.context.change, "context": effects}


@dataclass(frozen=True)
class ExplainedText:
    """A tagged text, and the sums behind some of its words."""

    tagged: TaggedText
    explained: list[ExplainedWord]
    """In reading order."""

    @property
    def cut(self) -> int:
        """Words that alone were longer than the model reads."""
        return self.tagged.cut

    def to_json(self) -> dict[str, object]:
        """The stable machine-readable form that `lexical-sae explain --json` prints, one object a text."""
        return self.tagged.to_json() | {"explained": [word.to_json() for word in self.explained]}

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from splade import tagged_html

        return tagged_html(self.tagged, self.explained)


def _entities(text: str, words: list[TaggedWord]) -> list[Entity]:
    """Stretches of B-X and the I-X that follow; of a sequence that is not IOB2, I-X after anything else starts one."""
    entities: list[Entity] = []
    first = 0
    for number, word in enumerate(words):
        if word.tag == OUTSIDE:
            continue
        letter, _, kind = word.tag.partition("-")
        before = words[number - 1].tag.partition("-") if number else ("", "", "")
        if letter != "I" or before[2] != kind:
            first = number
        following = words[number + 1].tag if number + 1 < len(words) else OUTSIDE
        if following != f"I-{kind}":
            named = words[first : number + 1]
            span = named[0].start, named[-1].end
            certainty = min(word.probability for word in named)
            entities.append(Entity(kind, text[span[0] : span[1]], *span, range(first, number + 1), certainty))
    return entities
