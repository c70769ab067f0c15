"""Studies of variations through the command line: what they print, leave and refuse."""

from __future__ import annotations

import json
import math
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from splade.cli.studies import load_study
from splade.config.schema import Config
from splade.studies.intervals import spread
from splade.studies.plots import draw_frontier, grounded, name_points
from splade.studies.summary import Row
from tests.runs import ToyRun, expect_sentence, read_json

RunStudy = Callable[..., Result]
TWO = {"short": {"training.max_steps": 5}, "long": {}}


class TestAblation:
    def test_table_plot_and_results(self, run_study_cli: RunStudy, trained: list[Config], tmp_path: Path) -> None:
        done = run_study_cli("ablation", "--seeds", "0,1,2")
        assert done.exit_code == 0, done.output
        folder = tmp_path / "out" / "ablation"
        assert len(trained) == 18 and f"Results: {folder}" in done.stdout
        results = read_json(folder / "results.json")
        names = ["cajt", *(f"without {x}" for x in ("completeness", "separation", "sparsity", "frequency")), "baseline"]
        assert [row["name"] for row in results["variations"]] == names
        assert results["seeds"] == [0, 1, 2] and "t-interval" in results["interval"]
        accuracy = results["variations"][1]["figures"]["accuracy"]
        assert accuracy["values"] == pytest.approx([0.8, 0.81, 0.82])
        assert accuracy["high"] == pytest.approx(spread([0.8, 0.81, 0.82]).to_json()["high"])
        assert results["variations"][1]["settings"] == {"training.loss_weights.completeness": 0.0}
        assert results["variations"][1]["runs"] == [f"without_completeness/seed_{seed}" for seed in range(3)]
        assert not any("grounded" in row for row in results["variations"])  # there was no lexicon to measure it by
        assert "81.0 ± 2.5" in done.stdout and "without frequency" in done.stdout
        table = (folder / "table.md").read_text(encoding="utf-8")
        assert table.count("\n| ") == 7 and "| 81.0 ± 2.5 |" in table
        assert (folder / "ablation.png").stat().st_size > 5000
        assert "without frequency" in (folder / "ablation.svg").read_text()

    def test_again_it_only_reads(self, run_study_cli: RunStudy, trained: list[Config]) -> None:
        first, second = (run_study_cli("ablation") for _ in range(2))
        assert len(trained) == 6 and first.stdout == second.stdout
        assert "6 of 6 parts are finished and are not run again." in second.stderr


class TestFrontier:
    def test_trains_measures_and_draws(self, run_study_cli: RunStudy, tmp_path: Path) -> None:
        """The one study here whose parts are really trained."""
        ratings = tmp_path / "ratings.tsv"
        ratings.write_text("charming\t2.0\ndull\t-2.0\nwitty\t1.5\n")
        done = run_study_cli("frontier", study__variations=TWO, evaluation__lexicon=str(ratings))
        assert done.exit_code == 0, done.output
        folder = tmp_path / "out" / "frontier"
        rows = read_json(folder / "results.json")["variations"]
        steps = [read_json(folder / row["runs"][0] / "results.json")["training"]["steps"] for row in rows]
        assert [row["name"] for row in rows] == ["short", "long"] and steps == [5, 6]
        for row in rows:
            figures = row["figures"]
            product = figures["rated_share"]["mean"] * figures["right_sign"]["mean"]
            assert row["grounded"] == pytest.approx(product) and figures["accuracy"]["low"] is None
        for name in ("frontier.png", "frontier.svg", "figures.png", "figures.svg", "table.md"):
            assert (folder / name).stat().st_size > 100
        assert "rated words, with the right sign" in (folder / "frontier.svg").read_text()

    def test_a_dry_run_builds_every_part_and_writes_nothing(self, run_study_cli: RunStudy, tmp_path: Path) -> None:
        done = run_study_cli("frontier", "--dry-run", study__variations=TWO)
        assert done.stdout.splitlines() == [
            "short, seed 42 (to run): 5 steps; training.max_steps=5",
            "long, seed 42 (to run): 6 steps; as in the file",
        ]
        assert not (tmp_path / "out").exists()

    def test_a_dry_run_names_the_part_that_cannot_be_built_and_goes_on(self, run_study_cli: RunStudy) -> None:
        bad = {"bad": {"model.name": "nowhere/at-all"}, **TWO}
        done = run_study_cli("frontier", "--dry-run", study__variations=bad)
        lines = done.stdout.splitlines()
        assert done.exit_code == 2 and [line.split(",")[0] for line in lines] == ["bad", "short", "long"]
        assert "nowhere/at-all" in lines[0] and "1 of 3 parts cannot be run" in done.stderr


