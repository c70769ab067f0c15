"""Who is let in, and what every answer says to browsers."""

from __future__ import annotations

import hmac
from pathlib import Path
from typing import Any

import pytest

from splade.apps.server.process import KEY, ServeSettings, access_for
from splade.apps.server.security import Access
from splade.apps.server.served import ServedModel
from splade.apps.server.server import Server
from splade.errors import ConfigError
from tests.apps.server.conftest import HOST, ask
from tests.apps.server.test_refusals import check_refusal

SECRET = "a key of sixteen characters or more"


@pytest.mark.parametrize(
    "host, known",
    [
        ("127.0.0.1:8000", True),
        ("localhost", True),
        ("LOCALHOST:1234", True),
        ("[::1]:8000", True),
        ("api.example.org", True),
        ("evil.example.org", False),
        ("127.0.0.1.evil.org", False),
        ("localhost@evil.org", False),
        ("169.254.169.254", False),
        ("", False),
        ("[::1", False),
    ],
)
def test_only_known_names_are_answered(served: list[ServedModel], host: str, known: bool) -> None:
    with ask(Server(served), Access.of(HOST, ["api.example.org"])) as client:
        answer = client.get("/models", headers={"host": host})
        assert answer.is_success if known else check_refusal(answer, 403, "forbidden_host")
        assert client.get("/health", headers={"host": host}).is_success  # a load balancer asks by address


@pytest.mark.parametrize(
    "origin, own",
    [
        (None, True),
        ("http://127.0.0.1:8000", True),
        ("https://127.0.0.1:8000", True),  # behind what speaks TLS for it
        ("http://127.0.0.1:9000", False),
        ("http://localhost:8000", False),
        ("http://evil.example.org", False),
        ("null", False),
        ("", False),
    ],
)
def test_no_page_of_another_origin_may_ask(served: list[ServedModel], origin: str | None, own: bool) -> None:
    with ask(Server(served)) as client:
        headers = {} if origin is None else {"origin": origin}
        answer = client.post("/predict", json={"texts": ["good"]}, headers=headers)
        assert answer.is_success if own else check_refusal(answer, 403, "forbidden_origin")
        assert "access-control-allow-origin" not in answer.headers


def test_a_key_is_asked_for_everywhere_but_of_files_and_probes(
    served: list[ServedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[bytes, bytes]] = []
    real = hmac.compare_digest

    def compare(first: bytes, second: bytes) -> bool:
        compared.append((first, second))
        return real(first, second)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    with ask(Server(served), Access.of(HOST, key=SECRET)) as client:
        for headers in (
            {},
            {"x-api-key": "another"},
            {"authorization": f"Basic {SECRET}"},
            {"authorization": "Bearer"},
        ):
            refused = client.post("/predict", json={"texts": ["good"]}, headers=headers)
            check_refusal(refused, 401, "unauthorized", "API key")
            assert refused.headers["www-authenticate"] == "Bearer"
        assert len(compared) == 4 and {len(one) for pair in compared for one in pair} == {32}  # digests, of one length
        for headers in (
            {"x-api-key": SECRET},
            {"authorization": f"Bearer {SECRET}"},
            {"authorization": f"bearer {SECRET}"},
        ):
            assert client.post("/predict", json={"texts": ["good"]}, headers=headers).is_success
        check_refusal(client.get("/metrics"), 401, "unauthorized")
        check_refusal(client.get("/nothing"), 401, "unauthorized")
        for path in ("/health", "/ready", "/docs", "/openapi.json", "/schema.css"):
            assert client.get(path).is_success, path


def test_every_answer_has_the_security_headers(client: Any) -> None:
    paths = ["/models", "/nothing", "/docs", "/openapi.json", "/health", "/predict", "/metrics"]
    for answer in [client.get(path) for path in paths] + [client.get("/models", headers={"host": "evil"})]:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "server" not in answer.headers


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_others_are_let_in_with_a_key_alone(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)
    with pytest.raises(ConfigError, match="needs an API key"):
        access_for(ServeSettings(host))
    monkeypatch.setenv(KEY, SECRET)
    assert access_for(ServeSettings(host)).key is not None


def test_a_key_comes_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)
    assert access_for(ServeSettings()).key is None
    file = tmp_path / "key"
    with pytest.raises(ConfigError, match="cannot be read"):
        access_for(ServeSettings(key_file=file))
    file.write_text("\n")
    with pytest.raises(ConfigError, match="holds no API key"):
        access_for(ServeSettings(key_file=file))
    file.write_text("short\n")
    with pytest.raises(ConfigError, match="5 characters"):
        access_for(ServeSettings(key_file=file))
    file.write_text("ключ" * 8, encoding="utf-8")
    with pytest.raises(ConfigError, match="beyond ASCII"):
        access_for(ServeSettings(key_file=file))
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        access_for(ServeSettings(key_file=file))
    file.write_text(f"{SECRET}\n")
    from_file = access_for(ServeSettings(key_file=file))
    monkeypatch.setenv(KEY, SECRET)
    assert from_file == access_for(ServeSettings())


def test_any_name_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)
    with pytest.raises(ConfigError, match="needs an API key"):
        access_for(ServeSettings(allowed_hosts=("*",)))
