"""What if: a text before and after tokens are shut, words silenced or deleted, for one answer alone.

    after = before + deletion + direct + mask        for every label

`before` is the logit of the text as it is. `deletion` is what the backbone makes of the text without the deleted words,
with nothing shut. `direct` and `mask` are the two parts of shutting and silencing (`splade.surgery.effect`), which is
the head's work alone. No weight changes, and what is removed is forgotten with the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from splade.apps.server.answers import SPEECH, Json
from splade.apps.server.encodings import RememberingModel
from splade.errors import DataError
from splade.models.removal import Match, Removal
from splade.surgery.deletion import Example, without_words
from splade.surgery.effect import TextEffect, TokenChange, effect_on_texts
from splade.surgery.probes import probe_logits
from splade.surgery.suppressed_model import SuppressedModel
from splade.surgery.targets import token_match, word_match
from splade.task_description import describe
from splade.tasks import TASKS


@dataclass(frozen=True)
class WhatIf:
    """What is removed, and what is to be explained."""

    shut: tuple[str | int, ...] = ()
    silence: tuple[str, ...] = ()
    delete: tuple[int, ...] = ()
    target: str | None = None
    word: int | None = None


@dataclass(frozen=True)
class Matches:
    """What was asked for, and what in the model it stands for."""

    found: list[tuple[str, Match]]
    """The operation and what it matched."""
    unmatched: list[Json]

    @classmethod
    def of(cls, model: Any, asked: WhatIf) -> Matches:
        found: list[tuple[str, Match]] = []
        unmatched: list[Json] = []
        for operation, names, match in (("shut", asked.shut, token_match), ("silence", asked.silence, word_match)):
            for name in dict.fromkeys(names):
                if (matched := match(model, name)) is None:
                    unmatched.append({"asked": name, "operation": operation})
                else:
                    found.append((operation, matched))
        return cls(found, unmatched)

    @property
    def removal(self) -> Removal:
        total = Removal()
        for _, match in self.found:
            total |= match.removal
        return total

    def to_json(self) -> Json:
        matched = [{"asked": one.asked, "operation": what, "names": list(one.names)} for what, one in self.found]
        return {"matched": matched, "unmatched": self.unmatched}


def what_if(model: RememberingModel, text: Example, asked: WhatIf) -> tuple[Json, float]:
    """The answer of `/suppress`, and the largest error of its sums."""
    backbone_read, task, speech = model.read, TASKS.get(model.task), SPEECH.get(model.task)
    words = task.words_of(text)
    gone = _checked(asked.delete, len(words))
    kept = [number for number in range(len(words)) if number not in gone]
    matches = Matches.of(model, asked)
    suppressed = SuppressedModel(model, removal=matches.removal)
    left = without_words(model, text, gone) if gone else text
    [before] = task.explain_texts(model, [text], target=asked.target, word=asked.word)
    target = asked.target or speech.target(before)
    effects = effect_on_texts(suppressed, [left])
    word = None if asked.word is None else _place_of(asked.word, kept)
    [after] = task.explain_texts(suppressed, [left], target=target, word=word)
    logits = _logits(model, text) if gone else [effect.logits_before for effect in effects]
    labels = speech.labels(before)  # a row, of a tagger one a word
    whole = describe(model.task).decides_on_texts
    numbered: list[tuple[int | None, int]] = [(None, 0)] if whole else [(number, number) for number in kept]
    was, now = speech.explained(before), speech.explained(after)
    found = {
        "text": was["text"],
        "shorter": now["text"] if gone else None,
        "target": target,
        "head_only": model.read == backbone_read,
        "before": was,
        "after": now,
        "effects": [
            _effect(effect, number, logits[row], labels[row], deleted=bool(gone))
            for effect, (number, row) in zip(effects, numbered, strict=True)
        ],
        **matches.to_json(),
    }
    return found, max([speech.error(before), speech.error(after), *(effect.check() for effect in effects)])


def _logits(model: RememberingModel, text: Example) -> list[dict[str, float]]:
    """Of each row, by label."""
    return [dict(zip(model.labels, row, strict=True)) for row in probe_logits(model, [text])[0]]


def _checked(numbers: Sequence[int], words: int) -> frozenset[int]:
    for number in numbers:
        if number >= words:
            raise DataError(
                f"delete names word {number}, but the text has {words} word(s), counted from 0; correct it."
            )
    return frozenset(numbers)


def _place_of(word: int, kept: Sequence[int]) -> int:
    """The number of a word among those that are left; one that is not left has none of theirs."""
    return kept.index(word) if word in kept else len(kept)


def _effect(effect: TextEffect, number: int | None, logits: dict[str, float], label: str, *, deleted: bool) -> Json:
    return {
        "number": number,
        "label": {"before": label, "after": effect.label_after},
        "flipped": label != effect.label_after,
        "logits": {
            name: {
                "before": before,
                "deletion": effect.logits_before[name] - before if deleted else 0.0,
                "direct": effect.direct[name],
                "mask": effect.through_mask[name],
                "after": effect.logits_after[name],
            }
            for name, before in logits.items()
        },
        "tokens": [_changed(token) for token in effect.tokens],
    }


def _changed(token: TokenChange) -> Json:
    return {"token": token.name, "before": token.before, "after": token.after, "direct": token.direct}
