"""The benchmarks at sizes of no interest: rivals compute the same thing, and reports have their documented keys."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from rich.console import Console

from benchmarks import __main__ as command
from benchmarks import cold, encode, explain, projection, training, whole
from benchmarks.measure import Goal, Measurement, Result, Rival, compare, once, seconds_ratio
from benchmarks.projection import Problem, Size
from splade.errors import DataError, LexicalSAEError
from tests.builders import toy_reviews
from tests.rivals import build_block, build_nothing

TINY = Size(batch=3, length=5, width=8, vocab=600, active=10)
MEASUREMENT_KEYS = {"name", "best_s", "median_s", "growth_mb", "peak_mb", "facts"}
on_linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from Linux's /proc")


def _measurement(name: str, *seconds: float) -> Measurement:
    return Measurement(name, list(seconds), 1.0, 2.0, {})


def _compare_here(rivals: Sequence[Rival], rounds: int) -> dict[str, Measurement]:
    """`compare` without its processes, whose imports take far longer than these sizes do."""
    return {
        each.name: Measurement(each.name, [1.0] * rounds, 1.0, 2.0, each.build(**each.options)()) for each in rivals
    }


@on_linux
def test_memory_is_what_a_call_adds() -> None:
    found = compare([Rival("a", build_block, {"megabytes": 96}), Rival("b", build_block, {"megabytes": 8})], rounds=2)
    assert [len(each.seconds) for each in found.values()] == [2, 2]
    assert found["a"].growth_mb == pytest.approx(96, abs=12)
    assert found["b"].growth_mb < 24
    assert found["a"].peak_mb > found["a"].growth_mb  # the interpreter is there too
    assert found["a"].facts == {"last": 1.0}


@on_linux
def test_work_done_once_is_timed_and_its_memory_read_in_the_same_call() -> None:
    found = once([Rival("a", build_block, {"megabytes": 96})])
    assert len(found["a"].seconds) == 1 and found["a"].seconds[0] > 0
    assert found["a"].growth_mb == pytest.approx(96, abs=12) and found["a"].facts == {"last": 1.0}


@on_linux
def test_an_error_of_a_rival_reaches_the_caller_as_it_is() -> None:
    with pytest.raises(DataError, match="nothing to measure"):
        compare([Rival("a", build_nothing)], rounds=1)


def test_a_ratio_is_taken_round_by_round() -> None:
    # The machine was ten times slower in the second round; each round's ratio is still 2.
    one, other = _measurement("one", 2.0, 20.0, 2.2), _measurement("other", 1.0, 10.0, 1.1)
    assert seconds_ratio(one, other) == pytest.approx(2.0)


@pytest.mark.parametrize(("value", "at_most", "met"), [(1.2, True, True), (1.4, True, False), (1.4, False, True)])
def test_goal(value: float, at_most: bool, met: bool) -> None:
    assert Goal("x", value, 1.3, at_most).to_json() == {
        "what": "x",
        "value": value,
        "goal": "<= 1.3" if at_most else ">= 1.3",
        "met": met,
    }


def _gradients(problem: Problem, loss_of: projection.Loss) -> tuple[float, torch.Tensor, torch.Tensor]:
    loss, _ = loss_of(problem)
    loss.backward()
    hidden, bias = problem.sequence.hidden.grad, problem.encoder.bias.grad
    assert hidden is not None and bias is not None
    return float(loss.detach()), hidden, bias


def test_rivals_of_the_projection_agree_in_value_and_gradient() -> None:
    plain = _gradients(projection.make_problem(TINY, training=True), projection.plain_loss)
    ours = _gradients(projection.make_problem(TINY, training=True), projection.our_loss)
    assert plain[0] == pytest.approx(ours[0], rel=1e-4)
    assert ours[1].abs().sum() > 0
    torch.testing.assert_close(plain[1], ours[1], rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(plain[2], ours[2], rtol=1e-3, atol=1e-4)


def test_thresholds_let_about_the_wanted_number_through() -> None:
    size = Size(batch=8, length=16, width=32, vocab=4000, active=100)
    with torch.no_grad():
        _, facts = projection.our_loss(projection.make_problem(size, training=False))
    assert facts["active"] == pytest.approx(100, rel=0.25)
    assert facts["kept"] == facts["active"]  # in use, what is not active is dropped


@pytest.mark.parametrize("blocks", [1, 8])
def test_the_bare_product_runs_in_any_number_of_blocks(blocks: int) -> None:
    assert projection.build_gemm(Size(batch=2, length=3, width=4, vocab=101), blocks)() == {"blocks": blocks}


def test_projection_reports_every_size_and_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection, "compare", _compare_here)
    results = projection.run(rounds=1, vocabularies=(600, 900), actives=(10,), lengths=(4, 8), shape=TINY)
    small, large, lengths = (result.to_json() for result in results)
    assert all(set(each) == MEASUREMENT_KEYS for each in small["measurements"])
    assert [len(each["goals"]) for each in (small, large, lengths)] == [3, 1, 1]
    assert len(small["measurements"]) == 5 and len(large["measurements"]) == 3  # the plain version only once
    assert small["setting"]["vocab"] == 600 and lengths["setting"]["length"] == [4, 8]


def test_explanations_are_compared_by_their_cost_a_text(
    tiny_backbone_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compare_once(rivals: Sequence[Rival], rounds: int) -> dict[str, Measurement]:
        return {each.name: Measurement(each.name, [2.0], 1.0, 2.0, each.build(**each.options)()) for each in rivals}

    monkeypatch.setattr(explain, "compare", compare_once)
    monkeypatch.setattr(explain, "sentences", lambda count: tuple(toy_reviews(count)[0]))
    monkeypatch.setattr(explain, "RIVALS", {"integrated_gradients": (2, 30.0)})
    (result,) = explain.run(rounds=1, count=8, backbone=str(tiny_backbone_path))
    passes = {each.name: each.facts["passes_a_text"] for each in result.measurements}
    assert passes[explain.PREDICT] == passes[explain.EXPLAIN] == 1 and passes["integrated_gradients"] > 50
    assert passes[explain.INTERACT] == 1 + len(toy_reviews(8)[0][0].split())  # of one of the eight texts
    one_text = pytest.approx(8 / passes[explain.INTERACT])
    assert [goal.value for goal in result.goals] == [1.0, one_text, 4.0]  # the same seconds, for fewer texts
    assert [goal.met for goal in result.goals] == [True, one_text.expected <= 1.1, False]


def test_encode_reports_every_rival_and_goal(
    tiny_backbone_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentence_transformers", reason="comes with the extra 'bench'")
    monkeypatch.setattr(encode, "compare", _compare_here)
    _write_imdb(tmp_path, toy_reviews(9)[0])
    options = {"backbone": str(tiny_backbone_path), "max_length": 16, "batch_size": 4, "active": 10}
    (result,) = encode.run(rounds=1, count=9, root=str(tmp_path), **options)
    figures = result.to_json()
    assert [each["name"] for each in figures["measurements"]] == [
        "SparseEncoder",
        "full",
        "neighbourhood",
        "neighbourhood, split words known",
        "bare backbone",
        "bare backbone and product",
    ]
    assert all(each["facts"]["texts_per_s"] == 9.0 for each in figures["measurements"])
    assert [each["goal"] for each in figures["goals"]] == [">= 2.5", "<= 0.45", ">= 4.5", "<= 0.45"]


def test_a_cold_start_is_told_part_by_part(tiny_backbone_path: Path) -> None:
    (result,) = cold.run(rounds=1, backbone=str(tiny_backbone_path))
    command, torch_alone, libraries, *parts = result.measurements
    seconds = {each.name.strip(): each.best for each in parts}
    assert list(seconds)[:4] == ["interpreter", "command line", "import torch", "other imports"]
    assert {name.partition(": ")[2] for name in seconds if name.startswith("model folder")} == {
        *("backbone", "tokenizer", "vocabulary", "weights", "the rest")
    }
    assert all(value >= 0 for value in seconds.values()) and 0 < torch_alone.best < libraries.best
    assert [goal.value for goal in result.goals] == [command.best / libraries.best, command.best]


def test_a_process_that_fails_is_no_measurement(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LexicalSAEError, match="failed"):
        cold.run_process("-c", "raise SystemExit('no room')")
    assert "no room" in capfd.readouterr().err


@pytest.mark.parametrize("dense", [True, False])
def test_a_call_trains_on_from_the_last_one(tiny_backbone_path: Path, tmp_path: Path, dense: bool) -> None:
    _write_imdb(tmp_path, toy_reviews(64)[0])
    config = _training_job(tiny_backbone_path).load_for_steps(str(tmp_path))
    work = training.build(config, dense, steps=3)
    first, second = work(), work()
    assert first["rows"] == second["rows"] == 3 * 4
    assert ("active" in first) is not dense
    assert not Path(config.output_dir).exists()  # nothing is written


def test_training_reports_both_rivals_and_goals_and_leaves_out_what_is_missing(
    tiny_backbone_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(training, "compare", _compare_here)
    _write_imdb(tmp_path, toy_reviews(64)[0])
    job = _training_job(tiny_backbone_path)
    missing = training.Job("Elsewhere", job.config, job.variation, (*job.settings, "data.train_file=nowhere.csv"))
    (result,) = training.run(rounds=2, steps=2, jobs=(missing, job), root=str(tmp_path))
    figures = result.to_json()
    assert [each["name"] for each in figures["measurements"]] == ["dense head", "Lexical-SAE"]
    assert [each["goal"] for each in figures["goals"]] == ["<= 2", "<= 2"]
    assert all(each["facts"]["s_a_step"] == 0.5 for each in figures["measurements"])
    assert "Elsewhere: " in capsys.readouterr().err
    with pytest.raises(DataError, match="None of the benchmark's data sets is there"):
        training.run(jobs=(missing,), root=str(tmp_path))


def test_whole_trainings_go_to_their_end_and_leave_nothing(
    tiny_backbone_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "once", lambda rivals: _compare_here(rivals, 1))
    _write_imdb(tmp_path, toy_reviews(64)[0])
    job = _training_job(tiny_backbone_path)
    job = training.Job(job.title, job.config, job.variation, (*job.settings, f"output_dir={tmp_path / 'mine'}"))
    (result,) = whole.run(jobs=(job,), root=str(tmp_path))
    dense, ours = result.measurements
    steps = job.load(str(tmp_path)).training.epochs * math.ceil(0.9 * 64 / 4)
    assert dense.name == "dense head" and dense.facts["steps"] == ours.facts["steps"] == steps
    assert "active" in ours.facts and "active" not in dense.facts and 0 <= dense.facts["accuracy"] <= 1
    ratio = ours.facts["s_a_step"] / dense.facts["s_a_step"]
    assert [goal.value for goal in result.goals] == [ratio, 1.0]
    assert [path.name for path in tmp_path.iterdir()] == ["imdb"]


def test_whole_trainings_are_done_only_when_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    benchmarks = {name: lambda rounds, name=name: called.append(name) or [] for name in command.BENCHMARKS}
    monkeypatch.setattr(command, "BENCHMARKS", benchmarks)
    monkeypatch.setattr("sys.argv", ["benchmarks", "--output", str(tmp_path / "b.json")])
    assert command.main() == 0 and called == ["projection", "training", "encode", "explain", "serve", "cold"]
    monkeypatch.setattr("sys.argv", ["benchmarks", "whole", "--output", str(tmp_path / "b.json")])
    assert command.main() == 0 and called[6:] == ["whole"]


@pytest.mark.parametrize("job", training.JOBS, ids=lambda job: job.title)
def test_jobs_are_those_of_the_configs(job: training.Job) -> None:
    config = job.load_for_steps("nowhere")
    assert config.data.root == "nowhere" and config.training.max_steps == training.RUN_STEPS
    assert (config.task == "tagging") is ("tagging" in job.title)


def _training_job(backbone: Path) -> training.Job:
    settings = (f"model.name={backbone}", "training.batch_size=4", "training.active_target=5", "data.max_length=16")
    return training.Job("reviews", "multi_dataset_minilm.yaml", "imdb", settings)


def _job(folder: Path) -> encode.Job:
    return encode.Job(tuple(toy_reviews(9)[0]), backbone=str(folder), max_length=16, batch_size=4, active=10)


def test_an_alias_is_the_folder_that_it_stands_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(encode.ALIASES["minilm"]), "locate", lambda self, alias: tmp_path / alias)
    assert encode._folder("minilm") == str(tmp_path / "minilm") and encode._folder("some/model") == "some/model"


@pytest.mark.parametrize("support", encode.SUPPORTS)
def test_ours_encodes_every_text(tiny_backbone_path: Path, support: str) -> None:
    facts = encode.build_ours(_job(tiny_backbone_path), support)()  # type: ignore[arg-type]
    assert facts["encoded"] == 9 and 0 < facts["active"] < 60
    for until in ("backbone", "product"):
        assert encode.build_ours(_job(tiny_backbone_path), support, until)() == {"encoded": 9}  # type: ignore[arg-type]


def test_the_sparse_encoder_is_as_sparse_as_ours(tiny_backbone_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="comes with the extra 'bench'")
    facts = encode.build_sparse_encoder(_job(tiny_backbone_path))()
    assert facts["encoded"] == 9 and facts["active"] == pytest.approx(10, rel=0.5)


def _write_imdb(root: Path, texts: list[str]) -> None:
    (root / "imdb").mkdir()
    lines = "\n".join(json.dumps({"text": text, "label": i % 2}) for i, text in enumerate(texts))
    for split in ("train", "test"):
        (root / "imdb" / f"{split}.jsonl").write_text(lines)


def test_texts_come_from_the_data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_imdb(tmp_path, ["one", "two", "three"])
    assert encode.imdb_texts(2, str(tmp_path))[0] == ("one", "two")
    monkeypatch.setenv("LEXICAL_SAE_DATA", str(tmp_path))
    assert encode.imdb_texts(3)[0] == ("one", "two", "three")
    with pytest.raises(DataError, match="has 3 texts, but the benchmark encodes 4"):
        encode.imdb_texts(4)


def test_without_its_rival_the_comparison_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(LexicalSAEError, match="sentence-transformers"):
        encode.run()


def test_figures_are_shown_and_saved_beside_earlier_ones(tmp_path: Path) -> None:
    result = Result("A title", {"batch": 3}, [_measurement("ours", 0.5)], [Goal("faster", 5.0, 4.0, False)])
    path = tmp_path / "new" / "benchmarks.json"
    command.save("encode", [result], path)
    command.save("projection", [result], path)
    figures = json.loads(path.read_text())
    assert set(figures) == {"encode", "projection"}
    assert figures["projection"]["results"] == [result.to_json()]
    console = Console(record=True, width=120)
    command.show(result, console)
    text = console.export_text()
    assert "A title" in text and "0.500" in text and "faster: 5.00 (goal >= 4) met" in text


def test_an_unknown_benchmark_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "projektion"])
    with pytest.raises(SystemExit) as end:
        command.main()
    assert end.value.code == 2
    assert "the choices are: projection, training, encode, explain, serve, cold, whole" in capsys.readouterr().err
