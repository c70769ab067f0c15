"""Whatever cannot be answered is one sentence, in one shape."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from splade.apps.server.answers import Json
from splade.apps.server.limits import Limits
from splade.apps.server.served import ServedModel
from splade.apps.server.server import Server
from tests.apps.server.conftest import ask

JSON = {"content-type": "application/json"}


def check_refusal(answer: Any, status: int, code: str, *parts: str) -> str:
    """The one shape, and one sentence that holds every part."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert answer.json().keys() == {"error"} and error.keys() == {"status", "code", "message"}
    assert (error["status"], error["code"]) == (status, code)
    message: str = error["message"]
    assert message.endswith((".", "?")) and "\n" not in message
    for part in parts:
        assert part in message, message
    return message


@pytest.mark.parametrize(
    "body, status, code, part",
    [
        (b"", 422, "invalid_request", "body is missing"),
        (b"{", 400, "malformed_json", ""),
        (b"\xff\xfe", 400, "malformed_json", ""),
        (b'{"texts": ["\xe9"]}', 400, "malformed_json", ""),
        (b'{"texts": ["\\ud800"]}', 400, "malformed_json", ""),
        (b'{"texts": [NaN]}', 400, "malformed_json", ""),
        (b'{"texts": ["a"], "target": 1e999}', 422, "invalid_request", "target"),
        (b"[" * 100_000, 400, "malformed_json", "recursion"),
        (b'{"texts":' * 50_000, 400, "malformed_json", "recursion"),
        (b"[]", 422, "invalid_request", "The body is wrong"),
        (b"null", 422, "invalid_request", "The body"),
        (b'"texts"', 422, "invalid_request", "The body is wrong"),
        (b"{}", 422, "invalid_request", "texts is missing"),
        (b'{"texts": []}', 422, "invalid_request", "texts"),
        (b'{"texts": "a"}', 422, "invalid_request", "texts"),
        (b'{"texts": [1]}', 422, "invalid_request", "texts[0]"),
        (b'{"texts": [["a"]]}', 422, "invalid_request", "string"),
        (b'{"textss": ["a"]}', 422, "invalid_request", "Did you mean 'texts'?"),
        (b'{"texts": ["a"], "word": 1}', 422, "wrong_task", "word"),
        (b'{"texts": ["a"], "target": "good"}', 422, "invalid_request", "class 0, class 1"),
        (b'{"texts": ["a"], "model": "wordz"}', 404, "unknown_model", "Did you mean 'words'?"),
        (b'{"texts": ["a"], "model": 3}', 422, "invalid_request", "model"),
    ],
)
def test_a_body_that_cannot_be_taken(client: TestClient, body: bytes, status: int, code: str, part: str) -> None:
    check_refusal(client.post("/explain", content=body, headers=JSON), status, code, part)


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_body_that_is_not_declared_as_json(client: TestClient, kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}
    answer = client.post("/predict", content=b'{"texts": ["a"]}', headers=headers)
    check_refusal(answer, 415, "unsupported_media_type", "application/json")
    assert client.post(
        "/predict", content=b'{"texts": ["a"]}', headers={"content-type": "APPLICATION/JSON; x=y"}
    ).is_success


@pytest.mark.parametrize(
    "method, path, status, code, part",
    [
        ("GET", "/nothing", 404, "not_found", ""),
        ("POST", "/nothing", 404, "not_found", ""),
        ("GET", "/../../etc/passwd", 404, "not_found", ""),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404, "not_found", ""),
        ("GET", "/predict", 405, "method_not_allowed", "POST"),
        ("DELETE", "/words", 405, "method_not_allowed", "GET, POST"),
        ("POST", "/health", 405, "method_not_allowed", "GET"),
        ("POST", "/", 404, "not_found", ""),
        ("GET", "/model?model=none", 404, "unknown_model", "words"),
        ("GET", "/v1/models/none", 404, "unknown_model", "words"),
    ],
)
def test_a_path_that_there_is_not(
    client: TestClient, method: str, path: str, status: int, code: str, part: str
) -> None:
    if (method, path) == ("POST", "/") and client.get("/").is_success:
        status, code = 405, "method_not_allowed"  # where there is a page
    check_refusal(client.request(method, path), status, code, part)


def test_what_a_model_does_not_do(client: TestClient) -> None:
    check_refusal(client.post("/tag", json={"texts": ["a"]}), 422, "wrong_task", "/predict")
    check_refusal(client.post("/predict", json={"model": "names", "texts": ["a"]}), 422, "wrong_task", "/tag")
    check_refusal(client.post("/suppress", json={"text": "a film", "delete": [2]}), 422, "invalid_request", "2 word(s)")


def test_limits_are_refusals_that_name_them(served: list[ServedModel]) -> None:
    with ask(Server(served, Limits(body_bytes=1000, tokens=50))) as client:
        long = {"texts": ["good film " * 200]}
        check_refusal(client.post("/predict", json=long), 413, "too_large", "MB")
        unsaid = client.post("/predict", content=iter([b'{"texts": ["', b"a" * 2000]), headers=JSON)
        check_refusal(unsaid, 413, "too_large", "MB")
        many = {"texts": ["a very good film"] * 20}
        check_refusal(client.post("/predict", json=many), 413, "too_large", "50 is the most")
        check_refusal(client.post("/predict", json={"texts": [""] * 65}), 422, "invalid_request", "64")
        assert client.post("/predict", json={"texts": ["a very good film"] * 3}).is_success


def test_a_mistake_of_the_servers_own_shows_nothing_of_the_text(
    served: list[ServedModel], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("a SECRET text")

    with ask(Server(served)) as client, caplog.at_level(logging.DEBUG):
        monkeypatch.setattr("splade.tasks.classification.read_texts", fail)
        check_refusal(client.post("/predict", json={"texts": ["a SECRET text"]}), 500, "internal")
        monkeypatch.undo()
        monkeypatch.setattr("splade.apps.server.served.ServedModel.given", fail)  # not in the model thread
        check_refusal(client.post("/predict", json={"texts": ["a SECRET text"]}), 500, "internal")
        monkeypatch.undo()
        assert client.post("/predict", json={"texts": ["a SECRET text"]}).is_success  # and answers on
    assert "SECRET" not in caplog.text and "ValueError" in caplog.text


def test_one_text_fails_for_itself_alone(
    served: list[ServedModel], monkeypatch: pytest.MonkeyPatch, hold: Callable[[Server], Any]
) -> None:
    from splade.tasks.classification import ClassificationTask

    real = ClassificationTask.predict_texts

    def fail(model: Any, texts: list[str], batch_size: int = 32) -> Any:
        if "bad" in texts:
            raise ValueError
        return real(model, texts, batch_size)

    monkeypatch.setattr(ClassificationTask, "predict_texts", staticmethod(fail))
    server = Server(served)
    with ask(server) as client, hold(server) as held:
        answers = held.together(lambda text: client.post("/predict", json={"texts": [text]}), ["good", "bad", "dull"])
    assert [answer.status_code for answer in answers] == [200, 500, 200]
    said: Json = answers[2].json()
    assert said["predictions"][0]["text"] == "dull"