def test_grounded_is_the_mean_over_seeds_of_what_each_seed_has() -> None:
    figures = {"rated_share": spread([0.2, 0.8]), "right_sign": spread([0.5, 1.0])}
    assert grounded(Row("a", figures, {})) == pytest.approx((0.1 + 0.8) / 2)
    assert grounded(Row("a", figures, {}), rated=False) is None


def test_what_was_not_measured_is_not_drawn_as_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[float] = []
    scatter = Axes.scatter
    monkeypatch.setattr(Axes, "scatter", lambda *args, **kw: shares.extend(kw["c"]) or scatter(*args, **kw))  # type: ignore[func-returns-value]
    drawn = {"accuracy": spread([0.9]), "active_tokens": spread([12.0])}
    rated = drawn | {"rated_share": spread([0.5]), "right_sign": spread([0.9])}
    draw_frontier(tmp_path, "frontier", [Row("rated", rated, {}), Row("unrated", drawn, {})])
    assert shares[0] == pytest.approx(45) and math.isnan(shares[1])


class TestMultiDataset:
    def test_several_sets_of_a_data_root(
        self, run_study_cli: RunStudy, trained: list[Config], toy_run: ToyRun, tmp_path: Path
    ) -> None:
        for name in ("sst2", "ag_news", "imdb"):
            (tmp_path / "root" / name).mkdir(parents=True)
            for part in ("train", "validation", "test"):
                text = (toy_run.data / f"{part}.csv").read_text()
                (tmp_path / "root" / name / f"{part}.csv").write_text(text)
        files = {f"data__{part}_file": None for part in ("train", "validation", "test")}
        done = run_study_cli("multi-dataset", data__root=str(tmp_path / "root"), **files)
        assert done.exit_code == 0, done.output
        assert [config.data.dataset_name for config in trained] == ["sst2", "ag_news", "imdb"]


def test_names_of_points_do_not_cover_each_other() -> None:
    canvas = Canvas(figsize=(6, 4))
    axes = canvas.add_subplot()
    places = {"one name": (5.0, 5.0), "another": (5.3, 5.1), "a third of them": (5.0, 4.6), "at the edge": (0.1, 5.0)}
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 10)
    name_points(canvas, axes, places)
    assert sorted(text.get_text() for text in axes.texts) == sorted(places)
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(box.count_overlaps(boxes[:index]) for index, box in enumerate(boxes))
    assert all(box.x0 >= axes.get_window_extent().x0 for box in boxes)


def test_seeds_asked_for_go_before_a_variations_own() -> None:
    sets = ["study.variations={a: {study.seeds: [0, 1], training.epochs: 3}}"]
    settings = load_study(None, sets, "7")
    assert settings.study.seeds == [7] and settings.study.variations == {"a": {"training.epochs": 3}}
    assert load_study(None, sets, None).study.variations["a"]["study.seeds"] == [0, 1]


class TestMistakes:
    @pytest.mark.parametrize(
        ("arguments", "parts"),
        [
            (["--seeds", "0,x"], ("--seeds was given '0,x'", "0,1,2")),
            (["--seeds", "1,1"], ("study.seeds must not name a number twice",)),
            (["--set", "study.variations={a: {model.head: mlp}}"], ("study variation 'a': model.head must be one of",)),
            (["--set", "study.grid={training.epoch: [1]}"], ("study variation 'epoch 1': unknown key",)),
            (["--set", "training.recipe=baseline"], ("no circuit loss to leave out",)),
            (["--config", "none.yaml"], ("There is no settings file none.yaml",)),
        ],
    )
    def test_one_sentence(
        self, run_study_cli: RunStudy, trained: list[Config], tmp_path: Path, arguments: list[str], parts: list[str]
    ) -> None:
        expect_sentence(run_study_cli("ablation", *arguments), *parts)
        assert trained == [] and not (tmp_path / "out").exists()

    def test_other_settings_there(self, run_study_cli: RunStudy, trained: list[Config]) -> None:
        run_study_cli("ablation")
        done = run_study_cli("ablation", training__epochs=9)
        expect_sentence(done, "other settings or data (cajt, seed 42, ", "--overwrite", "output_dir")
        assert run_study_cli("ablation", "--overwrite", training__epochs=9).exit_code == 0


@pytest.mark.parametrize(
    "name", ["ablation", "multi_dataset", "bcos_ablation", "frontier", "sota_comparison", "long_context"]
)
def test_the_scripts_of_the_documents(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [f"run_{name}", "--config", "nowhere.yaml", "--seeds", "1"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(f"splade.scripts.run_{name}", run_name="__main__")
    assert ended.value.code == 2 and "There is no settings file nowhere.yaml" in capsys.readouterr().err


def test_results_are_plain_json(run_study_cli: RunStudy, trained: list[Config], tmp_path: Path) -> None:
    run_study_cli("ablation")
    text = (tmp_path / "out" / "ablation" / "results.json").read_text(encoding="utf-8")
    assert json.loads(text) and "NaN" not in text
