"""A saved model is the same model, and a folder that is none, or damaged, says so in one sentence."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from splade.errors import ConfigError, ModelError
from splade.models import saving
from splade.models.backbone import Head
from splade.models.folder import SETTINGS, WEIGHTS, WRITING, file_hash
from splade.models.lexical_sae import LexicalSAE
from splade.models.record import FORMAT
from splade.models.rehash import rehash_model
from splade.models.saving import library_versions, load_model
from splade.models.starting_point import load_backbone
from tests.builders import FAMILIES, build_backbone_folder, build_model, encode, toy_reviews

TEXTS = [*toy_reviews(12)[0], "unwatchable unlovely", "", "ü 👍"]


@pytest.fixture
def saved(tmp_path: Path) -> tuple[LexicalSAE, Path]:
    model = build_model(tmp_path, "neighbourhood+dictionary")
    model.save_pretrained(tmp_path / "model", dataset="toys", seed=5)
    return model, tmp_path / "model"


@torch.no_grad()
def logits(model: LexicalSAE) -> torch.Tensor:
    return model.classify(model(*encode(model, TEXTS))).logits


def expect(folder: Path, *parts: str) -> None:
    with pytest.raises(ModelError) as error:
        LexicalSAE.from_pretrained(folder)
    assert "\n" not in str(error.value)
    for part in parts:
        assert part in str(error.value)


@pytest.mark.parametrize("support", ["full", "neighbourhood", "dictionary", "neighbourhood+dictionary"])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_what_is_loaded_is_what_was_saved(tmp_path: Path, support: str, family: str) -> None:
    model = build_model(tmp_path, support, family, classes=3)
    content_hash = model.save_pretrained(tmp_path / "model")
    loaded = LexicalSAE.from_pretrained(tmp_path / "model", "cpu")
    assert torch.equal(logits(loaded), logits(model))
    assert (loaded.labels, loaded.max_length, loaded.config) == (model.labels, model.max_length, model.config)
    assert not loaded.training
    assert len({file.stat().st_mode for file in (tmp_path / "model").iterdir()}) == 1  # whoever may read one may all
    settings = json.loads((tmp_path / "model" / SETTINGS).read_text())
    assert settings["sha256"] == content_hash
    assert settings["files"][WEIGHTS] == hashlib.sha256((tmp_path / "model" / WEIGHTS).read_bytes()).hexdigest()
    assert {*settings["files"], SETTINGS} == {path.name for path in (tmp_path / "model").iterdir()}


@pytest.mark.parametrize("head", ["trained", "repaired"])
@pytest.mark.parametrize("family", FAMILIES)
def test_reading_it_without_random_weights_first_changes_nothing(tmp_path: Path, family: str, head: Head) -> None:
    folder = build_backbone_folder(tmp_path, family, head=head == "trained")
    folder.rename(tmp_path / family)
    build_model(tmp_path, "neighbourhood", family).save_pretrained(tmp_path / "model")
    drawn, read = (load_model(LexicalSAE, tmp_path / "model", draw=draw).eval() for draw in (True, False))
    assert torch.equal(logits(read), logits(drawn))
    for kind in ("named_parameters", "named_buffers"):
        expected, found = (dict(getattr(model, kind)(remove_duplicate=False)) for model in (drawn, read))
        assert found.keys() == expected.keys()
        for name, tensor in found.items():
            assert torch.equal(tensor, expected[name]), name
            assert (tensor.dtype, tensor.requires_grad) == (expected[name].dtype, expected[name].requires_grad), name
        assert len({id(tensor) for tensor in found.values()}) == len({id(tensor) for tensor in expected.values()})


def test_only_a_training_draws_what_the_saved_weights_replace(saved: tuple[LexicalSAE, Path]) -> None:
    """A seed means what it has always meant where a training goes on from a saved model."""
    _, folder = saved

    def after(load: Callable[[], object]) -> torch.Tensor:
        torch.manual_seed(0)
        load()
        return torch.rand(4)

    drawn = after(lambda: load_model(LexicalSAE, folder, draw=True))
    assert torch.equal(after(lambda: load_backbone(str(folder))), drawn)
    assert not torch.equal(after(lambda: LexicalSAE.from_pretrained(folder)), drawn)


@pytest.mark.parametrize("train_decoder", [False, True])
@pytest.mark.parametrize("head", ["trained", "repaired"])
def test_a_saved_model_is_a_backbone_with_what_it_has_learned(tmp_path: Path, head: Head, train_decoder: bool) -> None:
    build_backbone_folder(tmp_path, head=head == "trained").rename(tmp_path / "bert")
    model = build_model(tmp_path, "full", train_decoder=train_decoder)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(tmp_path / "model")
    backbone, tokenizer = load_backbone(str(tmp_path / "model"))
    weight, bias = backbone.decoder()
    ids, mask = encode(model, TEXTS)
    assert backbone.head == head and tokenizer.get_vocab() == model.tokenizer.get_vocab() and not backbone.training
    assert torch.equal(weight, model.encoder.weight) and torch.equal(bias, model.encoder.bias)
    assert torch.equal(backbone(ids, mask), model.backbone(ids, mask))
    assert all(parameter.requires_grad for parameter in backbone.parameters())


def test_the_folder_needs_nothing_else(saved: tuple[LexicalSAE, Path], tmp_path: Path) -> None:
    """It may be moved, and the backbone's folder may be gone."""
    model, folder = saved
    folder.rename(tmp_path / "elsewhere")
    (tmp_path / "bert").rename(tmp_path / "gone")
    assert torch.equal(logits(LexicalSAE.from_pretrained(tmp_path / "elsewhere")), logits(model))


