from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from splade.config.schema import DataConfig
from splade.data import Dataset, dataset_fingerprint, load_dataset
from splade.data.loader import load_test_split
from splade.errors import DataError

PARTS = ("validation", "test")


@pytest.fixture(autouse=True)
def no_data_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEXICAL_SAE_DATA", raising=False)


def write_csv(path: Path, rows: int, start: int = 0, labels: tuple[str, ...] = ("bad", "good", "fair")) -> str:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "label"])
        writer.writerows([f"text {row}", labels[row % len(labels)]] for row in range(start, start + rows))
    return str(path)


def write_root(root: Path, name: str, splits: dict[str, list[dict[str, object]]], labels: list[str] | None) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    for split, rows in splits.items():
        with gzip.open(folder / f"{split}.jsonl.gz", "wt", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in rows)
    if labels:
        (folder / "meta.json").write_text(json.dumps({"name": name.upper(), "labels": labels}), encoding="utf-8")
    return root


def rows(count: int, start: int = 0) -> list[dict[str, object]]:
    return [{"text": f"text {row}", "label": row % 2, "groups": [str(row)]} for row in range(start, start + count)]


def disjoint(dataset: Dataset) -> bool:
    texts = [*dataset.train.texts, *dataset.validation.texts, *dataset.test.texts]
    return len(set(texts)) == len(texts)


def test_own_files_take_the_sorted_training_labels(tmp_path: Path) -> None:
    config = DataConfig(
        train_file=write_csv(tmp_path / "reviews.csv", 30),
        validation_file=write_csv(tmp_path / "dev.csv", 6, 30),
        test_file=write_csv(tmp_path / "held.csv", 9, 36),
    )
    dataset = load_dataset(config, seed=1)
    assert dataset.name == "reviews" and dataset.source == "Own files: reviews.csv, dev.csv, held.csv."
    assert dataset.label_names == ["bad", "fair", "good"]
    assert [len(dataset.train), len(dataset.validation), len(dataset.test)] == [30, 6, 9]
    assert dataset.train.labels[:3] == [0, 2, 1]
    assert dataset.notes == []


def test_given_labels_set_the_order_and_numbers_index_them(tmp_path: Path) -> None:
    named = DataConfig(train_file=write_csv(tmp_path / "a.csv", 30), labels=["good", "fair", "bad"])
    train = load_dataset(named, 0).train
    written = [("bad", "good", "fair")[int(text.split()[1]) % 3] for text in train.texts]
    assert set(zip(written, train.labels, strict=True)) == {("good", 0), ("fair", 1), ("bad", 2)}
    numbered = DataConfig(train_file=write_csv(tmp_path / "b.csv", 30, labels=("0", "1")), labels=["no", "yes"])
    dataset = load_dataset(numbered, 0)
    assert dataset.label_names == ["no", "yes"] and set(dataset.train.labels) == {0, 1}


def test_numbers_in_a_file_of_names_are_refused(tmp_path: Path) -> None:
    train = write_csv(tmp_path / "a.csv", 30)
    config = DataConfig(train_file=train, test_file=write_csv(tmp_path / "b.csv", 6, 30, labels=("0", "1", "2")))
    with pytest.raises(
        DataError, match=r"has the number 0 for a label in row 1, .* known by name alone \(bad, fair, go"
    ):
        load_dataset(config, 0)
    assert not load_dataset(DataConfig(train_file=train), 0).numbered
    with pytest.raises(DataError, match="has the number 0 for a label in row 1"):
        load_test_split(config, 0, ["bad", "fair", "good"])


def test_a_saved_model_reads_numbers_if_its_data_had_them(tmp_path: Path) -> None:
    write_root(tmp_path, "mine", {"train": rows(60), "test": rows(10, 60)}, ["yes", "no"])
    assert load_dataset(DataConfig(dataset_name="mine", root=str(tmp_path)), 0).numbered
    own = write_csv(tmp_path / "own.csv", 4, labels=("0", "1"))
    config = DataConfig(train_file=own, test_file=own)
    assert load_test_split(config, 0, ["yes", "no"], numbered=True).labels == [0, 1, 0, 1]
    with pytest.raises(DataError, match="has the number 0 for a label in row 1"):
        load_test_split(config, 0, ["yes", "no"])
    told = DataConfig(train_file=own, test_file=own, labels=["no", "yes"])  # in the order of the file's numbers
    assert load_test_split(told, 0, ["yes", "no"]).labels == [1, 0, 1, 0]


