"""The bookkeeping of a study: what is run, what is not run again, what is refused."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from splade.config.schema import Config
from splade.config.study import StudyConfig
from splade.errors import BackboneError, ConfigError, DataError, LexicalSAEError, TrainingError
from splade.pipelines import run_experiment, setup_and_train
from splade.studies import study
from splade.studies.study import Part, part_states, plan, run_study
from splade.studies.variations import Variation
from splade.training.interrupt import Interrupted
from splade.training.loop import Trainer
from splade.training.validation import Validation
from tests.runs import ToyRun, read_json, weights

VARIATIONS = [Variation("as it is", {}), Variation("no separation", {"training.loss_weights.separation": 0})]
Quick = Callable[..., Config]


class TestPlan:
    def test_every_variation_with_every_seed(self, quick: Quick, tmp_path: Path) -> None:
        parts = plan("ablation", quick(study__seeds=[0, 1]), VARIATIONS)
        below = tmp_path / "out" / "ablation"
        assert [part.folder for part in parts] == [
            below / name / seed for name in ("as_it_is", "no_separation") for seed in ("seed_0", "seed_1")
        ]
        assert [part.config.seed for part in parts] == [0, 1, 0, 1]
        assert [part.config.training.loss_weights.separation for part in parts] == [1.0, 1.0, 0.0, 0.0]
        assert all(part.config.study == StudyConfig() for part in parts)
        assert not (tmp_path / "out").exists()

    def test_without_seeds_the_configs_own(self, quick: Quick) -> None:
        assert [part.config.seed for part in plan("ablation", quick(seed=7), VARIATIONS)] == [7, 7]

    def test_a_variation_may_name_its_own_seeds(self, quick: Quick) -> None:
        variations = [Variation("often", {"study.seeds": [0, 1, 2]}), Variation("once", {})]
        parts = plan("ablation", quick(seed=7), variations)
        assert [part.config.seed for part in parts] == [0, 1, 2, 7]
        assert all(part.config.study == StudyConfig() for part in parts)

    def test_a_wrong_setting_names_its_variation(self, quick: Quick) -> None:
        with pytest.raises(ConfigError, match=r"^study variation 'x': unknown key 'training.epoch'.*'epochs'\?$"):
            plan("ablation", quick(), [Variation("x", {"training.epoch": 3})])

    def test_folders_must_differ(self, quick: Quick) -> None:
        with pytest.raises(ConfigError, match="would have the same folder"):
            plan("ablation", quick(), [Variation("a b", {}), Variation("a/b", {})])

    @pytest.mark.parametrize("name", ["results.json", "table.md", "Ablation.PNG", "ablation.svg"])
    def test_no_folder_has_the_name_of_the_studys_own_files(self, quick: Quick, name: str) -> None:
        (part,) = plan("ablation", quick(), [Variation(name, {})])
        assert part.folder.parent.name == name.replace(".", "_")


class TestSkipping:
    def test_a_finished_part_is_read_and_not_run_again(self, quick: Quick, trained: list[Config]) -> None:
        config = quick(study__seeds=[0, 1])
        first = run_study("ablation", config, VARIATIONS)
        assert len(trained) == 4
        assert run_study("ablation", config, VARIATIONS).results == first.results and len(trained) == 4
        assert [r["accuracy"] for r in first.results["as it is"]] == [0.8, 0.81]

    def test_a_new_seed_runs_only_itself(self, quick: Quick, trained: list[Config]) -> None:
        run_study("ablation", quick(study__seeds=[0]), VARIATIONS)
        run_study("ablation", quick(study__seeds=[0, 3]), VARIATIONS)
        assert [config.seed for config in trained] == [0, 0, 3, 3]

    def test_half_written_results_do_not_count(self, quick: Quick, trained: list[Config], tmp_path: Path) -> None:
        run_study("ablation", quick(), VARIATIONS)
        results = tmp_path / "out" / "ablation" / "as_it_is" / "seed_42" / "results.json"
        results.write_text(results.read_text()[:100])
        run_study("ablation", quick(), VARIATIONS)
        assert len(trained) == 3

    @pytest.mark.parametrize("change", [{"training__epochs": 5}, {"evaluation__dense_baseline": True}])
    def test_changed_settings_are_refused_then_run_again(
        self, quick: Quick, trained: list[Config], change: dict[str, Any]
    ) -> None:
        run_study("ablation", quick(), VARIATIONS)
        with pytest.raises(ConfigError, match=r"other settings or data \(as it is, seed 42, no separation, seed 42\)"):
            run_study("ablation", quick(**change), VARIATIONS)
        assert len(trained) == 2
        run_study("ablation", quick(**change), VARIATIONS, overwrite=True)
        assert len(trained) == 4

    def test_overwriting_leaves_parts_that_did_not_change(self, quick: Quick, trained: list[Config]) -> None:
        run_study("ablation", quick(), VARIATIONS)
        other = [VARIATIONS[0], Variation("no separation", {"training.epochs": 5})]
        run_study("ablation", quick(), other, overwrite=True)
        assert [config.training.epochs for config in trained] == [2, 2, 5]

    def test_changed_data_are_noticed(self, quick: Quick, trained: list[Config], tmp_path: Path) -> None:
        test = tmp_path / "test.csv"
        test.write_text("text,label\ngood,positive\nbad,negative\n")
        run_study("ablation", quick(data__test_file=str(test)), VARIATIONS)
        test.write_text("text,label\nfine,positive\nbad,negative\n")
        with pytest.raises(ConfigError, match="other settings or data"):
            run_study("ablation", quick(data__test_file=str(test)), VARIATIONS)

    def test_missing_data_show_before_the_first_run(self, quick: Quick, trained: list[Config]) -> None:
        with pytest.raises(DataError, match=r"nowhere\.csv"):
            run_study("ablation", quick(), [VARIATIONS[0], Variation("x", {"data.test_file": "nowhere.csv"})])
        assert trained == []


class TestFailing:
    def test_a_part_that_cannot_be_trained_does_not_stop_the_others(
        self, quick: Quick, trained: list[Config], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        train = study.run_experiment

        def sometimes(config: Config, **options: Any) -> dict[str, Any]:
            if config.training.loss_weights.separation:
                raise TrainingError("The loss became nan.")
            return train(config, **options)

        monkeypatch.setattr(study, "run_experiment", sometimes)
        run = run_study("ablation", quick(), VARIATIONS)
        assert run.notes == ["as it is, seed 42: The loss became nan."]
        assert [len(results) for results in run.results.values()] == [0, 1]
        with pytest.raises(TrainingError, match=r"^The loss became nan\.$"):
            run_study("ablation", quick(), VARIATIONS[:1])

    def test_nor_does_one_that_cannot_be_built(
        self, run_study_cli: Callable[..., Result], quick: Quick, tmp_path: Path
    ) -> None:
        """Really built: a backbone that is nowhere, a word of two senses that is no token, a missing lexicon."""
        variations = {
            "no backbone": {"model.name": "nobody/nothing"},
            "no sense": {"model.senses": 2, "model.sense_tokens": ["zzzqqq"]},
            "no lexicon": {"evaluation.lexicon": "nowhere.tsv"},
            "ok": {},
        }
        done = run_study_cli("ablation", study__variations=variations)
        assert done.exit_code == 0, done.output
        folder = tmp_path / "out" / "ablation"
        results = read_json(folder / "results.json")
        names = [note.partition(",")[0] for note in results["notes"]]
        assert names == ["no backbone", "no sense", "no lexicon"] and "nobody/nothing" in results["notes"][0]
        assert [bool(row["figures"]) for row in results["variations"]] == [False, False, False, True]
        assert [row["runs"] for row in results["variations"]] == [[], [], [], ["ok/seed_42"]]
        assert all(note in (folder / "table.md").read_text(encoding="utf-8") for note in results["notes"])
        assert (folder / "ablation.png").exists() and "no sense, seed 42: " in done.stdout

    def test_results_of_other_settings_do_not_stand_in_for_a_part_that_failed(
        self, quick: Quick, trained: list[Config]
    ) -> None:
        run_study("ablation", quick(), VARIATIONS)
        other = [VARIATIONS[0], Variation("no separation", {"model.name": "nobody/nothing"})]

        def build(config: Config, **_: Any) -> None:
            raise BackboneError(f"There is no {config.model.name}.")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(study, "run_experiment", build)
            run = run_study("ablation", quick(), other, overwrite=True)
        assert [part.variation.name for part in run.finished] == ["as it is"]
        assert run.results["no separation"] == [] and "There is no nobody/nothing." in run.notes[0]

    @pytest.mark.parametrize(
        ("reason", "sentence"),
        [("There is no such backbone.", r"^There is no such"), ("", r"^No part of the study could be run\. as it is")],
    )
    def test_all_parts_fail(self, quick: Quick, monkeypatch: pytest.MonkeyPatch, reason: str, sentence: str) -> None:
        def build(config: Config, **_: Any) -> None:
            raise BackboneError(reason or f"{config.output_dir} cannot be built.")

        monkeypatch.setattr(study, "run_experiment", build)
        with pytest.raises(LexicalSAEError, match=sentence):
            run_study("ablation", quick(), VARIATIONS)


class TestMeasuringAgain:
    def test_other_evaluation_settings_train_nothing(
        self, toy_run: ToyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(study, "run_experiment", None)

        def parts(**changes: object) -> list[Part]:
            return plan("ablation", toy_run.config(tmp_path / "out", **changes), VARIATIONS[:1])

        (part,) = parts()
        shutil.copytree(toy_run.folder, part.folder, ignore=shutil.ignore_patterns("checkpoints"))
        dense = {"dense": {"accuracy": 0.9}, "dense_accuracy": 0.9}
        before = read_json(part.folder / "results.json") | dense
        (part.folder / "results.json").write_text(json.dumps(before))
        assert part_states([part]) == ["finished"]
        assert part_states(parts(evaluation__dense_baseline=True)) == ["other"]
        changes = {"evaluation__explain_samples": 3, "evaluation__completeness_shares": [0.5]}
        assert part_states(parts(**changes)) == ["measured otherwise"]
        assert part_states(parts(**changes, training__epochs=9)) == ["other"]
        run = run_study("ablation", toy_run.config(tmp_path / "out", **changes), VARIATIONS[:1])
        after = read_json(part.folder / "results.json")
        assert run.results == {"as it is": [after]} and after.keys() == before.keys()
        assert after["completeness"].keys() == {"0.5"} and after["dense"] == dense["dense"]
        for key in ("accuracy", "training", "validation", "peak_rss_mb"):
            assert after[key] == before[key]
        assert after["completeness"]["0.5"]["kl"] == pytest.approx(before["completeness"]["0.5"]["kl"], rel=1e-4)
        assert part_states(parts(**changes)) == ["finished"] and part_states([part]) == ["measured otherwise"]

    def test_where_the_data_root_lies_is_no_part_of_a_run(self, quick: Quick, trained: list[Config]) -> None:
        run_study("ablation", quick(), VARIATIONS)
        run_study("ablation", quick(data__root="elsewhere"), VARIATIONS)
        assert len(trained) == 2


@pytest.mark.slow
def test_an_interrupted_part_goes_on_and_ends_as_if_nothing_had_been(
    quick: Quick, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ctrl-C in the middle of a part: it goes on from its checkpoint, to the same weights."""
    variations = [Variation("as it is", {})]
    validate, seen = Trainer.validate, 0

    def interrupt(trainer: Trainer) -> Validation:
        nonlocal seen
        seen += 1
        if seen == 1:
            signal.raise_signal(signal.SIGINT)
        return validate(trainer)

    monkeypatch.setattr(Trainer, "validate", interrupt)
    with pytest.raises(Interrupted):
        run_study("ablation", quick(), variations)
    (part,) = plan("ablation", quick(), variations)
    assert part_states([part]) == ["begun"] and not (part.folder / "results.json").exists()
    again: list[bool] = []

    def count(config: Config, *, resume: bool = False, **options: Any) -> dict[str, Any]:
        again.append(resume)
        return run_experiment(config, resume=resume, **options)

    monkeypatch.setattr(study, "run_experiment", count)
    run_study("ablation", quick(), variations)
    assert again == [True] and part_states([part]) == ["finished"]
    assert not (part.folder / "checkpoints").exists()
    setup_and_train(quick(output_dir=str(tmp_path / "elsewhere")))
    assert weights(part.folder) == weights(tmp_path / "elsewhere")