def test_thresholds_are_float32_and_tables_are_there(saved: tuple[LexicalSAE, Path]) -> None:
    tensors = load_file(saved[1] / WEIGHTS)
    gate = [t.dtype for name, t in tensors.items() if ".gate." in name]
    assert gate and set(gate) == {torch.float32}
    assert tensors["encoder.supports.0.neighbours"].shape == (saved[0].vocab_size, 6)
    assert len(tensors["encoder.supports.1.tokens"]) > 0


def test_the_settings_say_what_the_model_is(saved: tuple[LexicalSAE, Path]) -> None:
    settings = json.loads((saved[1] / SETTINGS).read_text())
    assert settings["versions"] == library_versions() and "torch" in settings["versions"]
    assert (settings["dataset"], settings["seed"], settings["labels"]) == ("toys", 5, ["class 0", "class 1"])
    assert LexicalSAE.from_pretrained(saved[1]).record == settings


def test_nothing_that_could_run_code_is_written(saved: tuple[LexicalSAE, Path]) -> None:
    assert {path.suffix for path in saved[1].iterdir()} == {".json", ".safetensors"}


def test_saving_again_replaces_the_model(saved: tuple[LexicalSAE, Path]) -> None:
    model, folder = saved
    settings = json.loads((folder / SETTINGS).read_text())
    (folder / "vocab.txt").write_text("of the save before, as its settings say")
    settings["files"]["vocab.txt"] = file_hash(folder / "vocab.txt")
    (folder / SETTINGS).write_text(json.dumps(settings))
    with torch.no_grad():
        model.head.out.bias.add_(1.0)
    model.save_pretrained(folder)
    assert not (folder / "vocab.txt").exists()
    assert torch.equal(logits(LexicalSAE.from_pretrained(folder)), logits(model))
    assert hidden(folder) == []


def test_a_loaded_model_keeps_its_record(saved: tuple[LexicalSAE, Path], tmp_path: Path) -> None:
    loaded = LexicalSAE.from_pretrained(saved[1])
    loaded.suppress(["good"])
    loaded.save_pretrained(tmp_path / "without", note="no good")
    again = LexicalSAE.from_pretrained(tmp_path / "without").record
    assert (again["dataset"], again["seed"], again["note"]) == ("toys", 5, "no good")
    assert again["sha256"] != loaded.record["sha256"]


def hidden(folder: Path) -> list[str]:
    """What a save might leave behind."""
    return [path.name for path in folder.glob(".*")]