def test_data_that_orders_the_classes_otherwise_is_renumbered(tmp_path: Path) -> None:
    write_root(tmp_path, "mine", {"train": rows(60), "test": rows(4, 60)}, ["yes", "no"])
    config = DataConfig(dataset_name="mine", root=str(tmp_path))
    assert load_test_split(config, 0, ["yes", "no"]).labels == [0, 1, 0, 1]
    assert load_test_split(config, 0, ["no", "yes"]).labels == [1, 0, 1, 0]


def test_columns_are_found_and_the_same_in_every_file(tmp_path: Path) -> None:
    def write(name: str, start: int, text: str = "Review") -> str:
        lines = [f"{row};this is review {row}, in full;{('good', 'bad')[row % 2]}" for row in range(start, start + 30)]
        (tmp_path / name).write_text(f";{text};Verdict\n" + "\n".join(lines), encoding="utf-8")
        return str(tmp_path / name)

    config = DataConfig(train_file=write("a.csv", 0), test_file=write("b.csv", 30))
    dataset = load_dataset(config, 0)
    assert dataset.label_names == ["bad", "good"] and dataset.test.texts[0] == "this is review 30, in full"
    assert dataset.columns == {"text_column": "Review", "label_column": "Verdict"}
    assert dataset.notes[:3] == [
        f"{tmp_path / 'a.csv'}: semicolons part the fields (data.delimiter can say otherwise).",
        "The texts are the column 'Review' (data.text_column can name another).",
        "The labels are the column 'Verdict' (data.label_column can name another).",
    ]
    assert sum("The texts are" in note for note in dataset.notes) == 1
    assert load_test_split(config, 0, ["bad", "good"]) == dataset.test
    other = DataConfig(train_file=str(tmp_path / "a.csv"), test_file=write("c.csv", 30, text="text"))
    with pytest.raises(DataError, match=r"c\.csv has no column 'Review', which the training data has, only: unnamed"):
        load_dataset(other, 0)


def test_usual_or_named_columns_are_not_called_found(tmp_path: Path) -> None:
    config = DataConfig(train_file=write_csv(tmp_path / "a.csv", 60))
    assert load_dataset(config, 0).columns == {}
    named = DataConfig(train_file=write_csv(tmp_path / "a.csv", 60), text_column="text", label_column="label")
    assert load_dataset(named, 0).columns == {}


