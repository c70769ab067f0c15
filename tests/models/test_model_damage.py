"""A folder that was changed, or damaged, says so in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from splade.errors import ModelError
from splade.models.folder import SETTINGS, WEIGHTS, file_hash
from splade.models.lexical_sae import LexicalSAE
from splade.models.record import FORMAT
from splade.models.rehash import rehash_model
from tests.models.saved_models import expect, logits


class TestEdits:
    """Everything that changes a prediction is under the hash; an edit on purpose can be taken over."""

    @pytest.mark.parametrize(
        ("name", "keys", "value"),
        [
            (SETTINGS, ["labels"], ["class 1", "class 0"]),
            (SETTINGS, ["labels"], "class 0"),
            (SETTINGS, ["max_length"], 4),
            (SETTINGS, ["model", "gate"], "drelu"),
            (SETTINGS, ["model", "topk_per_position"], 1),
            (SETTINGS, ["sense_tokens"], [5]),
            (SETTINGS, ["seed"], 6),
            ("config.json", ["hidden_act"], "relu"),
            ("config.json", ["layer_norm_eps"], 0.1),
            ("config.json", ["num_attention_heads"], 4),
            ("tokenizer.json", ["normalizer"], None),
            ("tokenizer_config.json", ["model_max_length"], 8),
        ],
    )
    def test_a_changed_value_is_refused(
        self, saved: tuple[LexicalSAE, Path], name: str, keys: list[str], value: object
    ) -> None:
        edit(saved[1] / name, keys, value)
        expect(saved[1], name, "damaged or was changed", "does not match its hash", "lexical-sae rehash --model")

    def test_a_file_that_libraries_would_read(self, saved: tuple[LexicalSAE, Path]) -> None:
        (saved[1] / "added_tokens.json").write_text('{"good": 3}')
        expect(saved[1], "added_tokens.json", "no part of the model that was saved")

    def test_white_space_and_the_order_of_keys_are_free(self, saved: tuple[LexicalSAE, Path]) -> None:
        path = saved[1] / SETTINGS
        path.write_text(json.dumps(dict(reversed(json.loads(path.read_text()).items()))))
        LexicalSAE.from_pretrained(saved[1])

    def test_an_edit_on_purpose_is_taken_over(self, saved: tuple[LexicalSAE, Path]) -> None:
        edit(saved[1] / SETTINGS, ["labels"], ["bad", "good"])
        edit(saved[1] / "config.json", ["hidden_act"], "relu")
        assert rehash_model(saved[1]) == ["config.json", SETTINGS]
        loaded = LexicalSAE.from_pretrained(saved[1])
        assert loaded.labels == ["bad", "good"] and loaded.record["dataset"] == "toys"
        assert not torch.equal(logits(loaded), logits(saved[0]))
        assert rehash_model(saved[1]) == []

    def test_a_model_of_the_format_before_is_taken_over(self, saved: tuple[LexicalSAE, Path]) -> None:
        path = saved[1] / SETTINGS
        settings = json.loads(path.read_text())
        del settings["files"]
        path.write_text(json.dumps(settings | {"format": 2, "sha256": file_hash(saved[1] / WEIGHTS)}))
        expect(saved[1], "format 2", "lexical-sae rehash --model")
        assert WEIGHTS in rehash_model(saved[1])
        assert torch.equal(logits(LexicalSAE.from_pretrained(saved[1])), logits(saved[0]))

    @pytest.mark.parametrize(
        ("name", "keys", "value", "said"),
        [
            (SETTINGS, ["max_length"], -5, "max_length"),
            (SETTINGS, ["task"], "translation", "task"),
            (SETTINGS, ["task"], "tagging", "'labels' of a tagger"),
            (SETTINGS, ["labels"], ["a", "a"], "names one twice"),
            (SETTINGS, ["labels"], "ab", "labels"),
            (SETTINGS, ["labels"], ["a", "b", "c"], "cannot be read"),
            (SETTINGS, ["open_words"], -1, "open_words"),
            (SETTINGS, ["open_words"], 7, "cannot be read"),
            (SETTINGS, ["shut_words"], ["unwatchable"], "shut_words"),
            (SETTINGS, ["model"], {"gate": "open"}, "gate"),
            (SETTINGS, ["head"], "lost", "head"),
            (SETTINGS, ["sense_tokens"], [10**9], "cannot be read"),
            ("config.json", ["hidden_act"], "loud", "cannot be read"),
        ],
    )
    def test_what_makes_no_model_is_refused_even_then(
        self, saved: tuple[LexicalSAE, Path], name: str, keys: list[str], value: object, said: str
    ) -> None:
        edit(saved[1] / name, keys, value)
        before = (saved[1] / SETTINGS).read_bytes()
        with pytest.raises(ModelError, match=said) as error:
            rehash_model(saved[1])
        assert "\n" not in str(error.value) and (saved[1] / SETTINGS).read_bytes() == before


def edit(path: Path, keys: list[str], value: object) -> None:
    """Change one value of a JSON file."""
    content = json.loads(path.read_text())
    inner = content
    for key in keys[:-1]:
        inner = inner[key]
    assert inner.get(keys[-1]) != value
    inner[keys[-1]] = value
    path.write_text(json.dumps(content))


class TestDamage:
    def test_one_flipped_bit_of_the_weights(self, saved: tuple[LexicalSAE, Path]) -> None:
        path = saved[1] / WEIGHTS
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        expect(saved[1], str(path), "damaged", "does not match its hash", "copy or train the model again")

    @pytest.mark.parametrize("name", [WEIGHTS, SETTINGS, "config.json", "tokenizer.json"])
    def test_a_file_cut_short(self, saved: tuple[LexicalSAE, Path], name: str) -> None:
        path = saved[1] / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        expect(saved[1], str(saved[1]), "again")

    @pytest.mark.parametrize("name", [WEIGHTS, "config.json", "tokenizer.json", "tokenizer_config.json"])
    def test_a_file_missing(self, saved: tuple[LexicalSAE, Path], name: str) -> None:
        (saved[1] / name).unlink()
        expect(saved[1], str(saved[1] / name), "it is missing", "again")

    def test_a_model_from_before_split_words_had_columns(self, saved: tuple[LexicalSAE, Path]) -> None:
        edit(saved[1] / SETTINGS, ["format"], 3)
        expect(saved[1], "format 3", f"this version reads format {FORMAT}", "train it again")

    def test_a_format_of_the_future(self, saved: tuple[LexicalSAE, Path]) -> None:
        edit(saved[1] / SETTINGS, ["format"], 99)
        expect(saved[1], "format 99", f"this version reads format {FORMAT}", "use the version")

    def test_a_folder_that_is_no_model(self, tmp_path: Path) -> None:
        expect(tmp_path, "is not a saved Lexical-SAE model", f"has no {SETTINGS}", "output_dir")
        expect(tmp_path / "nowhere", "is no folder")


def test_line_ends_that_git_changes_are_free(saved: tuple[LexicalSAE, Path]) -> None:
    for path in saved[1].glob("*.json"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert torch.equal(logits(LexicalSAE.from_pretrained(saved[1])), logits(saved[0]))


def test_the_hash_is_of_the_model_and_not_of_its_use(saved: tuple[LexicalSAE, Path], tmp_path: Path) -> None:
    model = LexicalSAE.from_pretrained(saved[1])
    first = model.save_pretrained(tmp_path / "one")
    model.tokenizer(["a", "b c"], padding=True, truncation=True, max_length=5)
    assert model.save_pretrained(tmp_path / "two") == first
    model.save_pretrained(tmp_path / "three", stage="tried")
    assert model.save_pretrained(tmp_path / "four") == first  # what one save is told is not told to the next
