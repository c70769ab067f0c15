"""What is read in a word: by the untrained backbone, for good, and with no second set of weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from splade.models.lexical_sae import LexicalSAE
from splade.models.word_reader import WordReader, words_in_pieces
from tests.builders import build_backbone_folder, build_model, encode

TEXTS = ["an unwatchable film", "good", "the unwatchable goodly movie"]
KINDS = ["tied", "untied", "headless", "trained embeddings"]


@pytest.fixture(params=KINDS)
def model(tmp_path: Path, request: pytest.FixtureRequest) -> LexicalSAE:
    kind = request.param
    build_backbone_folder(tmp_path, head=kind != "headless", tie_word_embeddings=kind != "untied")
    return build_model(tmp_path, neighbours=5, train_embeddings=kind == "trained embeddings")


def reader_of(model: LexicalSAE) -> WordReader:
    assert model.open_words is not None
    return model.open_words.reader


def pieces_of(model: LexicalSAE, word: str) -> tuple[int, ...]:
    return tuple(model.tokenizer(word, add_special_tokens=False)["input_ids"])


def train_a_little(model: LexicalSAE) -> None:
    with torch.no_grad():
        for parameter in model.backbone.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter))


def test_a_word_is_the_mean_of_its_pieces_standing_alone(model: LexicalSAE) -> None:
    alone, mask = encode(model, ["unwatchable"])
    expected = model.backbone(alone, mask)[0, 1:-1].mean(0)  # between [CLS] and [SEP]
    [found] = reader_of(model).read([pieces_of(model, "unwatchable")])
    assert torch.allclose(found, expected, atol=2e-3)  # the copy is rounded to half precision


def test_training_does_not_change_what_is_read(model: LexicalSAE) -> None:
    words = [pieces_of(model, word) for word in ("unwatchable", "good", "goodly")]
    before = reader_of(model).read(words)
    train_a_little(model)
    model.train()
    assert torch.equal(reader_of(model).read(words), before)


def test_a_word_reads_alike_beside_others(model: LexicalSAE) -> None:
    words = [pieces_of(model, word) for word in ("unwatchable", "good", "goodly")]
    together = reader_of(model).read(words)
    alone = torch.cat([reader_of(model).read([word]) for word in words])
    assert torch.allclose(together, alone, atol=1e-5)


def test_a_loaded_model_reads_alike(model: LexicalSAE, tmp_path: Path) -> None:
    train_a_little(model)
    model.save_pretrained(tmp_path / "saved")
    loaded = LexicalSAE.from_pretrained(tmp_path / "saved", "cpu")
    words = [pieces_of(model, "unwatchable")]
    assert torch.equal(reader_of(loaded).read(words), reader_of(model).read(words))


def test_embeddings_that_do_not_train_are_neither_copied_nor_saved_twice(model: LexicalSAE) -> None:
    own, the_readers = (each.input_embeddings().weight for each in (model.backbone, reader_of(model).backbone))
    trained = model.config.train_embeddings
    assert own.requires_grad == trained
    assert (the_readers is own) == (not trained)
    embeddings = [name for name in model.state_dict() if name.endswith("word_embeddings.weight")]
    assert len(embeddings) == (2 if trained else 1)
    assert not any(each.requires_grad for each in reader_of(model).parameters())


def test_many_words_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build_model(tmp_path)
    words = [pieces_of(model, word) for word in ("unwatchable", "good", "goodly", "unwatchable")]
    expected = reader_of(model).read(words)
    monkeypatch.setattr("splade.models.word_reader.WORDS_AT_A_TIME", 1)
    assert torch.allclose(reader_of(model).read(words), expected, atol=1e-5)


def test_words_that_no_token_writes_are_found(tmp_path: Path) -> None:
    model = build_model(tmp_path)
    ids, mask = encode(model, TEXTS)
    split, number = words_in_pieces(model.vocabulary, ids, mask)
    assert sorted(map(model.vocabulary.name_of, split.values())) == ["goodly", "unwatchable", "unwatchable"]
    assert number.shape == (ids.numel(),) and int(number.max()) < ids.numel()


@pytest.fixture
def keeps_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEXICAL_SAE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("splade.models.word_reader.WORTH_KEEPING", 1)
    return tmp_path / "cache" / "readings"


def content_of(model: LexicalSAE) -> list[tuple[int, ...]]:
    return [(word,) for word in model.vocabulary.content.tolist()]


def test_kept_readings_are_those_read_anew(keeps_all: Path, model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, words = reader_of(model), [*content_of(model), pieces_of(model, "unwatchable")]
    expected = reader.read(words)
    assert torch.equal(reader.read_once(words), expected)
    monkeypatch.setattr(WordReader, "read", None)
    assert torch.equal(reader.read_once(words), expected)
    assert keeps_all.is_dir()


def test_a_model_is_the_same_with_readings_kept_or_not(
    keeps_all: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, again = (build_model(tmp_path, texts=TEXTS, neighbours=5).state_dict() for _ in range(2))
    assert len(list(keeps_all.iterdir())) == 2  # whole words, and those of the texts that are split
    monkeypatch.setattr("splade.models.word_reader.WORTH_KEEPING", 10**9)
    anew = build_model(tmp_path, texts=TEXTS, neighbours=5).state_dict()
    assert all(torch.equal(first[name], anew[name]) and torch.equal(again[name], anew[name]) for name in anew)


@pytest.mark.usefixtures("keeps_all")
def test_readings_are_known_by_all_that_they_follow_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build_model(tmp_path)
    reader, words = reader_of(model), content_of(model)
    keys = [reader._known_by(words), reader._known_by(words[1:]), reader._known_by(words[::-1])]
    with torch.no_grad():
        next(reader.backbone.parameters())[0, 0] += 1
    keys.append(reader._known_by(words))
    for name, value in (("VERSION", 2), ("WORDS_AT_A_TIME", 8), ("computed_by", lambda device: ["another"])):
        with monkeypatch.context() as patch:
            patch.setattr(f"splade.models.word_reader.{name}", value)
            keys.append(reader._known_by(words))
    model.tokenizer.pad_token = "[UNK]"
    keys.append(reader._known_by(words))
    assert len(set(keys)) == len(keys)
    assert reader._known_by(words) == keys[-1]


def test_few_words_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEXICAL_SAE_CACHE", str(tmp_path / "cache"))
    build_model(tmp_path, texts=TEXTS)
    assert not (tmp_path / "cache").exists()
