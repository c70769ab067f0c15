"""Remembered encodings: the same to the bit, read once, and no more of them than there is room for."""

from __future__ import annotations

from pathlib import Path

import torch

from splade.apps.server.encodings import RememberingModel
from splade.inference import explain
from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_model, encode, toy_reviews

ROOM = 10**6


def test_what_is_remembered_is_what_was_read(folders: dict[str, Path]) -> None:
    model = LexicalSAE.from_pretrained(folders["words"])
    remembering = RememberingModel(model, ROOM)
    texts = [*toy_reviews(6)[0], "good", ""]
    with torch.no_grad():
        first, again = remembering(*encode(model, texts)), remembering(*encode(model, texts))
        plain = model(*encode(model, texts))
    inside = plain.attention_mask.bool()
    assert bool((first.hidden[inside] == plain.hidden[inside]).all())
    assert bool((first.hidden == again.hidden).all())
    assert (remembering.read, remembering.found) == (len(texts), len(texts))
    assert [one.to_json() for one in explain(remembering, texts)] == [one.to_json() for one in explain(model, texts)]


def test_a_text_twice_in_a_batch_is_read_once(folders: dict[str, Path]) -> None:
    remembering = RememberingModel(LexicalSAE.from_pretrained(folders["words"]), ROOM)
    with torch.no_grad():
        remembering(*encode(remembering.model, ["good film", "bad", "good film"]))
        assert remembering.read == 2
        remembering(*encode(remembering.model, ["a very very long and good film", "bad"]))  # padded otherwise
    assert remembering.read == 3 and remembering.found == 1


def test_the_longest_unused_make_room(tmp_path: Path) -> None:
    model = build_model(tmp_path)
    lengths = {text: len(model.tokenizer(text)["input_ids"]) for text in ("good film", "bad plot", "dull music")}
    room = 4 * 32 * sum(sorted(lengths.values())[-2:])  # two of them, of 32 dimensions in float32
    remembering = RememberingModel(model, room)
    with torch.no_grad():
        for text in ("good film", "bad plot", "good film", "dull music", "good film"):
            remembering(*encode(model, [text]))
            assert remembering.kept_bytes <= room
        assert (remembering.read, remembering.found) == (3, 2)
        remembering(*encode(model, ["bad plot"]))  # was the longest unused
    assert remembering.read == 4


def test_it_is_never_trained(tmp_path: Path) -> None:
    remembering = RememberingModel(build_model(tmp_path).train(), ROOM)
    assert not remembering.train().training and not remembering.model.training
