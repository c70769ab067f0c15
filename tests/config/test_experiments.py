from __future__ import annotations

from pathlib import Path

import pytest

from splade.config import load_config

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
FILES = sorted(EXPERIMENTS.rglob("*.yaml"))
PAPER = {"sst2", "ag_news", "imdb", "yelp", "banking77", "civilcomments", "beavertails"}


def test_the_experiments_are_there() -> None:
    assert {path.stem for path in (EXPERIMENTS / "paper").glob("*.yaml")} >= PAPER
    assert {path.stem for path in EXPERIMENTS.glob("*.yaml")} >= {"quickstart", "verify", "verify_full"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(EXPERIMENTS)))
def test_every_experiment_loads_and_says_what_it_is(path: Path) -> None:
    config = load_config(path)
    assert path.read_text(encoding="utf-8").startswith("# ")
    assert config.output_dir == f"results/{path.relative_to(EXPERIMENTS).with_suffix('').as_posix()}"


def test_the_paper_settings_are_the_seeds_own() -> None:
    config = load_config(EXPERIMENTS / "paper" / "imdb.yaml")
    assert config.model.name == "answerdotai/ModernBERT-base"
    assert config.model.support == ["full"]
    assert (config.training.sparsity_target, config.training.warmup_fraction) == (0.1, 0.2)
    assert config.training.learning_rate == 3e-4
