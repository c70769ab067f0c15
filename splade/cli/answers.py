"""What `predict` and `explain` share: loading a model, reading its texts, and answering some of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from splade.cli.console import err
from splade.cli.inputs import read_texts
from splade.models.folder import check_model_folder
from splade.task_description import describe
from splade.utils.startup import startup

if TYPE_CHECKING:
    from splade.models.lexical_sae import LexicalSAE

# Texts read before their answers are printed: enough of them to batch those of similar length.
TEXTS_AT_A_TIME = 256

# The same where each text is read once for every word of it.
SHORTENED_AT_A_TIME = 16

# transformers loads it, if it is there, for the losses of object detectors: a quarter of a second.
UNUSED = ("scipy",)


def load_model(folder: Path, topk: int | None, *, for_tagger: bool) -> LexicalSAE:
    """A saved model, capped as asked; `for_tagger`: whether something was asked for that only a tagger can do."""
    check_model_folder(folder)
    with startup(without=UNUSED):
        from splade.models.lexical_sae import LexicalSAE, check_task

        model = LexicalSAE.from_pretrained(folder)
    if for_tagger or topk is not None:
        check_task(model, "tagging")
    if topk is not None:
        model.topk_per_position = min(topk, model.vocab_size)  # more than all are all
    return model


def texts_for(
    model: LexicalSAE, texts: list[str] | None, file: Path | None, column: str | None, encoding: str | None
) -> Sequence[Any]:
    """The texts that a command was given, as the model's task reads them."""
    trained = (model.record.get("experiment") or {}).get("data") or {}
    return read_texts(texts, file, model.task, column, trained, encoding)


def answers(
    texts: Sequence[Any], answer: Callable[[Sequence[Any]], Sequence[Any]], at_a_time: int = TEXTS_AT_A_TIME
) -> Iterator[Any]:
    """What `answer` says of the texts, some at a time, so that the first is printed while the last texts wait."""
    for start in range(0, len(texts), at_a_time):
        yield from answer(texts[start : start + at_a_time])


def say_cut(count: int, model: LexicalSAE) -> None:
    """A sentence on texts (words) that were longer than the model reads, if there were any."""
    if count:
        unit = describe(model.task).unit
        err.print(f"{count} {unit}(s) were cut to the {model.max_length} tokens the model reads.", highlight=False)
