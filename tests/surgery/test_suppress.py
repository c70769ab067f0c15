"""Removing for good: saved with the model, listed, restored to the bit, and the record of the training kept."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from splade.errors import ConfigError, ModelError, RecordError
from splade.intervene import Account, SuppressedModel, restore, suppress_token_globally, undo_last, verify
from splade.models.lexical_sae import LexicalSAE
from splade.surgery.chain import read_chain
from splade.surgery.fingerprint import model_hash
from tests.builders import build_model, toy_reviews
from tests.models.open_word_models import TEXTS
from tests.surgery.models import CONTEXT, VARIANTS, state_of, variant

READ = [*toy_reviews(4)[0], "an Unwatchable film", "zzzing good film", ""]


@pytest.mark.parametrize("name", VARIANTS)
def test_removed_saved_loaded_and_restored(tmp_path: Path, name: str) -> None:
    model = variant(tmp_path, name)
    before = state_of(model, READ)
    asked = {"tokens": ["good", "bank"], "words": ["film", "unwatchable"]}
    expected = state_of(SuppressedModel(model, **asked), READ)  # type: ignore[arg-type]
    embeddings = model.backbone.input_embeddings().weight.clone()
    matched = suppress_token_globally(model, **asked)  # type: ignore[arg-type]
    assert matched.unmatched == () and torch.equal(model.backbone.input_embeddings().weight, embeddings)
    assert torch.equal(state_of(model, READ).logits, expected.logits)
    model.save_pretrained(tmp_path / "saved", dataset="toys")
    loaded = LexicalSAE.from_pretrained(tmp_path / "saved", "cpu")
    for one in (model, loaded):
        assert {word.lower() for word in one.suppressed_words} == {"good", "bank"}
        assert one.silenced_words == ["film", "unwatchable"]
        torch.testing.assert_close(state_of(one, READ).logits, expected.logits, rtol=1e-5, atol=1e-5)
        assert verify(one).records == 1
    assert model_hash(loaded) == model_hash(model) and loaded.record["dataset"] == "toys"
    restore(loaded, tokens=["good"], words=["film"])
    assert {word.lower() for word in loaded.suppressed_words} == {"bank"} and loaded.silenced_words == ["unwatchable"]
    restore(model)
    assert not model.removal and torch.equal(state_of(model, READ).logits, before.logits)
    assert [record.operation for record in read_chain(model.surgery)] == ["remove", "restore"]
    restore(loaded)
    torch.testing.assert_close(state_of(loaded, READ).logits, before.logits, rtol=1e-5, atol=1e-5)
    loaded.save_pretrained(tmp_path / "again")
    last = LexicalSAE.from_pretrained(tmp_path / "again", "cpu")
    assert verify(last).records == 3 and last.record["dataset"] == "toys"


def test_the_models_own_methods(tmp_path: Path) -> None:
    model = build_model(tmp_path, texts=TEXTS, head="tied_mlp")
    before = state_of(model, READ).logits
    assert model.suppress(["good", "no such word"]).unmatched == ("no such word",)
    assert model.silence("film").found[0].names == ("film",)
    assert model.suppress([]).found == () and len(model.surgery) == 2
    assert (model.suppressed_words, model.silenced_words) == (["good"], ["film"])
    model.restore(["film", "good"])
    assert not model.removal and torch.equal(state_of(model, READ).logits, before)
    with pytest.raises(ModelError, match="nothing to restore"):
        model.restore()
    with pytest.raises(ConfigError, match="'film' first"):
        model.restore(["film"])


def test_a_tagger_with_a_context(tmp_path: Path) -> None:
    model = build_model(tmp_path, **CONTEXT)
    suppress_token_globally(model, ["london"], ["john", "u.s."], probes=[["john", "saw", "u.s."], "mary in london"])
    model.save_pretrained(tmp_path / "saved")
    loaded = LexicalSAE.from_pretrained(tmp_path / "saved", "cpu")
    assert loaded.silenced_words == ["john", "u.s."] and verify(loaded).texts == 2
    [record] = read_chain(loaded.surgery)
    assert [len(probe["after"]) for probe in record.probes] == [3, 3]


def test_who_and_why_is_on_the_record(tmp_path: Path) -> None:
    model = build_model(tmp_path)
    account = Account(
        person="A. Person",
        role="reviewer",
        reason="it names a group",
        purpose="sorting comments",
        groups={"women": "words of a list"},
        data={"test.csv": "ab" * 32},
        thresholds={"toxic": 0.5},
        figures={"before": {"accuracy": [0.9, 0.88, 0.92]}, "after": {"accuracy": [0.9, 0.87, 0.92]}},
    )
    suppress_token_globally(model, ["film", "qwerty zz"], account=account, probes=["a film", ""])
    [record] = read_chain(model.surgery)
    assert record.account["reason"] == "it names a group" and record.account["figures"] == account.figures
    assert record.unmatched == ["qwerty zz"] and record.names == ["film"]
    assert [probe["text"] for probe in record.probes] == ["a film", ""]
    assert record.versions["torch"] and record.time.endswith("+00:00") and len(record.not_guaranteed) == 3
    assert record.before != record.after and record.parts_before == record.parts


def test_undo_takes_back_one_record_after_another(tmp_path: Path) -> None:
    model = build_model(tmp_path)
    before = state_of(model, READ).logits
    suppress_token_globally(model, ["film"])
    first = state_of(model, READ).logits
    suppress_token_globally(model, ["good", "film"], ["plot"])
    assert undo_last(model).undoes == 1
    assert model.suppressed_words == ["film"] and torch.equal(state_of(model, READ).logits, first)
    assert undo_last(model).undoes == 0
    assert torch.equal(state_of(model, READ).logits, before)
    with pytest.raises(RecordError, match="no record of a removal"):
        undo_last(model)
    assert verify(model).records == 4


def test_a_change_that_nobody_recorded_is_on_the_record(tmp_path: Path) -> None:
    model = build_model(tmp_path)
    model.suppress(["film"])
    with torch.no_grad():
        model.head.out.bias.add_(1.0)
    with pytest.raises(RecordError, match="of another model"):
        verify(model)
    model.suppress(["plot"])
    assert [record.operation for record in read_chain(model.surgery)] == ["remove", "change", "remove"]
    assert verify(model).records == 3


@pytest.mark.parametrize("figures", [{"before": float("nan")}, {"before": object()}])
def test_what_cannot_be_written_removes_nothing(tmp_path: Path, figures: dict[str, object]) -> None:
    model = build_model(tmp_path)
    with pytest.raises(RecordError, match="plain JSON values"):
        suppress_token_globally(model, ["film"], account=Account(figures=figures))
    assert not model.removal and model.surgery == ()


def test_bad_calls(tmp_path: Path) -> None:
    model = build_model(tmp_path)
    with pytest.raises(ConfigError, match="nothing to remove"):
        suppress_token_globally(model)
    with pytest.raises(ModelError, match="is not removed"):
        restore(model, tokens=["film"])
    with pytest.raises(ModelError, match="A model was expected"):
        suppress_token_globally("model", ["film"])
    with pytest.raises(ModelError, match="suppress_token_globally"):
        suppress_token_globally(SuppressedModel(model, ["film"]), ["plot"])
    assert model.surgery == ()
