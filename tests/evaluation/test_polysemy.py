"""Words in context: read, and compared in sense and in active tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from splade.config.schema import ModelConfig
from splade.errors import DataError
from splade.evaluation.polysemy import WordPair, polysemy, word_pairs
from splade.models.backbone import Backbone
from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_backbone_folder, build_model, encode
from tests.support_builders import TableReader

RIVER, MONEY = "the dull bank was boring", "a charming bank , witty and good"


def pair(first: str, second: str, same: bool, word: str = "bank") -> WordPair:
    spans = tuple((text.index(word), text.index(word) + len(word)) for text in (first, second))
    return WordPair((first, second), spans, same)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    """*bank* has two senses: as in the one sentence, and as in the other."""
    folder = build_backbone_folder(tmp_path_factory.mktemp("polysemy"))
    backbone, tokenizer = Backbone.from_name(str(folder))
    states = []
    for text in (RIVER, MONEY):
        batch = tokenizer(text, return_tensors="pt")
        place = batch["input_ids"][0].tolist().index(tokenizer.convert_tokens_to_ids("bank"))
        with torch.no_grad():
            states.append(backbone(batch["input_ids"], batch["attention_mask"])[0, place])
    senses = [tokenizer.convert_tokens_to_ids("bank")], torch.stack(states)[None]
    config = ModelConfig(name=str(folder), support=["full"], senses=2, sense_tokens=["bank"], dtype="float32")
    model = LexicalSAE(backbone, tokenizer, ["no", "yes"], config, max_length=24, senses=senses).eval()
    model.encoder.gate.calibrate(0.5, 1.0)
    return model


def test_senses_follow_the_sentence(model: LexicalSAE) -> None:
    pairs = [pair(RIVER, MONEY, False), pair(RIVER, RIVER, True), pair(MONEY, MONEY, True), pair(MONEY, RIVER, True)]
    found = polysemy(model, pairs)
    assert found.pairs == 4 and found.senses is not None
    assert (found.senses.across, found.senses.within) == (1.0, pytest.approx(1 / 3))
    assert (found.senses.pairs_across, found.senses.pairs_within) == (1, 3)
    assert found.active.across and found.active.within == pytest.approx(found.active.across / 3)


def test_only_the_same_single_token_is_compared(model: LexicalSAE) -> None:
    done: list[int] = []
    pairs = [
        pair("an unwatchable film", "an unwatchable film", True, "unwatchable"),  # the tokenizer splits it
        WordPair((RIVER, MONEY), ((4, 8), (2, 10)), False),  # dull, charming
        pair("good", "good", True, "good"),  # one sense only
    ]
    found = polysemy(model, pairs, done.append)
    assert found.pairs == 1 and found.senses is None and sum(done) == 6


def test_models_without_senses_are_measured_too(tmp_path: Path) -> None:
    found = polysemy(build_model(tmp_path), [pair(RIVER, MONEY, False), pair(RIVER, RIVER, True)])
    assert found.senses is None and found.active.within == 0.0


@pytest.mark.parametrize("pooling", ["max", "attention"])
def test_active_is_what_fires_at_the_word_and_not_what_it_wins(tmp_path: Path, pooling: str) -> None:
    """Hidden states that do not know their context: however many other words say the same, nothing differs."""
    model = build_model(tmp_path, "full", active=40, pooling=pooling)
    reader = TableReader(3 * model.encoder.weight.detach())
    model.backbone = reader  # type: ignore[assignment]
    model.encoder.gate.calibrate(0.05, 0.5)
    other = "good great excellent bank charming funny"
    ids, mask = encode(model, [other])
    place = ids[0].tolist().index(model.vocabulary.match("bank")[0])
    assert len(set(model.classify(model(ids, mask)).rows.position.tolist())) > 1  # several positions win something
    assert (model(ids, mask).to_dense()[0, place] > 0).sum() > 2
    found = polysemy(model, [pair("the bank", other, False)])
    assert found.pairs == 1 and found.active.across == 0.0


def test_stop_words_stay_silent(tmp_path: Path) -> None:
    found = polysemy(build_model(tmp_path), [pair("the bank was good", "a bank was dull", True, "was")])
    assert found.pairs == 1 and found.active.pairs_within == 0


ROW = {"sentence1": ["the  bank"], "sentence2": ["bank bank"], "index1": [1], "index2": [1], "label": ["0"]}


class TestReading:
    def test_words_are_found_by_their_number(self) -> None:
        assert word_pairs(ROW, "x") == [WordPair(("the  bank", "bank bank"), ((5, 9), (5, 9)), False)]  # type: ignore[arg-type]
        assert word_pairs({**ROW, "label": ["-1"]}, "x") == []  # type: ignore[arg-type]

    def test_what_is_missing_is_named(self) -> None:
        with pytest.raises(DataError, match="x has no column 'index2'"):
            word_pairs({key: value for key, value in ROW.items() if key != "index2"}, "x")  # type: ignore[misc]
        with pytest.raises(DataError, match="names a word in row 1 that its sentence does not have"):
            word_pairs({**ROW, "index1": [2]}, "x")  # type: ignore[arg-type]
