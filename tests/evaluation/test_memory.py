"""What was measured before is not measured again, is the same to the last digit, and is never taken for another's."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from splade.config.schema import EvaluationConfig
from splade.data.types import TaggedSplit, TextSplit
from splade.evaluation.completeness import Completeness
from splade.evaluation.lexicon import Lexicon
from splade.evaluation.measure import MEASURES, Measure, References, Scope, Seen
from splade.evaluation.memory import Memory, remove_measured
from splade.evaluation.run import Evaluation, chosen_measures, evaluate
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask, TaggingTask, Task
from tests.builders import TAGS, build_model, tagged_sentences, toy_reviews

CONFIG = EvaluationConfig(batch_size=8)


@dataclass(frozen=True)
class Odd:
    """Everything that a file could round, cut or turn into something else."""

    third: float
    tiny: float
    whole: float
    number: int
    none: float | None
    nothing_known: float
    by_share: dict[float, list[int]]
    words: list[str]


ODD = Odd(1 / 3, 5e-324, 2.0, 2**53 + 1, None, math.inf, {0.1 + 0.2: [1], 1e-7: []}, ["ü\u2028\n", "\U0001f600", ""])


class OddMeasure(Measure[Odd]):
    """Finds `ODD`."""

    title, section = "Odd", "odd"
    updates = 0

    def update(self, seen: Seen) -> None:
        type(self).updates += 1

    def result(self) -> Odd:
        return ODD


@pytest.fixture
def odd() -> Iterator[type[OddMeasure]]:
    MEASURES.register("odd")(OddMeasure)
    OddMeasure.updates, OddMeasure.version = 0, 1
    yield OddMeasure
    MEASURES.unregister("odd")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[LexicalSAE, Task]:
    model = build_model(tmp_path_factory.mktemp("classifier"))
    model.labels = ["negative", "positive"]
    return model, ClassificationTask(TextSplit(*toy_reviews(24)), model.tokenizer, 64)


@pytest.fixture(scope="module")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ratings") / "ratings.tsv"
    path.write_text("good\t2\nawful\t-3\ndull\t-2\n")
    return path


def run(measured: tuple[LexicalSAE, Task], memory: Memory | None, config: Any = CONFIG, **changes: Any) -> Evaluation:
    model, task = measured
    others = {"share": 0.1, "references": References(lambda: model.backbone), "seed": 3} | changes
    return evaluate(model, task, config, **others, memory=memory)


def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the measures whose results are asked for, as they are."""
    asked: list[str] = []
    for measure in MEASURES.entries():

        def result(self: Measure[Any], of: Any = measure.result) -> Any:
            asked.append(self.name)
            return of(self)

        monkeypatch.setattr(measure, "result", result)
    return asked


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, odd: type[OddMeasure]) -> list[str]:
    return taken(monkeypatch)


