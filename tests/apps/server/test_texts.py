"""What is said of texts: exact, the same as the command line's, alone and in company."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from splade import inference
from splade.apps.server.server import Server
from tests.builders import NEGATIVE, POSITIVE, WORDS, toy_reviews

EXACT = 1e-4
TEXT = "a good , unwatchable film 😀 with cafe\u0301 — \u202eno\u202c dull jokes !"
CLASSIFIERS = ["words", "pieces"]
ANY_TEXT = st.one_of(
    st.lists(
        st.sampled_from([*POSITIVE, *NEGATIVE, *WORDS, "unwatchable", "😀", "𝒳y", "e\u0301", "<img onerror=x>", "\t"])
    ).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
)


def post(client: TestClient, path: str, **asked: Any) -> Any:
    answer = client.post(path, json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def check_sums(found: dict[str, Any], logit: float) -> None:
    """Words, tokens, and the tokens of each word add up."""
    assert sum(word["score"] for word in found["words"]) + found["bias"] == pytest.approx(logit, abs=EXACT)
    assert sum(token["score"] for token in found["tokens"]) + found["bias"] == pytest.approx(logit, abs=EXACT)
    for word in found["words"]:
        assert sum(token["score"] for token in word["tokens"]) == pytest.approx(word["score"], abs=EXACT)


def check_places(text: str, things: list[dict[str, Any]]) -> None:
    """Both kinds of offsets name the same characters."""
    units = text.encode("utf-16-le")
    for one in things:
        if one.get("number", 0) is not None:
            in_units = units[2 * one["utf16_start"] : 2 * one["utf16_end"]].decode("utf-16-le")
            assert text[one["start"] : one["end"]] == in_units == one.get("word", one.get("text"))


@pytest.mark.parametrize("model", CLASSIFIERS)
def test_an_explanation_adds_up_for_every_label(client: TestClient, server: Server, model: str) -> None:
    for label in server.models.get(model).model.labels:
        [found] = post(client, "/explain", model=model, texts=[TEXT], target=label)["explanations"]
        assert found["text"] == TEXT and found["target"] == label
        check_sums(found, found["logits"][label])
        check_places(TEXT, found["words"])
        numbers = [word["number"] for word in found["words"] if word["number"] is not None]
        assert numbers == list(range(len(numbers)))


@settings(max_examples=25, deadline=None)
@given(text=ANY_TEXT)
def test_offsets_are_right_in_any_text(client: TestClient, text: str) -> None:
    [found] = post(client, "/explain", texts=[text])["explanations"]
    assert found["text"] == text
    check_places(text, found["words"])
    check_sums(found, found["logits"][found["target"]])


@pytest.mark.parametrize("model", CLASSIFIERS)
def test_it_says_what_the_model_says(client: TestClient, server: Server, model: str) -> None:
    texts = [*toy_reviews(5)[0], ""]
    inside = server.models.get(model).model.model
    predicted = post(client, "/predict", model=model, texts=texts)["predictions"]
    explained = post(client, "/explain", model=model, texts=texts)["explanations"]
    for prediction, why, said in zip(predicted, explained, inference.predict(inside, texts), strict=True):
        assert prediction["label"] == why["label"] == said.label
        assert prediction["probabilities"] == pytest.approx(said.probabilities, abs=1e-5)
        assert why["probabilities"] == pytest.approx(said.probabilities, abs=1e-5)


def test_a_text_says_the_same_alone_and_in_company(server: Server, client: TestClient) -> None:
    texts = [*toy_reviews(12)[0], " ".join(["very good and clever film ,"] * 9), "good", ""]
    for model in CLASSIFIERS:
        together = post(client, "/predict", model=model, texts=texts)["predictions"]
        server.models.get(model).model._kept.clear()
        for text, prediction in zip(texts, together, strict=True):
            [alone] = post(client, "/predict", model=model, texts=[text])["predictions"]
            assert alone["probabilities"] == pytest.approx(prediction["probabilities"], abs=1e-5)


@pytest.mark.parametrize("model", CLASSIFIERS)
@pytest.mark.parametrize(
    "removal",
    [
        {"shut": ["good"]},
        {"shut": ["good", "dull", "unwatchable"], "silence": ["film"]},
        {"silence": ["unwatchable"]},
        {"delete": [1]},
        {"delete": [0, 1, 2, 3, 4], "shut": ["dull"]},
        {"delete": list(range(17))},
        {},
    ],
)
def test_what_if_adds_up_and_is_what_a_suppressed_model_says(
    client: TestClient, server: Server, model: str, removal: dict[str, list[Any]]
) -> None:
    words = post(client, "/explain", model=model, texts=[TEXT])["explanations"][0]["words"]
    count = sum(word["number"] is not None for word in words)
    removal = removal | {"delete": [number for number in removal.get("delete", []) if number < count]}
    found = post(client, "/suppress", model=model, text=TEXT, **removal)
    [effect] = found["effects"]
    assert effect["number"] is None and found["target"] == found["before"]["target"] == found["after"]["target"]
    for label, one in effect["logits"].items():
        assert one["before"] + one["deletion"] + one["direct"] + one["mask"] == pytest.approx(one["after"], abs=EXACT)
        assert one["before"] == pytest.approx(found["before"]["logits"][label], abs=1e-5)
        assert one["after"] == pytest.approx(found["after"]["logits"][label], abs=1e-5)
    for side in ("before", "after"):
        check_sums(found[side], found[side]["logits"][found["target"]])
    assert (found["shorter"] is None) == (not removal["delete"])
    gone = {name for match in found["matched"] for name in match["names"] if match["operation"] == "shut"}
    assert not gone & {token["token"] for token in found["after"]["tokens"]}
    assert found["after"]["text"] == (found["shorter"] if removal["delete"] else TEXT)


def test_what_is_only_shut_needs_no_backbone(client: TestClient) -> None:
    text = "a good film with a dull plot ."
    post(client, "/explain", texts=[text])
    assert post(client, "/suppress", text=text, shut=["good"], silence=["plot"])["head_only"]
    assert not post(client, "/suppress", text=text, delete=[1])["head_only"]
    assert post(client, "/suppress", text=text, delete=[1], shut=["dull"])["head_only"]  # read a moment ago


def test_no_request_changes_the_model_for_others(client: TestClient, server: Server) -> None:
    text = "a good film with a dull plot ."
    before = post(client, "/explain", texts=[text])
    weights = {name: tensor.clone() for name, tensor in server.models.default.model.model.state_dict().items()}
    post(client, "/suppress", text=text, shut=["good", "dull", 40], silence=["film", "plot"], delete=[2])
    assert post(client, "/explain", texts=[text]) == before  # to the last digit
    after = server.models.default.model.model.state_dict()
    assert all(bool((after[name] == tensor).all()) for name, tensor in weights.items())
    assert client.get("/model").json()["removed"] == {"tokens": [], "words": []}


def test_what_matches_nothing_is_said(client: TestClient) -> None:
    found = post(client, "/suppress", text="a good film", shut=["good", 10**6], silence=["..."])
    assert [(one["asked"], one["names"]) for one in found["matched"]] == [("good", ["good"])]
    assert found["unmatched"] == [
        {"asked": 10**6, "operation": "shut"},
        {"asked": "...", "operation": "silence"},
    ]


def test_a_tagger_says_entities_words_and_sums(client: TestClient) -> None:
    texts = ["john lives in 😀 london .", ["john", "is", "in", "paris"], "", []]
    tagged = post(client, "/tag", model="names", texts=texts)["texts"]
    explained = post(client, "/explain", model="names", texts=texts, word=0)["explanations"]
    assert [one["text"] for one in tagged] == ["john lives in 😀 london .", "john is in paris", "", ""]
    for text, why in zip(tagged, explained, strict=True):
        check_places(text["text"], text["words"])
        check_places(text["text"], text["entities"])
        assert text["words"] == [word | {"active_tokens": word["active_tokens"]} for word in text["words"]]
        assert [word["tag"] for word in why["words"]] == [word["tag"] for word in text["words"]]
        assert [one["number"] for one in why["explained"]] == ([0] if text["words"] else [])
        for one in why["explained"]:
            check_sums(one, one["logits"][one["target"]])


def test_what_if_of_a_tagger_has_an_effect_a_word(client: TestClient) -> None:
    text = "john lives in london with mary"
    found = post(client, "/suppress", model="names", text=text, shut=["good", "dull"], delete=[1], word=3)
    assert found["shorter"] == "john in london with mary" and found["target"] is None
    assert [effect["number"] for effect in found["effects"]] == [0, 2, 3, 4, 5]
    for effect in found["effects"]:
        assert effect["label"]["before"] == found["before"]["words"][effect["number"]]["tag"]
        for one in effect["logits"].values():
            assert one["before"] + one["deletion"] + one["direct"] + one["mask"] == pytest.approx(
                one["after"], abs=EXACT
            )
    assert [one["number"] for one in found["before"]["explained"]] == [3]
    assert [one["number"] for one in found["after"]["explained"]] == [2]  # in the shorter text
    gone = post(client, "/suppress", model="names", text=text, delete=[3], word=3)
    assert gone["after"]["explained"] == []


def test_kserve_has_the_same_entries(client: TestClient) -> None:
    texts = ["a good film", "a dull plot"]
    asked = {"instances": [texts[0], {"text": texts[1]}]}
    predictions = post(client, "/predict", texts=texts)["predictions"]
    assert post(client, "/v1/models/words:predict", **asked)["predictions"] == predictions
    explanations = post(client, "/explain", texts=texts)["explanations"]
    assert post(client, "/v1/models/words:explain", **asked)["explanations"] == explanations
    assert post(client, "/v1/models/names:predict", instances=["john"])["predictions"][0]["words"][0]["word"] == "john"
    assert client.get("/v1/models").json() == {"models": ["words", "pieces", "names"]}
    assert client.get("/v1/models/names").json() == {"name": "names", "ready": True}


def test_a_text_of_a_hundred_thousand_words_is_answered(client: TestClient) -> None:
    text = "good film " * 50_000
    [found] = post(client, "/explain", texts=[text])["explanations"]
    assert found["truncated"] and len(found["words"]) == 100_000
    last = found["words"][-1]
    assert text[last["start"] : last["end"]] == "film"