class TestPlaces:
    """A save may replace only what a save wrote."""

    def test_the_users_own_files_stay(self, saved: tuple[LexicalSAE, Path]) -> None:
        model, folder = saved
        (folder / "thesis.txt").write_text("years of work")
        (folder / ".git").mkdir()
        (folder / ".git" / "HEAD").write_text("ref")
        model.save_pretrained(folder)
        assert (folder / "thesis.txt").read_text() == "years of work" and (folder / ".git" / "HEAD").exists()
        assert torch.equal(logits(LexicalSAE.from_pretrained(folder)), logits(model))

    @pytest.mark.parametrize("place", [".", "../here", "new/deep", "~/model"])
    def test_wherever_it_is(
        self, saved: tuple[LexicalSAE, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
    ) -> None:
        here = tmp_path / "here"
        here.mkdir()
        (here / "thesis.txt").write_text("years of work")
        monkeypatch.chdir(here)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        saved[0].save_pretrained(place)
        assert torch.equal(logits(LexicalSAE.from_pretrained(place)), logits(saved[0]))
        assert (here / "thesis.txt").read_text() == "years of work" and hidden(here) == []

    def test_through_a_link(self, saved: tuple[LexicalSAE, Path], tmp_path: Path) -> None:
        (tmp_path / "far").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "far")
        saved[0].save_pretrained(tmp_path / "link")
        assert (tmp_path / "link").is_symlink() and (tmp_path / "far" / SETTINGS).exists()

    @pytest.mark.parametrize("kind", ["file", "dangling", "loop", "below a file", "/proc/nothing/here"])
    def test_no_place_for_a_model(self, saved: tuple[LexicalSAE, Path], tmp_path: Path, kind: str) -> None:
        (tmp_path / "file").write_text("mine")
        (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        place = {"below a file": tmp_path / "file" / "model", "/proc/nothing/here": Path(kind)}.get(kind)
        with pytest.raises(ModelError, match=r"saved to|written to") as error:
            saved[0].save_pretrained(place or tmp_path / kind)
        assert "\n" not in str(error.value) and (tmp_path / "file").read_text() == "mine"
        assert not list(tmp_path.rglob(".lexical_sae*"))

    @pytest.mark.parametrize("name", ["config.json", "tokenizer.json", WEIGHTS])
    def test_the_model_of_another_tool_stays(self, saved: tuple[LexicalSAE, Path], tmp_path: Path, name: str) -> None:
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / name).write_text("{}")
        with pytest.raises(ModelError, match=f"holds {name}, which no save .* wrote"):
            saved[0].save_pretrained(tmp_path / "other")
        assert [path.name for path in (tmp_path / "other").iterdir()] == [name]

    @pytest.mark.parametrize("folder", ["", "  ", "a\0b", None, 3, b"model"])
    def test_no_name_of_a_folder(self, saved: tuple[LexicalSAE, Path], folder: object) -> None:
        with pytest.raises(ModelError, match="A model's folder was expected"):
            saved[0].save_pretrained(folder)  # type: ignore[arg-type]
        with pytest.raises(ModelError, match="A model's folder was expected"):
            LexicalSAE.from_pretrained(folder)  # type: ignore[arg-type]

    def test_a_failed_save_makes_no_folder(self, saved: tuple[LexicalSAE, Path], tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="plain JSON values"):
            saved[0].save_pretrained(tmp_path / "a" / "b", note=object())
        assert not (tmp_path / "a").exists()


class Killed(BaseException):
    """Stands for the end of the process."""


class TestKilledWhileSaving:
    def test_the_old_model_or_the_new_is_there_at_every_moment(
        self, saved: tuple[LexicalSAE, Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        model, folder = saved
        (folder / "thesis.txt").write_text("years of work")
        real, seen = os.replace, set()
        for survives in range(20):
            before, calls = logits(LexicalSAE.from_pretrained(folder)), iter(range(100))
            with torch.no_grad():
                model.head.out.bias.add_(torch.tensor([1.0, 0.0]))

            def replace(source: Path, target: Path, calls: Iterator[int] = calls, last: int = survives) -> None:
                if next(calls) == last:
                    raise Killed
                real(source, target)

            with monkeypatch.context() as patch:
                patch.setattr(os, "replace", replace)
                patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # a killed process tidies nothing up
                try:
                    model.save_pretrained(folder)
                    finished = True
                except Killed:
                    finished = False
            after = logits(LexicalSAE.from_pretrained(folder))
            seen.add("new" if torch.equal(after, logits(model)) else "old" if torch.equal(after, before) else "lost")
            assert finished <= torch.equal(after, logits(model)) and (folder / "thesis.txt").exists()
            for left in folder.glob(f"{WRITING}*"):  # the next process has another number, and removes it
                shutil.rmtree(left)
            if finished:
                break
        assert finished and seen == {"old", "new"}

    def test_what_a_killed_process_was_writing_is_removed(self, saved: tuple[LexicalSAE, Path]) -> None:
        abandoned = saved[1] / f"{WRITING}{2**22 + 1}"  # above the largest number a process can have
        abandoned.mkdir()
        (abandoned / WEIGHTS).write_bytes(b"half")
        saved[0].save_pretrained(saved[1])
        assert hidden(saved[1]) == []


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

    def test_a_format_of_the_future(self, saved: tuple[LexicalSAE, Path]) -> None:
        edit(saved[1] / SETTINGS, ["format"], 99)
        expect(saved[1], "format 99", f"this version reads format {FORMAT}", "use the version")

    def test_a_folder_that_is_no_model(self, tmp_path: Path) -> None:
        expect(tmp_path, "is not a saved Lexical-SAE model", f"has no {SETTINGS}", "output_dir")
        expect(tmp_path / "nowhere", "is no folder")


class TestFullDisk:
    def test_leaves_the_earlier_model(
        self, saved: tuple[LexicalSAE, Path], monkeypatch: pytest.MonkeyPatch, full_disk: Callable[..., None]
    ) -> None:
        model, folder = saved
        before = (folder / WEIGHTS).read_bytes()
        monkeypatch.setattr(saving, "save_file", full_disk)
        with pytest.raises(ModelError, match=r"could not be written to .*No space left on device.*--resume"):
            model.save_pretrained(folder)
        assert (folder / WEIGHTS).read_bytes() == before
        assert hidden(folder) == []

    def test_also_as_safetensors_itself_reports_it(self, saved: tuple[LexicalSAE, Path]) -> None:
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, limit[1]))  # no file may grow beyond 64 KB
        try:
            with pytest.raises(ModelError, match=r"could not be written to .*[Tt]oo large"):
                saved[0].save_pretrained(saved[1])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        assert (saved[1] / WEIGHTS).exists()


