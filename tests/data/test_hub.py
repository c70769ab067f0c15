from __future__ import annotations

from pathlib import Path

import datasets
import pytest

from splade.config.schema import DataConfig
from splade.data import hub, load_dataset
from splade.errors import DataError

Splits = dict[str, dict[str, list[object]]]


@pytest.fixture(autouse=True)
def no_data_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEXICAL_SAE_DATA", raising=False)


def serve(monkeypatch: pytest.MonkeyPatch, splits: Splits, names: list[str] | None = None) -> list[tuple[str, str]]:
    """Let the Hub serve these splits, and return the list of what is asked of it."""
    asked: list[tuple[str, str]] = []
    served = datasets.DatasetDict({split: datasets.Dataset.from_dict(columns) for split, columns in splits.items()})
    if names:
        served = served.cast_column("label", datasets.ClassLabel(names=names))

    def load(path: str, name: str) -> datasets.DatasetDict:
        asked.append((path, name))
        return served

    monkeypatch.setattr(datasets, "load_dataset", load)
    return asked


def rows(count: int, text: str = "text") -> dict[str, list[object]]:
    return {text: [f"t{row}" for row in range(count)], "label": [row % 2 for row in range(count)]}


def test_sst2_reads_sentences_and_tests_on_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    unlabelled: dict[str, list[object]] = {"sentence": ["x"], "label": [-1]}
    splits = {"train": rows(40, "sentence"), "validation": rows(6, "sentence"), "test": unlabelled}
    asked = serve(monkeypatch, splits, ["negative", "positive"])
    dataset = load_dataset(DataConfig(dataset_name="sst2"), 0)
    assert asked == [("stanfordnlp/sst2", None)]
    assert dataset.label_names == ["negative", "positive"]
    assert [len(dataset.train), len(dataset.validation), len(dataset.test)] == [36, 4, 6]
    assert dataset.source == "Hugging Face Hub: stanfordnlp/sst2."


def test_banking77_takes_its_names_from_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    part: dict[str, list[object]] = {**rows(40), "label_text": ["refund", "card"] * 20}
    serve(monkeypatch, {"train": part, "test": part})
    dataset = load_dataset(DataConfig(dataset_name="banking77"), 0)
    assert dataset.label_names == ["card", "refund"] and dataset.test.labels[:2] == [1, 0]


def test_any_set_with_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    columns: dict[str, list[object]] = {"review": ["a", "b"] * 20, "stars": ["low", "high"] * 20}
    asked = serve(monkeypatch, {"train": columns})
    config = DataConfig(dataset_name="someone/reviews", dataset_config="en", text_column="review", label_column="stars")
    assert load_dataset(config, 0).label_names == ["high", "low"]
    assert asked == [("someone/reviews", "en")]


def test_civil_comments_are_toxic_from_one_half(monkeypatch: pytest.MonkeyPatch) -> None:
    part: dict[str, list[object]] = {
        "text": ["a", "b", "c", "d"],
        "toxicity": [0.0, 0.49, 0.5, 1.0],
        "female": [0.0, 1.0, 0.0, 0.2],
    }
    serve(monkeypatch, {"train": part, "validation": part, "test": part})
    dataset = load_dataset(DataConfig(dataset_name="civilcomments"), 0)
    assert dataset.train.labels == [0, 0, 1, 1] and dataset.label_names == ["non-toxic", "toxic"]
    assert dataset.train.extra["female"] == [0.0, 1.0, 0.0, 0.2]  # identity columns are kept


def test_beavertails_judges_prompt_and_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    part: dict[str, list[object]] = {
        "prompt": ["how?", "why?"] * 10,
        "response": ["so.", "no."] * 10,
        "is_safe": [True, False] * 10,
    }
    serve(monkeypatch, {"330k_train": part, "30k_train": part, "30k_test": part})
    dataset = load_dataset(DataConfig(dataset_name="beavertails"), 0)
    assert dataset.label_names == ["safe", "harmful"]
    assert set(zip(dataset.test.texts, dataset.test.labels, strict=True)) == {("how?\nso.", 0), ("why?\nno.", 1)}


def test_a_missing_column_names_the_set(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, {"train": rows(4, "a")})
    with pytest.raises(
        DataError, match="The set x/y, split train, has no column 'text', and which other has the texts"
    ):
        load_dataset(DataConfig(dataset_name="x/y"), 0)


def test_columns_are_found_and_bring_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    columns: dict[str, list[object]] = {"sentence": ["a", "b"] * 20, "sentiment": [0, 1] * 20}
    served = datasets.DatasetDict({"train": datasets.Dataset.from_dict(columns)})
    served = served.cast_column("sentiment", datasets.ClassLabel(names=["good", "bad"]))
    monkeypatch.setattr(datasets, "load_dataset", lambda path, name: served)
    dataset = load_dataset(DataConfig(dataset_name="x/y"), 0)
    assert dataset.label_names == ["good", "bad"] and dataset.numbered
    assert dataset.columns == {"text_column": "sentence", "label_column": "sentiment"}


def test_an_unreachable_hub_is_one_sentence_and_quick(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "train.csv").write_text("text,label\n", encoding="utf-8")
    with pytest.raises(DataError) as raised:
        load_dataset(DataConfig(dataset_name="movie_sentence", root=str(tmp_path)), 0)
    message = str(raised.value)
    assert message.startswith("The set 'movie_sentence' is neither in a data root nor packaged, and")
    assert "set LEXICAL_SAE_DATA to a data root that has it, give data.train_file, or use one of:" in message
    assert message.endswith("movie_reviews, movie_sentences, comments, mine. Did you mean 'movie_sentences'?")
    assert "\n" not in message


def test_a_named_set_does_not_suggest_itself() -> None:
    with pytest.raises(DataError) as raised:
        load_dataset(DataConfig(dataset_name="ag_news"), 0)
    assert "Did you mean 'ag_news'" not in str(raised.value)


def test_without_a_name_server_only_the_cache_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    def unknown_host(*_: object) -> None:
        raise OSError("Name or service not known")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub.socket, "getaddrinfo", unknown_host)
    monkeypatch.setattr(hub, "getproxies", dict)
    with hub._cache_only_if_unreachable():
        assert constants.HF_HUB_OFFLINE is True and datasets.config.HF_HUB_OFFLINE is True
    assert constants.HF_HUB_OFFLINE is False  # later calls may find a network again
    monkeypatch.setattr(hub, "getproxies", lambda: {"https": "proxy"})
    with hub._cache_only_if_unreachable():
        assert constants.HF_HUB_OFFLINE is False
