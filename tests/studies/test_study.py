"""The bookkeeping of a study: what is run, what is not run again, what is refused."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from splade.config.schema import Config, StudyConfig
from splade.errors import ConfigError, DataError, TrainingError
from splade.pipelines import run_experiment, setup_and_train
from splade.studies import study
from splade.studies.kinds import Variation
from splade.studies.study import part_states, plan, run_study
from splade.training.interrupt import Interrupted
from splade.training.loop import Trainer
from tests.runs import weights

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
        assert [part.config.training.loss_weights.separation for part in parts] == [0.3, 0.3, 0.0, 0.0]
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

    @pytest.mark.parametrize("change", [{"training__epochs": 5}, {"evaluation__batch_size": 8}])
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
        with pytest.raises(TrainingError, match=r"No part of the study could be trained. as it is"):
            run_study("ablation", quick(), VARIATIONS[:1])


@pytest.mark.slow
def test_an_interrupted_part_goes_on_and_ends_as_if_nothing_had_been(
    quick: Quick, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ctrl-C in the middle of a part: it goes on from its checkpoint, to the same weights."""
    variations = [Variation("as it is", {})]
    validate, seen = Trainer._validate, 0

    def interrupt(trainer: Trainer) -> dict[str, float]:
        nonlocal seen
        seen += 1
        if seen == 1:
            signal.raise_signal(signal.SIGINT)
        return validate(trainer)

    monkeypatch.setattr(Trainer, "_validate", interrupt)
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
