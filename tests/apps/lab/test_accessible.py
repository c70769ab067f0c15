"""Whether everybody can use the page: axe-core finds nothing in any view, on a phone and in the dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.apps.lab.conftest import Lab

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")

TEXT = "a very good film with a dull script"

VIEWS: dict[str, tuple[str, dict[str, Any], str]] = {
    "first visit": ("", {}, ".guide"),
    "what if": ("explain", {"model": "three", "text": TEXT, "silence": "good", "delete": "7"}, ".effect"),
    "compare": ("compare", {"model": "three", "text": TEXT, "other": "a dull film"}, ".difference"),
    "words": ("words", {"model": "reviews", "query": "good"}, ".word-about"),
    "data": ("data", {"model": "reviews"}, ".mistakes"),
    "tagger": ("explain", {"model": "names", "text": "john smith saw a film in london ."}, ".waterfall"),
}

FOUND = """async () => {
  const {violations} = await axe.run(document, {resultTypes: ['violations']});
  return violations.map(one => one.id + ': ' + one.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(' | '));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing(lab: Lab, width: int, scheme: str) -> None:
    for name, (view, place, sign) in VIEWS.items():
        page = lab.open(view, width, scheme, **place)
        page.wait_for_selector(sign)
        if name == "first visit":
            page.locator(".word").first.click()
            page.wait_for_selector(".chosen")
        page.evaluate(AXE)
        assert page.evaluate(FOUND) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