@pytest.mark.parametrize("words", [None, [None], 3, ["good", 3]])
def test_what_is_no_word_cannot_be_suppressed(saved: tuple[LexicalSAE, Path], words: object) -> None:
    with pytest.raises(ModelError, match="Words to suppress were expected"):
        saved[0].suppress(words)  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [-1, 1.5, True, None, "3"])
def test_a_cap_is_a_whole_number(saved: tuple[LexicalSAE, Path], most: object) -> None:
    with pytest.raises(ConfigError, match=r"topk_per_position is .* a whole number from 0 on"):
        saved[0].topk_per_position = most  # type: ignore[assignment]


@pytest.mark.parametrize("device", ["nonsense", "cuda:99", 3.5])
def test_a_device_that_is_not_there(saved: tuple[LexicalSAE, Path], device: object) -> None:
    with pytest.raises(ModelError, match="cannot be put on the device"):
        LexicalSAE.from_pretrained(saved[1], device)  # type: ignore[arg-type]


def test_the_hash_is_of_the_model_and_not_of_its_use(saved: tuple[LexicalSAE, Path], tmp_path: Path) -> None:
    model = LexicalSAE.from_pretrained(saved[1])
    first = model.save_pretrained(tmp_path / "one")
    model.tokenizer(["a", "b c"], padding=True, truncation=True, max_length=5)
    assert model.save_pretrained(tmp_path / "two") == first
    model.save_pretrained(tmp_path / "three", stage="tried")
    assert model.save_pretrained(tmp_path / "four") == first  # what one save is told is not told to the next


def test_line_ends_that_git_changes_are_free(saved: tuple[LexicalSAE, Path]) -> None:
    for path in saved[1].glob("*.json"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert torch.equal(logits(LexicalSAE.from_pretrained(saved[1])), logits(saved[0]))


def test_a_save_that_passes_by_is_waited_for(saved: tuple[LexicalSAE, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of one save under the labels of another would pass every hash."""
    model, folder = saved
    real, other = saving.build_model, copy.deepcopy(model)
    with torch.no_grad():
        other.head.out.bias.add_(1.0)
    other.labels = ["one", "two"]
    saves = iter([other])

    def passed_by(*args: object, **options: object) -> LexicalSAE:
        for each in saves:
            each.save_pretrained(folder)
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(saving, "build_model", passed_by)
    loaded = LexicalSAE.from_pretrained(folder)
    assert loaded.labels == ["one", "two"] and torch.equal(logits(loaded), logits(other))


def test_threads_may_save_and_load_at_once(saved: tuple[LexicalSAE, Path], tmp_path: Path) -> None:
    model, folder = saved
    normal = torch.nn.init.normal_
    with ThreadPoolExecutor(4) as pool:
        work = [pool.submit(model.save_pretrained, tmp_path / "shared") for _ in range(6)]
        work += [pool.submit(LexicalSAE.from_pretrained, folder) for _ in range(6)]
        assert all(each.result() is not None for each in work)
    assert torch.equal(logits(LexicalSAE.from_pretrained(tmp_path / "shared")), logits(model))
    assert torch.nn.init.normal_ is normal and torch.nn.Linear(2, 2).weight.device.type == "cpu"
