"""Files of the page: only those of the package, with their types, and a 304 for whoever has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from splade.apps.server import static
from splade.apps.server.security import Access
from splade.apps.server.served import ServedModel
from splade.apps.server.server import Server
from tests.apps.server.conftest import HOST, ask

TYPES = {
    "/": "text/html; charset=utf-8",
    "/index.html": "text/html; charset=utf-8",
    "/app.js": "text/javascript; charset=utf-8",
    "/views/words.mjs": "text/javascript; charset=utf-8",
    "/page.css": "text/css; charset=utf-8",
    "/icon.svg": "image/svg+xml",
}


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a page, in the place of the package's."""
    folder = tmp_path / "page"
    for path in TYPES:
        if path != "/":
            (folder / path[1:]).parent.mkdir(parents=True, exist_ok=True)
            (folder / path[1:]).write_text(f"this is {path}")
    (folder / ".hidden").write_text("no")
    (tmp_path / "secret.txt").write_text("no")
    monkeypatch.setattr(static, "PAGE", folder)
    return folder


def test_files_have_their_types_and_are_asked_for_again(served: list[ServedModel], page: Path) -> None:
    with ask(Server(served), Access.of(HOST, key="a key of sixteen letters")) as client:
        for path, kind in TYPES.items():
            answer = client.get(path)
            assert answer.is_success and answer.headers["content-type"] == kind, path
            assert answer.headers["cache-control"] == "no-cache"
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            again = client.get(path, headers={"if-none-match": answer.headers["etag"]})
            assert again.status_code == 304 and again.content == b""
        (page / "app.js").write_text("edited")
        assert client.get("/app.js").text == "edited"
        assert client.head("/app.js").is_success and client.post("/app.js").status_code == 405


def test_nothing_else_is_served(served: list[ServedModel], page: Path) -> None:
    with ask(Server(served)) as client:
        for path in (
            "/.hidden",
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/views",
            "/views/",
            "//etc/passwd",
            "/app.py",
        ):
            assert client.get(path).status_code == 404, path
