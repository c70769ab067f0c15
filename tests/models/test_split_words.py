"""What is read in a word of several pieces: by the untrained backbone, for good, and with no second set of weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from splade.models.lexical_sae import LexicalSAE
from splade.models.supports.split_words import SplitWordReader
from tests.builders import build_backbone_folder, build_model, encode

TEXTS = ["an unwatchable film", "good", "the unwatchable goodly movie"]
KINDS = ["tied", "untied", "headless", "trained embeddings"]


@pytest.fixture(params=KINDS)
def model(tmp_path: Path, request: pytest.FixtureRequest) -> LexicalSAE:
    kind = request.param
    build_backbone_folder(tmp_path, head=kind != "headless", tie_word_embeddings=kind != "untied")
    return build_model(tmp_path, neighbours=5, train_embeddings=kind == "trained embeddings")


def reader_of(model: LexicalSAE) -> SplitWordReader:
    reader = model.encoder.supports[0].reader
    assert isinstance(reader, SplitWordReader)
    return reader


def allowed(model: LexicalSAE) -> Tensor:
    """(B, L, V), read afresh."""
    reader_of(model).forget()
    input_ids, mask = encode(model, TEXTS)
    return model.encoder.supports[0].allows(input_ids, mask.bool())


def test_split_words_are_read_by_the_untrained_backbone(model: LexicalSAE) -> None:
    before = allowed(model)
    pieces = model.vocabulary.word_groups(*encode(model, TEXTS)) == 1  # the second word of each text
    alone, alone_mask = encode(model, ["unwatchable"])
    hidden = model.backbone(alone, alone_mask)[0, 1:-1].mean(0)  # between [CLS] and [SEP]
    words = (model.vocabulary.whole_word & ~model.vocabulary.stop).nonzero().flatten()
    scores = (hidden @ model.encoder.weight.T + model.encoder.bias)[words]
    expected = set(words[scores.topk(5).indices].tolist())
    for text in (0, 2):
        for row in before[text][pieces[text]]:
            assert set(row.nonzero().flatten().tolist()) == expected

    with torch.no_grad():  # training moves the backbone, never the reading
        for parameter in model.backbone.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter))
    model.train()
    assert torch.equal(allowed(model), before)


def test_a_loaded_model_reads_alike(model: LexicalSAE, tmp_path: Path) -> None:
    with torch.no_grad():
        for parameter in model.backbone.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter))
    model.save_pretrained(tmp_path / "saved")
    loaded = LexicalSAE.from_pretrained(tmp_path / "saved", "cpu")
    assert torch.equal(allowed(loaded), allowed(model))


def test_embeddings_that_do_not_train_are_neither_copied_nor_saved_twice(model: LexicalSAE) -> None:
    own, the_readers = (each.input_embeddings().weight for each in (model.backbone, reader_of(model).backbone))
    trained = model.config.train_embeddings
    assert own.requires_grad == trained
    assert (the_readers is own) == (not trained)
    embeddings = [name for name in model.state_dict() if name.endswith("word_embeddings.weight")]
    assert len(embeddings) == (2 if trained else 1)
    assert not any(each.requires_grad for each in reader_of(model).parameters())


def test_a_service_does_not_remember_words_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("splade.models.supports.split_words.REMEMBERED_WORDS", 1)
    model = build_model(tmp_path)
    support = model.encoder.supports[0]
    for text in ("unwatchable goodly", "unfunny", "goodly"):
        expected = support.allows(*encode(model, [text])).clone()
        assert torch.equal(support.allows(*encode(model, [text])), expected)
        assert 1 <= len(reader_of(model)._remembered) <= 2


def test_many_words_and_a_large_vocabulary_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build_model(tmp_path)
    expected = allowed(model)
    monkeypatch.setattr("splade.models.supports.split_words.WORDS_AT_A_TIME", 1)
    monkeypatch.setattr("splade.models.supports.split_words.ROWS_AT_A_TIME", 7)
    assert torch.equal(allowed(model), expected)
