"""What the test texts of a run show, against what the model itself says of them."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from splade.apps.server.limits import MEGABYTE
from splade.apps.server.served import load
from splade.apps.server.server import Server
from splade.inference import explain_batch
from tests.apps.server.conftest import ask
from tests.apps.server.test_process import eventually
from tests.apps.server.test_texts import check_places
from tests.runs import ToyRun, read_json


@pytest.fixture(scope="module")
def surveyed(toy_run: ToyRun, toy_tagger: ToyRun) -> Iterator[TestClient]:
    """A client of two finished runs, whose test texts are read."""
    runs = {"reviews": toy_run, "names": toy_tagger}
    models = [load(name, run.folder / "model", "float32", MEGABYTE, data=True) for name, run in runs.items()]
    with ask(Server(models)) as client:
        for name in runs:
            eventually(lambda name=name: client.get(f"/words?model={name}").json()["survey"]["done"] or time.sleep(0.1))
        yield client


@pytest.fixture(scope="module")
def reviews(toy_run: ToyRun) -> list[dict[str, str]]:
    with (toy_run.data / "test.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def explained(surveyed: TestClient, reviews: list[dict[str, str]]) -> dict[str, list[Any]]:
    """By label: what the model says of the test texts."""
    model = surveyed.app.state.server.models.default.model.model  # type: ignore[attr-defined]
    return {label: explain_batch(model, [row["text"] for row in reviews], label) for label in model.labels}


def test_the_whole_test_split_is_read(surveyed: TestClient, reviews: list[dict[str, str]]) -> None:
    survey = surveyed.get("/words").json()["survey"]
    assert survey["available"] and survey["reason"] is None and survey["unit"] == "text"
    assert survey["texts"] == survey["of"] == survey["read"] == survey["rows"] == len(reviews)


def test_circuits_are_means_over_the_texts_given_the_label(
    surveyed: TestClient, explained: dict[str, list[Any]]
) -> None:
    found = surveyed.get("/words").json()
    assert found["source"] == "survey"
    for circuit in found["circuits"]:
        given = [one for one in explained[circuit["label"]] if one.label == circuit["label"]]
        assert circuit["rows"] == len(given)
        for word in circuit["words"][:5]:
            scores = [sum(token.score for token in one.tokens if token.token.lower() == word["word"]) for one in given]
            spoken = [score for score in scores if score]
            assert word["mean"] == pytest.approx(sum(scores) / len(given), abs=1e-4)
            assert word["rows"] == len(spoken) and word["spread"] == pytest.approx(float(np.std(spoken)), abs=1e-3)
        means = [word["mean"] for word in circuit["words"]]
        assert means == sorted(means, reverse=True) and all(mean > 0 for mean in means)


def test_a_word_says_what_it_adds_to_each_label_and_where_most(
    surveyed: TestClient, explained: dict[str, list[Any]]
) -> None:
    word = surveyed.get("/words").json()["circuits"][0]["words"][0]["word"]
    found = surveyed.post("/words", json={"word": word.upper(), "limit": 3}).json()
    assert found["known"] and word in found["names"]
    for label in found["labels"]:
        scores = [token.score for one in explained[label["label"]] for token in one.tokens if token.token == word]
        assert label["rows"] == len(scores) and label["mean"] == pytest.approx(float(np.mean(scores)), abs=1e-4)
    sizes = [abs(sentence["score"]) for sentence in found["sentences"]]
    assert sizes == sorted(sizes, reverse=True) and 0 < len(sizes) <= 3
    for sentence in found["sentences"]:
        [own] = [one for one in explained[sentence["label"]] if one.text == sentence["text"]][:1]
        [token] = [token for token in own.tokens if token.token == word]
        assert sentence["score"] == pytest.approx(token.score, abs=1e-4)
        check_places(sentence["text"], [sentence | {"number": 0}])
    unknown = surveyed.post("/words", json={"word": "日本"}).json()
    assert not unknown["labels"] and not unknown["sentences"]


def test_mistakes_are_the_texts_with_another_label_by_what_misled(
    surveyed: TestClient, reviews: list[dict[str, str]], explained: dict[str, list[Any]]
) -> None:
    found = surveyed.post("/mistakes", json={"limit": 100}).json()
    by_text = {one.text: one.label for one in next(iter(explained.values()))}
    wrong = [row for row in reviews if by_text[row["text"]] != row["label"]]
    assert found["total"] == len(found["mistakes"]) == len(wrong) > 0
    pulls = [mistake["pull"] or 0.0 for mistake in found["mistakes"]]
    assert pulls == sorted(pulls, reverse=True)
    for mistake in found["mistakes"]:
        pair = [
            next(one for one in explained[mistake[side]] if one.text == mistake["text"]) for side in ("label", "gold")
        ]
        strongest = max(a.score - b.score for a, b in zip(pair[0].words, pair[1].words, strict=True))
        if mistake["pull"] is not None:
            assert mistake["pull"] == pytest.approx(strongest, abs=1e-4)
    named = found["words"][0]
    only = surveyed.post("/mistakes", json={"word": named["word"], "limit": 1}).json()
    assert only["total"] == named["mistakes"] and len(only["mistakes"]) == 1
    assert only["mistakes"][0]["word"] == named["word"]


def test_a_tagger_is_surveyed_word_by_word(surveyed: TestClient) -> None:
    found = surveyed.get("/words?model=names").json()
    assert found["survey"]["unit"] == "word" and found["survey"]["rows"] > found["survey"]["texts"]
    assert {circuit["label"] for circuit in found["circuits"]} >= {"B-LOC", "B-PER"}
    word = found["circuits"][-1]["words"][0]["word"]
    said = surveyed.post("/words", json={"model": "names", "word": word}).json()
    assert said["sentences"] and all(sentence["number"] is not None for sentence in said["sentences"])
    for mistake in surveyed.post("/mistakes", json={"model": "names"}).json()["mistakes"]:
        assert mistake["gold"] != mistake["label"] and mistake["number"] is not None


def test_the_run_is_told_as_its_results_have_it(surveyed: TestClient, toy_run: ToyRun) -> None:
    results = read_json(toy_run.folder / "results.json")
    run = surveyed.get("/model").json()["run"]
    [accuracy] = [figure for figure in run["figures"] if figure["key"] == "accuracy"]
    assert run["available"] and accuracy["value"] == results["accuracy"] and accuracy["headline"]
    data = surveyed.get("/data").json()
    assert data["run"] == run and data["bias"] == {"measured": False, "groups": []}
    assert any(table["rows"] for table in data["tables"])
    assert all(len(row) == len(table["columns"]) for table in data["tables"] for row in table["rows"])


def test_without_test_texts_it_says_why(toy_run: ToyRun) -> None:
    model = load("reviews", toy_run.folder / "model", "float32", MEGABYTE, data=False)
    with ask(Server([model])) as client:
        found = client.get("/words").json()
        assert not found["survey"]["available"] and "no test texts" in found["survey"]["reason"]
        assert found["source"] == "results" and found["circuits"]  # what the run itself found
        assert client.post("/mistakes", json={}).json()["total"] == 0
