"""The Lab in a real browser, served on loopback: toy runs of a classifier and a tagger, and three classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from splade.apps.server.limits import MEGABYTE
from splade.apps.server.served import load
from splade.apps.server.server import Server
from tests.apps.server.test_process import eventually, post, running
from tests.builders import build_model
from tests.runs import ToyRun

HOST = "127.0.0.1"

FAULTS = """
window.faults = [];
addEventListener("securitypolicyviolation", event => faults.push("CSP: " + event.violatedDirective));
addEventListener("unhandledrejection", event => faults.push("rejection: " + event.reason));
"""
"""Noted in every page before its own scripts run."""


@dataclass
class Lab:
    """The page, served."""

    browser: Any
    port: int
    faults: list[str] = field(default_factory=list)
    """What a page said on its console or asked of others, of all pages so far."""

    def open(self, view: str = "", width: int = 1280, scheme: str = "light", **place: Any) -> Any:
        """A page in a browser of its own that has never been here."""
        context = self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.add_init_script(FAULTS)
        page.on("console", lambda message: self.faults.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("request", lambda request: self._check(request.url))
        page.goto(self.link(view, **place))
        return page

    def link(self, view: str = "", **place: Any) -> str:
        """The address of a view; of none: as a first visitor comes."""
        fragment = f"#{view}?{urlencode(place, doseq=True)}" if view else ""
        return f"http://{HOST}:{self.port}/{fragment}"

    def ask(self, path: str, **asked: Any) -> Any:
        """What the server itself answers."""
        status, answer = post(self.port, path, asked)
        assert status == 200, answer
        return answer

    def _check(self, url: str) -> None:
        if urlsplit(url).hostname != HOST and urlsplit(url).scheme != "blob":
            self.faults.append(f"asked of another: {url}")


@pytest.fixture(scope="package")
def lab_server(toy_run: ToyRun, toy_tagger: ToyRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server of `reviews` (the default), `names` (a tagger) and `three` (classes)."""
    folder: Path = tmp_path_factory.mktemp("three")
    build_model(folder, classes=3).save_pretrained(folder / "model")
    folders = {"reviews": toy_run.folder / "model", "names": toy_tagger.folder / "model", "three": folder / "model"}
    models = [load(name, where, "float32", MEGABYTE, data=True) for name, where in folders.items()]
    server = Server(models)
    with running(server) as (port, _):
        eventually(lambda: not any(_is_reading(one.survey.to_json()) for one in models))
        yield port


def _is_reading(survey: dict[str, Any]) -> bool:
    return bool(survey["available"] and not survey["done"])


@pytest.fixture
def lab(browser: Any, lab_server: int) -> Iterator[Lab]:
    """A Lab whose pages must say nothing on the console, break no policy, and ask nobody else."""
    opened = Lab(browser, lab_server)
    yield opened
    for context in browser.contexts:
        for page in context.pages:
            opened.faults += page.evaluate("window.faults")
        context.close()
    assert opened.faults == []
