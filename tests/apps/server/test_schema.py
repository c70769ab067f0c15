"""The schema is the one committed, the page on it needs nothing, and the server keeps to it whatever is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import ignored_auth

from splade.apps.server.app import create_app
from splade.apps.server.schema import schema_text
from splade.apps.server.security import Access
from splade.apps.server.served import ServedModel
from splade.apps.server.server import Server
from tests.apps.server.conftest import HOST
from tests.apps.server.test_process import running

ROOT = Path(__file__).parents[3]


def test_the_schema_is_the_one_committed() -> None:
    committed = (ROOT / "docs" / "openapi.json").read_text(encoding="utf-8")
    assert committed == schema_text(), "python -m splade.apps.server.schema docs/openapi.json"


def test_the_document_names_every_path() -> None:
    document = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for path in create_app(Server([]), Access.of(HOST)).openapi()["paths"]:
        assert path in document or path.replace("/v1/models/{name}", "") in document, path


class _Addresses(HTMLParser):
    """What a page loads and leads to, and whether any of it is inline."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inline: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.found += [str(values[key]) for key in ("href", "src") if key in values]
        self.names |= {str(values["id"])} if "id" in values else set()
        self.inline += [tag for key in values if key == "style" or key.startswith("on")]
        self.inline += [tag] if tag in ("style", "script") else []


def test_the_page_on_the_schema_is_whole_without_a_network(client: TestClient) -> None:
    page = _Addresses()
    page.feed(client.get("/docs").text)
    assert page.inline == [] and len(page.names) > 50
    for address in page.found:
        if address.startswith("#"):
            assert address[1:] in page.names, address
        else:
            assert re.fullmatch(r"/[\w.]+", address) and client.get(address).is_success, address


@pytest.fixture(scope="module")
def address(served: list[ServedModel]) -> Iterator[str]:
    """Of a real server."""
    with running(Server(served)) as (port, _):
        yield f"http://{HOST}:{port}"


CHECKS = {
    # A label, a word or a task that a model does not have is a 422, though no schema can say so.
    "positive_data_acceptance": {"expected-statuses": ["2xx", "401", "403", "404", "422", "429"]},
    # More bytes than a body may have are refused before anybody looks what they say.
    "negative_data_rejection": {"expected-statuses": ["400", "404", "405", "413", "415", "422", "429"]},
}
CONFIG = schemathesis.Config.from_dict({"checks": CHECKS})
schema = schemathesis.openapi.from_path(ROOT / "docs" / "openapi.json", config=CONFIG)


@schema.parametrize()
@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_it_keeps_to_the_schema_whatever_is_asked(case: Any, address: str) -> None:
    case.call_and_validate(base_url=address, excluded_checks=[ignored_auth])  # no key is asked for on loopback
