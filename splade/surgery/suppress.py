"""Removing tokens and words from a model for good: saved with it, on its record, and reversible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from splade.errors import ModelError, RecordError
from splade.models.removal import Matched, Removal
from splade.surgery.appending import append_record
from splade.surgery.chain import read_chain
from splade.surgery.fingerprint import Snapshot, snapshot
from splade.surgery.probes import MOST_PROBES, probe_logits
from splade.surgery.record import Account, Operation, Record
from splade.surgery.targets import SHOWN, Targets, find_targets, nothing_matched


def suppress_token_globally(
    model: Any,
    tokens: Targets = (),
    words: Targets = (),
    *,
    account: Account | None = None,
    probes: Sequence[Any] | None = None,
    key: Path | None = None,
) -> Matched:
    """Shut `tokens` for every input (s_j = 0) and silence `words`, for good: saved with the model, and on its record.

    No embedding is touched; `restore` takes it back. The result says what matched and what did not.

    Args:
        tokens: by number, by name (all casings, pieces and senses), or a file of names.
        words: to silence: wherever one of them stands, nothing speaks for it.
        account: who does it and why, and what was measured.
        probes: texts whose logits before and after are kept in the record; None: the words themselves.
        key: a file with a private Ed25519 key (PEM) to sign the record with.
    """
    matched = find_targets(_changeable(model), tokens, words)
    texts = _words_as_texts(matched) if probes is None else probes
    change(model, model.removal | matched.removal, matched, account=account, probes=texts, key=key)
    return matched


def restore(
    model: Any,
    tokens: Targets = (),
    words: Targets = (),
    *,
    account: Account | None = None,
    probes: Sequence[Any] | None = None,
    key: Path | None = None,
) -> Matched:
    """Listen again to `tokens` that were shut and `words` that were silenced; without any, to all. Recorded too."""
    if _names_nothing(tokens) and _names_nothing(words):
        left, matched = Removal(), Matched(())
        if not _changeable(model).removal:
            raise ModelError("Nothing is removed from the model, so that there is nothing to restore.")
    else:
        matched = find_targets(_changeable(model), tokens, words)
        left = model.removal - matched.removal
        if not model.removal & matched.removal:
            raise ModelError(
                f"'{matched.found[0].asked}' is not removed from the model; it removes: {_listed(model) or 'nothing'}."
            )
    texts = _words_as_texts(matched) if probes is None else probes
    change(model, left, matched, operation="restore", account=account, probes=texts, key=key)
    return matched


def undo_last(model: Any, *, account: Account | None = None, key: Path | None = None) -> Record:
    """Take back what the last record did that was not taken back itself; its own texts are asked again."""
    chain = read_chain(_changeable(model).surgery)
    undone = {record.undoes for record in chain}
    open_ = [record for record in chain if record.number not in undone and record.undoes is None]
    if not open_:
        raise RecordError("The model has no record of a removal that is still in force, so that none can be undone.")
    last = open_[-1]
    did, was = Removal.from_json(last.removed), Removal.from_json(last.removed_before)
    removal = (model.removal - (did - was)) | (was - did)
    texts = [probe["text"] for probe in last.probes]
    return change(
        model, removal, Matched(()), operation="restore", account=account, probes=texts, key=key, undoes=last.number
    )


def change(
    model: Any,
    removal: Removal,
    matched: Matched,
    *,
    operation: Operation = "remove",
    account: Account | None = None,
    probes: Sequence[Any] = (),
    key: Path | None = None,
    undoes: int | None = None,
) -> Record:
    """Make `removal` all that is removed from a model, and append the record of it."""
    was = snapshot(model)
    before = probe_logits(model, probes) if probes else []
    model.set_removal(removal)
    try:
        after = probe_logits(model, probes) if probes else []
        asked = [
            {"text": text, "before": first, "after": second}
            for text, first, second in zip(probes, before, after, strict=True)
        ]
        return append_record(
            model,
            was,
            Snapshot(was.parts, removal),
            operation=operation,
            matched=matched,
            account=account,
            probes=asked,
            key=key,
            undoes=undoes,
        )
    except BaseException:  # whatever it was, the model is as before: a removal without its record is none
        model.set_removal(was.removal)
        raise


def suppress_words(model: Any, words: Iterable[str]) -> Matched:
    """`LexicalSAE.suppress`: names alone, no probes; an empty list removes nothing."""
    listed = _strings(words)
    return suppress_token_globally(model, listed, probes=()) if listed else Matched(())


def silence_words(model: Any, words: Iterable[str]) -> Matched:
    """`LexicalSAE.silence`."""
    listed = _strings(words)
    return suppress_token_globally(model, words=listed, probes=()) if listed else Matched(())


def restore_words(model: Any, words: Iterable[str] | None = None) -> Matched:
    """`LexicalSAE.restore`: whichever of the two was done to each word."""
    if words is None:
        return restore(model, probes=())
    listed = _strings(words)
    matched = find_targets(model, listed) if listed else None
    removed = model.removal
    tokens = [match.asked for match in matched.found if match.removal & removed] if matched else []
    silenced = [word for word in listed if model.vocabulary.normalise(word) in removed.words]
    if not tokens and not silenced:
        raise nothing_matched(Matched((), tuple(listed)))
    return restore(model, tokens, silenced, probes=())


def _changeable(model: Any) -> Any:
    if not hasattr(model, "set_removal") or not hasattr(model, "own_settings"):
        raise ModelError(f"A model was expected first, but {model!r:.{SHOWN}} was given; load one.")
    return model


def _strings(words: Any) -> list[str]:
    listed = [words] if isinstance(words, str) else list(words) if isinstance(words, Iterable) else [words]
    if not all(isinstance(word, str) for word in listed):
        raise ModelError(f"Words to suppress were expected, a list of strings, but {words!r:.{SHOWN}} was given.")
    return [str(word) for word in listed]


def _names_nothing(targets: Targets) -> bool:
    return isinstance(targets, Sequence) and not isinstance(targets, str) and not targets


def _listed(model: Any) -> str:
    return ", ".join([*model.suppressed_words, *model.silenced_words][:10])


def _words_as_texts(matched: Matched) -> list[str]:
    return [name for name in dict.fromkeys(name for match in matched.found for name in match.names)][:MOST_PROBES]
