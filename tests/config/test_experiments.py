"""Every YAML file of the tree: it loads, says what it is, and what it describes can be built."""

from __future__ import annotations

from pathlib import Path

import pytest

from splade.config import Config, load_config
from splade.models.supports import SUPPORTS
from splade.pipelines import prepare
from splade.studies.study import plan
from splade.studies.variations import variations_of
from tests.builders import build_backbone_folder
from tests.runs import write_reviews, write_sentences

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
FILES = sorted(EXPERIMENTS.rglob("*.yaml"))
PAPER = {
    "sst2",
    "ag_news",
    "imdb",
    "yelp",
    "banking77",
    "civilcomments",
    "beavertails",
    "sst2_ablation",
    "multi_dataset",
}
FAMILIES = {"sst2_roberta", "sst2_deberta", "conll_roberta"}
TOP = {"quickstart", "verify", "verify_full", "civilcomments", "long_context", "frontier", *FAMILIES}
NER = {"conll2003", "conll2003_verify", "wnut17"}
TAGGERS = {"conll_roberta", *(f"ner/{name}" for name in NER)}

#: Part of a backbone's name: the family of the tiny one that stands for it.
STAND_INS = {"ModernBERT": "modernbert", "distilbert": "distilbert", "deberta": "deberta", "roberta": "roberta"}
#: Files that describe several runs, and by which study; the B-cos ablation has no file of its own.
STUDIES = {
    "ablation/ablation": "ablation",
    "paper/sst2_ablation": "ablation",
    "paper/multi_dataset": "multi_dataset",
    "multi_dataset_minilm": "multi_dataset",
    "paper/sst2": "bcos_ablation",
    "frontier": "frontier",
    "sst2_seeds": "frontier",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with toy reviews and a tiny backbone of each family."""
    folder = tmp_path_factory.mktemp("places")
    write_reviews(folder / "data", 128, 32, 32)
    write_sentences(folder / "data", 128, 32, 32)
    for family in {"bert", *STAND_INS.values()}:
        build_backbone_folder(folder, family)
    return folder


def tiny(path: Path, places: Path) -> Config:
    """What the file describes; only the backbone and the texts are others."""
    config = load_config(path)
    name, ending = config.model.name, "conll" if config.task == "tagging" else "csv"
    family = next((family for part, family in STAND_INS.items() if part in name), "bert")
    texts = [f"data.{part}_file={places / 'data' / part}.{ending}" for part in ("train", "validation", "test")]
    return load_config(path, [*texts, f"model.name={places / family}", f"output_dir={places / 'out'}"])


def test_the_experiments_are_there() -> None:
    assert {path.stem for path in (EXPERIMENTS / "paper").glob("*.yaml")} >= PAPER
    assert {path.stem for path in EXPERIMENTS.glob("*.yaml")} >= TOP
    assert (EXPERIMENTS / "ablation" / "ablation.yaml").exists()
    assert {path.stem for path in (EXPERIMENTS / "ner").glob("*.yaml")} >= NER


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(EXPERIMENTS)))
def test_every_experiment_loads_and_says_what_it_is(path: Path) -> None:
    config = load_config(path)
    assert path.read_text(encoding="utf-8").startswith("# ")
    assert config.output_dir == f"results/{path.relative_to(EXPERIMENTS).with_suffix('').as_posix()}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(EXPERIMENTS)))
def test_what_an_experiment_describes_can_be_built(path: Path, places: Path) -> None:
    config = tiny(path, places)
    ready = prepare(config)
    assert ready.trainer.total > ready.trainer.warmup >= 2
    assert [type(each) for each in ready.model.encoder.supports] == [SUPPORTS.get(n) for n in config.model.support]


@pytest.mark.parametrize("name", STUDIES)
def test_every_variation_of_a_study_can_be_built(name: str, places: Path) -> None:
    config, study = tiny(EXPERIMENTS / f"{name}.yaml", places), STUDIES[name]
    parts = plan(study, config, variations_of(study, config))
    assert len(parts) >= 3
    for part in parts:
        assert prepare(part.config).trainer.total > 0, part.title


@pytest.mark.parametrize("name", sorted(TAGGERS))
def test_the_experiments_on_entities_are_of_taggers(name: str) -> None:
    assert load_config(EXPERIMENTS / f"{name}.yaml").task == "tagging"


def test_every_file_with_a_study_is_built_as_one() -> None:
    described = {str(path.relative_to(EXPERIMENTS).with_suffix("")) for path in FILES if "\nstudy:" in path.read_text()}
    assert described <= {*STUDIES, "long_context"}


def test_the_paper_settings_are_the_seeds_own() -> None:
    config = load_config(EXPERIMENTS / "paper" / "imdb.yaml")
    assert config.model.name == "answerdotai/ModernBERT-base"
    assert config.model.support == ["full"]
    assert (config.training.sparsity_target, config.training.warmup_fraction) == (0.1, 0.2)
    assert config.training.learning_rate == 3e-4