class TestNothingIsMeasuredTwice:
    def test_not_even_a_batch_is_read(
        self, measured: tuple[LexicalSAE, Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = run(measured, Memory(tmp_path, "model", "data"))
        monkeypatch.setattr(type(measured[1]), "predict", None)
        again = run(measured, Memory(tmp_path, "model", "data"))
        assert again.results == first.results and again.findings == first.findings

    def test_only_what_is_new(self, measured: tuple[LexicalSAE, Task], tmp_path: Path, asked: list[str]) -> None:
        memory = Memory(tmp_path, "model", "data")
        run(measured, memory, replace(CONFIG, measures=["identity", "odd"]))
        assert asked == ["identity", "odd"] and OddMeasure.updates == 3
        run(measured, memory, replace(CONFIG, measures=["odd", "sparsity", "identity"]))
        assert asked == ["identity", "odd", "sparsity"] and OddMeasure.updates == 3
        run(measured, memory, replace(CONFIG, measures=["odd"]))
        assert len(asked) == 3

    def test_a_stopped_measurement_goes_on(
        self, measured: tuple[LexicalSAE, Task], tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        unwanted = {"lexicon", "documents"}  # no lexicon is named, and no text is longer than the model reads
        every = [one.name for one in chosen_measures(CONFIG, "classification") if one.name not in unwanted]
        keep = Memory.keep

        def until_completeness(self: Memory, measure: type[Measure[Any]], *rest: Any) -> None:
            if measure is Completeness:
                raise KeyboardInterrupt
            keep(self, measure, *rest)

        monkeypatch.setattr(Memory, "keep", until_completeness)
        with pytest.raises(KeyboardInterrupt):
            run(measured, Memory(tmp_path, "model", "data"))
        done = asked[: asked.index("completeness")]
        assert len(done) > 1
        monkeypatch.setattr(Memory, "keep", keep)
        asked.clear()
        run(measured, Memory(tmp_path, "model", "data"))
        assert asked == [name for name in every if name not in done]


class TestWhatComesBack:
    def texts(self, evaluation: Evaluation) -> str:
        """The results as a file has them: `1.0` and `1` are two."""
        return json.dumps(evaluation.to_json(), ensure_ascii=False)

    def test_of_a_classifier(
        self, measured: tuple[LexicalSAE, Task], ratings: Path, tmp_path: Path, odd: type[OddMeasure]
    ) -> None:
        config = replace(CONFIG, lexicon=str(ratings), completeness_shares=[0.1, 1 / 3, 0.123456789])
        first = run(measured, Memory(tmp_path, "model", "data"), config)
        again = run(measured, Memory(tmp_path, "model", "data"), config)
        assert again.results == first.results and again[odd] == ODD and type(again[odd].whole) is float
        assert list(again[Completeness].rows.shares) == [0.1, 1 / 3, 0.123456789]
        assert self.texts(again) == self.texts(first) == self.texts(run(measured, None, config))

    def test_of_a_tagger(self, tmp_path: Path, odd: type[OddMeasure]) -> None:
        model = build_model(tmp_path, "neighbourhood+dictionary", task="tagging", active=25)
        for name, (sentences, tags) in {"a": tagged_sentences(12), "b": ([["a", "film"]], [[0, 0]])}.items():
            task = TaggingTask(TaggedSplit(sentences, tags), model.tokenizer, 10, TAGS)
            first, again = (run((model, task), Memory(tmp_path / name, "model", "data")) for _ in range(2))
            assert again.results == first.results and self.texts(again) == self.texts(first)


def the_file(kept: Path) -> Path:
    """Where the one result of `OddMeasure` is."""
    [file] = kept.glob("odd-*.json")
    return file


class TestMeasuredAgain:
    @pytest.fixture
    def kept(self, measured: tuple[LexicalSAE, Task], tmp_path: Path, asked: list[str]) -> Path:
        """A folder with what two measures have found."""
        run(measured, Memory(tmp_path, "model", "data"), self.config)
        asked.clear()
        return tmp_path

    both = ("identity", "odd")

    @property
    def config(self) -> EvaluationConfig:
        return replace(CONFIG, measures=list(self.both))

    @pytest.mark.parametrize(("model", "data"), [("other", "data"), ("model", "other"), ("modeldata", "")])
    def test_of_another_model_or_other_data(
        self, measured: tuple[LexicalSAE, Task], kept: Path, asked: list[str], model: str, data: str
    ) -> None:
        run(measured, Memory(kept, model, data), self.config)
        assert tuple(asked) == self.both

    @pytest.mark.parametrize("changes", [{"share": 0.2}, {"seed": 4}, {"config": {"max_samples": 5}}], ids=str)
    def test_with_another_setting(
        self, measured: tuple[LexicalSAE, Task], kept: Path, asked: list[str], changes: dict[str, Any]
    ) -> None:
        config = replace(self.config, **changes.pop("config", {}))
        run(measured, Memory(kept, "model", "data"), config, **changes)
        assert tuple(asked) == self.both

    def test_not_with_a_setting_that_changes_no_figure_or_of_another_measure(
        self, measured: tuple[LexicalSAE, Task], kept: Path, asked: list[str], ratings: Path
    ) -> None:
        others = {"explain_samples": 1, "dense_baseline": True, "lexicon": str(ratings), "completeness_shares": [0.5]}
        run(measured, Memory(kept, "model", "data"), replace(self.config, **others))
        assert asked == []

    def test_with_another_setting_of_its_own(
        self, measured: tuple[LexicalSAE, Task], tmp_path: Path, asked: list[str]
    ) -> None:
        for shares, times in (([0.1], 1), ([0.1], 1), ([0.2], 2), ([0.1], 2), ([0.2], 2)):
            config = replace(CONFIG, measures=["completeness"], completeness_shares=shares)
            found = run(measured, Memory(tmp_path, "model", "data"), config)
            assert len(asked) == times and list(found[Completeness].rows.shares) == shares

    def test_with_other_ratings_in_the_same_file(
        self, measured: tuple[LexicalSAE, Task], tmp_path: Path, asked: list[str]
    ) -> None:
        config = replace(CONFIG, measures=["lexicon"], lexicon=str(tmp_path / "ratings"))
        coverages = set()
        for lines, times in (("good\t2\n", 1), ("good\t2\n", 1), ("good\t2\nawful\t-3\n", 2)):
            (tmp_path / "ratings").write_text(lines)
            found = run(measured, Memory(tmp_path / "memory", "model", "data"), config)
            coverages.add(found[Lexicon].lexicon.coverage)
            assert len(asked) == times
        assert len(coverages) == 2

    def test_by_a_measure_that_computes_something_else_now(
        self, measured: tuple[LexicalSAE, Task], kept: Path, asked: list[str]
    ) -> None:
        OddMeasure.version = 2
        run(measured, Memory(kept, "model", "data"), self.config)
        assert asked == ["odd"]

    @pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.95])
    def test_where_the_file_is_not_whole(
        self, measured: tuple[LexicalSAE, Task], kept: Path, asked: list[str], part: float
    ) -> None:
        file = the_file(kept)
        whole = file.read_bytes()
        file.write_bytes(whole[: int(part * len(whole))])
        assert run(measured, Memory(kept, "model", "data"), self.config)[OddMeasure] == ODD
        assert asked == ["odd"] and file.read_bytes() == whole

    @pytest.mark.parametrize(
        "damage",
        [
            {"third": "x"},
            {"third": None},
            {"by_share": {"x": [1]}},
            {"words": [1]},
            {"number": 1.5},
            [],
            None,
            "text",
            {},
        ],
        ids=str,
    )
    def test_where_the_file_has_something_else(
        self, measured: tuple[LexicalSAE, Task], kept: Path, asked: list[str], damage: Any
    ) -> None:
        file = the_file(kept)
        values = json.loads(file.read_text(encoding="utf-8"))
        values["result"] = values["result"] | damage if isinstance(damage, dict) and damage else damage
        file.write_text(json.dumps(values), encoding="utf-8")
        assert run(measured, Memory(kept, "model", "data"), self.config)[OddMeasure] == ODD and asked == ["odd"]

    @pytest.mark.parametrize("content", [b"[]", b"7", b"null", b'"of"', b"{}", b"\xff\xfe", b"[" * 100_000], ids=repr)
    def test_where_the_file_is_none_of_ours(
        self, measured: tuple[LexicalSAE, Task], kept: Path, asked: list[str], content: bytes
    ) -> None:
        the_file(kept).write_bytes(content)
        assert run(measured, Memory(kept, "model", "data"), self.config)[OddMeasure] == ODD and asked == ["odd"]


def test_without_a_memory_nothing_is_written(measured: tuple[LexicalSAE, Task], tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory", "model", "data")
    model, task = measured
    assert memory.recall(Completeness, Scope(model, task, CONFIG, 0.1)) is None
    run(measured, None, replace(CONFIG, measures=["identity"]))
    assert list(tmp_path.iterdir()) == []


def test_what_was_kept_under_other_settings_stays(measured: tuple[LexicalSAE, Task], tmp_path: Path) -> None:
    (tmp_path / "identity.json").write_text('{"of": "an age ago", "result": 1}')  # as files were once called
    memory = Memory(tmp_path, "model", "data")
    first, other, again = (run(measured, memory, replace(CONFIG, measures=["identity"]), seed=n) for n in (1, 2, 1))
    assert len(list(tmp_path.glob("identity-*.json"))) == 2
    assert first.results == again.results and first.results.keys() == other.results.keys()


def test_parts_are_of_one_setting(measured: tuple[LexicalSAE, Task], tmp_path: Path) -> None:
    model, task = measured
    memory, first, second = (
        Memory(tmp_path, "model", "data"),
        *(Scope(model, task, CONFIG, 0.1, seed=n) for n in (1, 2)),
    )
    memory.parts(Completeness, first).keep("half", [1])
    memory.parts(Completeness, second).keep("half", [2])
    assert memory.parts(Completeness, first).recall("half") == [1]
    memory.parts(Completeness, first).forget()
    assert memory.parts(Completeness, first).recall("half") is None
    assert memory.parts(Completeness, second).recall("half") == [2]


def test_only_what_measures_left_is_removed(tmp_path: Path) -> None:
    key = "0123456789abcdef"
    ours = ["odd.json", f"odd-{key}.json", "odd.part-a.json", f"odd-{key}.part-own-b.json"]
    others = ["odd-mine.json", "oddity.json", f"oddity-{key}.json", f"odd-{key}.json.bak", "notes.txt"]
    for name in (*ours, *others):
        (tmp_path / name).touch()
    remove_measured(tmp_path, ["odd"])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)