def test_blank_rare_and_contradicting_texts_are_said(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    texts = ["", " ", *["twice"] * 40, *(f"text {row}" for row in range(158))]
    lines = [{"text": text, "label": "rare" if row % 20 == 0 else "common"} for row, text in enumerate(texts)]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    others = {f"{part}_file": write_csv(tmp_path / f"{part}.csv", 9, labels=("rare", "common")) for part in PARTS}
    notes = load_dataset(DataConfig(train_file=str(path), **others), 0).notes
    assert f"{path}: 2 of 200 texts are empty or blank; they were kept." in notes
    assert any(note.startswith("Some classes have few of the ") and "'rare' " in note for note in notes)
    assert any("training texts occur with more than one label" in note for note in notes)


@pytest.mark.parametrize(
    "labels", ["no", {"0": "no"}, ["no", "no"], [["no"], ["yes"]], [], ["", "a"], ["a", None], [True, "\ud800"], 3]
)
def test_a_meta_file_with_odd_labels(tmp_path: Path, labels: object) -> None:
    write_root(tmp_path, "mine", {"train": rows(40)}, None)
    (tmp_path / "mine" / "meta.json").write_text(json.dumps({"labels": labels}), encoding="utf-8")
    with pytest.raises(DataError, match="for 'labels', where a list of different names was expected"):
        load_dataset(DataConfig(dataset_name="mine", root=str(tmp_path)), 0)


def test_names_no_folder_can_have(tmp_path: Path) -> None:
    write_root(tmp_path, "mine", {"train": rows(40)}, None)
    for name in ("x" * 300, "../" * 2000):
        with pytest.raises(DataError):
            load_dataset(DataConfig(dataset_name=name, root=str(tmp_path)), 0)
    with pytest.raises(DataError, match="which does not exist"):
        load_dataset(DataConfig(root="x" * 300), 0)


def test_one_file_is_carved_in_three(tmp_path: Path) -> None:
    config = DataConfig(train_file=write_csv(tmp_path / "a.csv", 300), validation_fraction=0.1)
    dataset = load_dataset(config, seed=1)
    assert [len(dataset.train), len(dataset.validation), len(dataset.test)] == [243, 27, 30]
    assert disjoint(dataset) and Counter(dataset.test.labels) == {0: 10, 1: 10, 2: 10}
    other = load_dataset(config, seed=2)
    assert other.test.texts == dataset.test.texts  # every seed is measured on the same texts
    assert other.validation.texts != dataset.validation.texts
    assert load_dataset(config, seed=1) == dataset


def test_validation_tests_when_there_is_no_test_split(tmp_path: Path) -> None:
    write_root(tmp_path, "mine", {"train": rows(100), "validation": rows(9, 100)}, ["no", "yes"])
    dataset = load_dataset(DataConfig(dataset_name="mine", root=str(tmp_path)), 0)
    assert len(dataset.test) == 9 and len(dataset.validation) == 10 and disjoint(dataset)
    assert "The split 'validation' is used for test." in dataset.notes


def test_what_the_user_says_validates_does(tmp_path: Path) -> None:
    config = DataConfig(
        train_file=write_csv(tmp_path / "a.csv", 100), validation_file=write_csv(tmp_path / "b.csv", 9, 100)
    )
    dataset = load_dataset(config, 0)
    assert len(dataset.validation) == 9 and len(dataset.test) == 10 and disjoint(dataset)


def test_samples_are_taken_after_carving(tmp_path: Path) -> None:
    config = DataConfig(
        train_file=write_csv(tmp_path / "a.csv", 300), train_samples=240, validation_samples=6, test_samples=500
    )
    dataset = load_dataset(config, 0)
    assert [len(dataset.train), len(dataset.validation), len(dataset.test)] == [240, 6, 30]
    assert Counter(dataset.train.labels) == {0: 80, 1: 80, 2: 80}
    assert "data.test_samples asks for 500 texts, but there are 30." in dataset.notes


def test_test_samples_are_the_same_for_every_seed(tmp_path: Path) -> None:
    train = write_csv(tmp_path / "a.csv", 90)
    carved = DataConfig(train_file=train, train_samples=30, test_samples=6)
    given = DataConfig(train_file=train, test_file=write_csv(tmp_path / "b.csv", 60), test_samples=6)
    for config in (carved, given):
        one, two = (load_dataset(config, seed) for seed in (0, 1))
        assert one.test == two.test and len(one.test) == 6 and one.train != two.train
        assert load_test_split(config, 2, one.label_names) == one.test


def test_a_label_unknown_to_training_is_named(tmp_path: Path) -> None:
    test = write_csv(tmp_path / "test.csv", 4, labels=("bad", "ugly"))
    config = DataConfig(train_file=write_csv(tmp_path / "a.csv", 30), test_file=test)
    with pytest.raises(DataError) as raised:
        load_dataset(config, 0)
    assert str(raised.value).startswith(
        f"{test} has the label 'ugly' in row 2, but the known classes are: bad, fair, good;"
    )


def test_one_class_is_not_a_classification(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has texts of 1 class, but a classifier needs two or more"):
        load_dataset(DataConfig(train_file=write_csv(tmp_path / "a.csv", 9, labels=("one",))), 0)


def test_too_few_samples_for_two_classes(tmp_path: Path) -> None:
    config = DataConfig(train_file=write_csv(tmp_path / "a.csv", 30), train_samples=1)
    with pytest.raises(DataError, match=r"have 1 class, .* raise data\.train_samples"):
        load_dataset(config, 0)


def test_a_class_without_texts_is_named(tmp_path: Path) -> None:
    test = write_csv(tmp_path / "test.csv", 4, start=30, labels=("bad", "good"))
    dataset = load_dataset(DataConfig(train_file=write_csv(tmp_path / "a.csv", 30), test_file=test), 0)
    assert "No test text has the label fair." in dataset.notes


def test_a_test_split_is_read_without_the_training_texts(tmp_path: Path) -> None:
    test = write_csv(tmp_path / "test.csv", 6)
    config = DataConfig(train_file=str(tmp_path / "elsewhere.csv"), test_file=test)
    labels = ["bad", "fair", "good"]
    assert load_test_split(config, 0, labels).labels == [0, 2, 1] * 2
    with pytest.raises(DataError, match="elsewhere"):
        load_test_split(DataConfig(train_file=str(tmp_path / "elsewhere.csv")), 0, labels)
    both = DataConfig(train_file=write_csv(tmp_path / "a.csv", 300))
    assert load_test_split(both, 0, labels) == load_dataset(both, 0).test
    with pytest.raises(DataError, match="evaluate on data with the same labels"):
        load_test_split(both, 0, ["good", "bad", "ugly"])


def test_texts_in_both_splits_are_reported(tmp_path: Path) -> None:
    config = DataConfig(train_file=write_csv(tmp_path / "a.csv", 30), test_file=write_csv(tmp_path / "b.csv", 9, 27))
    dataset = load_dataset(config, 0)
    in_training = {"text 27", "text 28", "text 29"} & set(dataset.train.texts)
    assert any(note.startswith(f"{len(in_training)} different texts occur both") for note in dataset.notes)


def test_own_files_named_like_a_set_keep_their_parts(tmp_path: Path) -> None:
    config = DataConfig(
        train_file=write_csv(tmp_path / "sst2.csv", 30),
        validation_file=write_csv(tmp_path / "v.csv", 4, 30),
        test_file=write_csv(tmp_path / "t.csv", 5, 34),
    )
    assert len(load_dataset(config, 0).test) == 5


def test_the_data_root_comes_before_everything_but_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_root(tmp_path, "movie_sentences", {"train": rows(40), "test": rows(10, 40)}, ["down", "up"])
    monkeypatch.setenv("LEXICAL_SAE_DATA", str(tmp_path))
    dataset = load_dataset(DataConfig(), 0)
    assert dataset.label_names == ["down", "up"]
    assert dataset.source == "Folder 'movie_sentences' of the data root (MOVIE_SENTENCES)."
    assert len(dataset.train) == 36 and len(dataset.test) == 10
    assert dataset.train.extra["groups"][0] == [dataset.train.texts[0].split()[1]]


def test_sst2_of_the_data_root_tests_on_validation(tmp_path: Path) -> None:
    splits = {"train": rows(50), "validation": rows(8, 50), "test": [{"text": "unlabelled", "label": -1}]}
    write_root(tmp_path, "sst2", splits, ["negative", "positive"])
    dataset = load_dataset(DataConfig(dataset_name="sst2", root=str(tmp_path)), 0)
    assert dataset.test.texts == [f"text {row}" for row in range(50, 58)]
    assert len(dataset.validation) == 5 and disjoint(dataset)


def test_yelp_is_the_folder_yelp_polarity(tmp_path: Path) -> None:
    write_root(tmp_path, "yelp_polarity", {"train": rows(40)}, None)
    dataset = load_dataset(DataConfig(dataset_name="yelp", root=str(tmp_path)), 0)
    assert dataset.name == "yelp" and dataset.label_names == ["0", "1"]


def test_tagging_sets_are_refused(tmp_path: Path) -> None:
    write_root(tmp_path, "conll2003", {"train": [{"tokens": ["a"], "tags": ["O"]}]}, None)
    with pytest.raises(DataError, match=r"^conll2003/train.jsonl.gz holds 'tokens' for tagging"):
        load_dataset(DataConfig(dataset_name="conll2003", root=str(tmp_path)), 0)


def test_a_data_root_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = str(tmp_path / "none")
    with pytest.raises(DataError) as raised:
        load_dataset(DataConfig(root=missing), 0)
    assert str(raised.value) == f"data.root names the folder {missing}, which does not exist; correct or unset it."
    monkeypatch.setenv("LEXICAL_SAE_DATA", missing)
    with pytest.raises(DataError, match=r"^LEXICAL_SAE_DATA names the folder"):
        load_dataset(DataConfig(), 0)


def test_a_damaged_meta_file(tmp_path: Path) -> None:
    write_root(tmp_path, "mine", {"train": rows(40)}, None)
    (tmp_path / "mine" / "meta.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="is not a JSON object; correct it, or remove it"):
        load_dataset(DataConfig(dataset_name="mine", root=str(tmp_path)), 0)


def test_the_fingerprint_follows_texts_and_labels(tmp_path: Path) -> None:
    config = DataConfig(train_file=write_csv(tmp_path / "a.csv", 60))
    first = dataset_fingerprint(load_dataset(config, 0))
    assert first == dataset_fingerprint(load_dataset(config, 0)) and len(first) == 64
    assert first != dataset_fingerprint(load_dataset(config, 1))
    write_csv(tmp_path / "a.csv", 60, labels=("bad", "good"))
    assert first != dataset_fingerprint(load_dataset(config, 0))


@pytest.mark.parametrize(("name", "test"), [("sst2", 872), ("yelp", 3800), ("banking77", 3080)])
def test_the_real_data_root(data_root: Path, name: str, test: int) -> None:
    dataset = load_dataset(DataConfig(dataset_name=name, root=str(data_root), train_samples=500), 0)
    assert len(dataset.train) == 500 and len(dataset.test) == test
    assert set(dataset.train.labels) == set(range(len(dataset.label_names)))
