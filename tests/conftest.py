"""What every test shares: no network, one thread, and fixtures for a tiny backbone, the data and the packaged model."""

from __future__ import annotations

import errno
import os
import signal
import tempfile

# Before any library reads them.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["LEXICAL_SAE_CACHE"] = tempfile.mkdtemp(prefix="lexical-sae-cache-")  # nobody's figures of before

import atexit
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from splade.data.root import ENVIRONMENT_VARIABLE
from splade.errors import BackboneError
from splade.models.backbone import Backbone
from tests.builders import build_backbone_folder
from tests.runs import ToyRun, overrides, run_cli, sets, write_reviews, write_sentences

atexit.register(shutil.rmtree, os.environ["LEXICAL_SAE_CACHE"], ignore_errors=True)
# A shell starts background jobs with Ctrl-C ignored, and children inherit it; who presses it then would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
torch.set_num_threads(1)  # tiny tensors: threads would cost more than they give


@pytest.fixture(scope="session")
def tiny_backbone_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved BERT with a trained head, hidden size 32, 2 layers."""
    return build_backbone_folder(tmp_path_factory.mktemp("backbone"), "bert")


@pytest.fixture(scope="session")
def toy_run(tmp_path_factory: pytest.TempPathFactory) -> ToyRun:
    """One finished training with dropout, by the command line; shared, so a test must leave its files alone."""
    folder = tmp_path_factory.mktemp("toy_run")
    data, backbone = write_reviews(folder / "data"), build_backbone_folder(folder, "bert", dropout=0.1)
    # So few steps that words say much only where they are not held to what deleting them does so soon.
    recipe = {"training__dropout": True, "training__loss_weights__deletion": 1.0}
    settings = overrides(data, backbone, folder / "out", **recipe)
    result = run_cli("train", *sets(settings))
    assert result.exit_code == 0, result.output
    return ToyRun(folder / "out", data, backbone, recipe, settings, result)


@pytest.fixture(scope="session")
def toy_tagger(tmp_path_factory: pytest.TempPathFactory) -> ToyRun:
    """One finished training of a tagger, by the command line; shared, so a test must leave its files alone."""
    folder = tmp_path_factory.mktemp("toy_tagger")
    files, backbone = write_sentences(folder / "data"), build_backbone_folder(folder, "bert")
    files |= {"training__epochs": 12, "training__eval_every": 12}  # 48 steps, until it finds entities
    files["evaluation__explain_samples"] = 3
    settings = overrides(folder, backbone, folder / "out", **files)
    result = run_cli("train", *sets(settings))
    assert result.exit_code == 0, result.output
    return ToyRun(folder / "out", folder / "data", backbone, files, settings, result)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium, closed after each file: while it is open, its loop is the one that runs."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium; Debian's package has one (apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(autouse=True)
def same_signals() -> Iterator[None]:
    """A command that ran to its end in this process leaves Ctrl-C ignored, as for its last moments."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def full_disk() -> Callable[..., NoReturn]:
    """Something to write with, where there is no room left."""

    def write(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a file")

    return write


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of prepared data sets that `LEXICAL_SAE_DATA` names."""
    root = os.environ.get(ENVIRONMENT_VARIABLE)
    if not root:
        pytest.skip(f"no data root: set {ENVIRONMENT_VARIABLE} to a folder with one folder a data set")
    return Path(root)


@pytest.fixture(scope="session")
def minilm() -> tuple[Backbone, PreTrainedTokenizerFast]:
    """The packaged all-MiniLM-L6-v2; shared, so a test must leave its weights alone."""
    try:
        return Backbone.from_name("minilm")
    except BackboneError as error:
        pytest.skip(str(error))
