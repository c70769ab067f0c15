"""Split words among senses, poolings, taggers and copies; the identity whatever stands there; in a training."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from splade.evaluation.mechanistic import dla_errors
from splade.inference import explain_batch
from splade.models.lexical_sae import LexicalSAE
from splade.pipelines import setup_and_train
from tests.builders import WORDS, encode, tagged_sentences, toy_reviews
from tests.models.open_word_models import (
    FAMILIES,
    HEADS,
    KNOWN,
    TEXTS,
    UNMET,
    active_names,
    build,
    check_identity,
    column_of,
    logits,
    opened,
    with_senses,
)
from tests.models.test_active_pairs import check
from tests.runs import SPLIT_WORDS, ToyRun, weights, write_csv
from tests.training.test_resume import resume, train_until_killed


class TestAmongOtherParts:
    TEXTS: ClassVar = ["the bank was unwatchable , a good zzzing bank", "goodly good cityer", "", "unwatchable"]

    @pytest.mark.parametrize("pooling", ["max", "attention"])
    @pytest.mark.parametrize("head", HEADS)
    def test_senses_stand_after_all_words(self, tmp_path: Path, head: str, pooling: str) -> None:
        model = with_senses(tmp_path, head=head, pooling=pooling)
        ordered = sorted(["bank", "good"], key=model.tokenizer.convert_tokens_to_ids)
        assert model.vocabulary.names[-4:] == [f"{word}#{number}" for word in ordered for number in (2, 3)]
        words = opened(model)
        assert model.vocab_size == model.vocabulary.tokens + len(words) + 4
        check_identity(model, self.TEXTS)
        expected = {"unwatchable", "zzzing"} if head == "tied_mlp" else {"unwatchable"}
        found = active_names(model, self.TEXTS[0])
        assert found & {*KNOWN, *UNMET} == expected
        assert any(name.startswith("bank") for name in found)

    def test_a_shut_word_with_senses_beside_it(self, tmp_path: Path) -> None:
        model = with_senses(tmp_path)
        model.suppress(["zzzing", "bank"])
        assert not {name.split("#")[0] for name in active_names(model, self.TEXTS[0])} & {"zzzing", "bank"}
        assert model.suppressed_words == ["bank", "zzzing"]

    @pytest.mark.parametrize("known", [True, False])
    def test_attention_takes_a_word_from_all_its_pieces(self, tmp_path: Path, known: bool) -> None:
        model = build(tmp_path, pooling="attention", known=known)
        ids, mask = encode(model, ["film unwatchable"])
        with torch.no_grad():
            sequence = model(ids, mask)
            rows = model.classify(sequence).rows
            expected = model.encoder.pooling.weights(sequence)[..., None] * sequence.to_dense()  # (B, L, V)
        column = column_of(model, "unwatchable")
        [value] = rows.value[rows.token == column]
        torch.testing.assert_close(value, expected[0, :, column].sum())
        entry, position, _ = rows.by_position()
        pieces = (model.vocabulary.word_groups(ids, mask)[0] == 1).nonzero().flatten()
        assert position[rows.token[entry] == column].tolist() == pieces.tolist()
        check_identity(model, self.TEXTS)

    @pytest.mark.parametrize("word_pieces", ["first", "all"])
    @pytest.mark.parametrize("known", [True, False])
    def test_a_tagged_split_word_is_itself(self, tmp_path: Path, known: bool, word_pieces: str) -> None:
        sentences = tagged_sentences(8)[0]
        own = {"texts": [" ".join(words) for words in sentences] if known else None, "word_pieces": word_pieces}
        model = build(tmp_path, task="tagging", **own)
        ids, mask = encode(model, ["john saw oslo in 1987"])
        groups = model.vocabulary.word_groups(ids, mask)
        with torch.no_grad():
            state = model.tag_words(model(ids, mask), groups)
        assert len(state.logits) == 5 and float(dla_errors(state).max()) <= 1e-4
        names = [
            {model.vocabulary.names[t] for t in state.rows.token[state.rows.row == row].tolist()} for row in (2, 4)
        ]
        assert names == [{"oslo"}, {"1987"}]  # asked for, a number says what it is
        assert "john" in {model.vocabulary.names[t] for t in state.rows.token[state.rows.row == 0].tolist()}
        check(model.by_word(model(ids, mask), groups))

    def test_explanations_name_the_word(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        for text, word in (("an unwatchable film", "unwatchable"), ("film zzzing", "zzzing")):
            [explanation] = explain_batch(model, [text])
            assert explanation.check() <= 1e-4
            found = json.loads(json.dumps(explanation.to_json()))
            [entry] = [token for token in found["tokens"] if token["token"] == word]
            assert entry["value"] > 0 and entry["score"] != 0
            [said] = [each for each in found["words"] if each["word"] == word]
            assert text[said["start"] : said["end"]] == word
            assert said["score"] == pytest.approx(entry["score"], abs=1e-5)  # it speaks for nobody else
            assert not any(token["token"] == "" for token in found["tokens"])

    def test_a_copy_is_a_model_of_its_own(self, tmp_path: Path) -> None:
        model = build(tmp_path)
        expected = logits(model, ["zzzing film", *self.TEXTS])
        copied = copy.deepcopy(model)
        assert opened(copied) is not opened(model) and opened(copied)._owners[0] is copied.encoder
        before = list(model.vocabulary.names), copy.deepcopy(model.state_dict())
        free = model.encoder.weight[opened(model).rare :].detach().clone()
        torch.testing.assert_close(logits(copied, ["zzzing film", *self.TEXTS]), expected, rtol=0, atol=1e-5)
        copied.suppress(["unwatchable", "zzzing"])
        logits(copied, ["filmness xqj watchly"])
        assert model.vocabulary.names == before[0] and model.suppressed_words == []
        assert torch.equal(model.encoder.weight[opened(model).rare :], free)
        assert all(torch.equal(tensor, before[1][name]) for name, tensor in model.state_dict().items())
        torch.testing.assert_close(logits(model, ["zzzing film", *self.TEXTS]), expected, rtol=0, atol=1e-5)
        copied.save_pretrained(tmp_path / "copied")
        loaded = LexicalSAE.from_pretrained(tmp_path / "copied", "cpu")
        assert sorted(loaded.suppressed_words) == ["unwatchable", "zzzing"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], LexicalSAE]:
    folder = tmp_path_factory.mktemp("models")
    return {(family, head): build(folder, family=family, head=head) for family in FAMILIES for head in HEADS}


WRITTEN = [*KNOWN, *UNMET, "1987", "the", "not", "Good", "café", "it", ".", "!", ",", "'", "Unwatchable", *WORDS[::9]]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(FAMILIES),
    st.sampled_from(HEADS),
    st.lists(st.lists(st.sampled_from(WRITTEN), max_size=8), min_size=1, max_size=4),
    st.sampled_from([" ", "  ", " - ", "'"]),
)
def test_a_decision_is_the_sum_of_its_words_whatever_stands_there(
    models: dict[tuple[str, str], LexicalSAE], family: str, head: str, texts: list[list[str]], between: str
) -> None:
    check_identity(models[family, head], [between.join(text) for text in texts])


class TestTraining:
    CHANGES: ClassVar = {"model__head": "tied_mlp", "training__epochs": 2}

    @pytest.fixture
    def run(self, toy_run: ToyRun, tmp_path: Path) -> ToyRun:
        """Validated on split words too that no training text has."""
        texts, labels = toy_reviews(24, seed=9)
        names = [("negative", "positive")[label] for label in labels]
        spoken = [f"{text} {UNMET[row % 5]}" for row, text in enumerate(texts)]
        for part in ("train", "test"):
            (tmp_path / "data").mkdir(exist_ok=True)
            (tmp_path / "data" / f"{part}.csv").write_bytes((toy_run.data / f"{part}.csv").read_bytes())
        write_csv(tmp_path / "data" / "validation.csv", spoken, names)
        return dataclasses.replace(toy_run, data=tmp_path / "data")

    def test_repeats_and_resumes_alike(self, run: ToyRun, tmp_path: Path) -> None:
        whole = setup_and_train(run.config(tmp_path / "whole", **self.CHANGES)).prepared.model
        setup_and_train(run.config(tmp_path / "again", **self.CHANGES))
        assert weights(tmp_path / "again") == weights(tmp_path / "whole")
        train_until_killed(run, tmp_path / "killed", 11, **self.CHANGES)
        assert "Resuming after step 9 of 16." in resume(run, tmp_path / "killed", **self.CHANGES)
        assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
        first = whole.vocabulary.tokens
        assert sorted(whole.vocabulary.names[first : first + 4]) == sorted(SPLIT_WORDS)

    @pytest.mark.parametrize("changes", [{}, {"model__train_decoder": True}])
    def test_a_saved_training_says_of_unmet_words_what_it_said_before(
        self, run: ToyRun, tmp_path: Path, changes: dict[str, object]
    ) -> None:
        """Also of those that it met while it was validated."""
        model = setup_and_train(run.config(tmp_path / "out", **self.CHANGES, **changes)).prepared.model.eval()
        texts = [f"the film was {word}" for word in [*UNMET, *SPLIT_WORDS, "goodly"]]
        expected = logits(model, texts)
        fresh = LexicalSAE.from_pretrained(tmp_path / "out" / "model", "cpu")
        torch.testing.assert_close(logits(fresh, texts), expected, rtol=0, atol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_buffers_follow_the_model_to_its_device(tmp_path: Path) -> None:
    model = build(tmp_path)
    expected = logits(model, [*TEXTS, *UNMET])
    opened(model).forget()
    model.to("cuda")
    buffers = [*opened(model).buffers(), model.encoder.gate.same_as, model.head.words]
    assert {each.device.type for each in buffers if each is not None} == {"cuda"}
    with torch.no_grad():
        ids, mask = (tensor.to("cuda") for tensor in encode(model, [*TEXTS, *UNMET]))
        found = model.classify(model(ids, mask)).logits
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-3, atol=1e-3)
