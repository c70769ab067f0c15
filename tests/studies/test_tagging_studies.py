"""Studies of taggers: those that compare any model compare them too, the others refuse in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from splade.cli.studies import app
from splade.config.load import load_config
from splade.config.schema import Config
from splade.data import load_dataset
from splade.run_folder import fingerprint
from splade.studies.plots import draw_frontier
from splade.studies.study import part_states, plan
from splade.studies.summary import columns, measured, rows_of
from splade.studies.variations import Variation, variations_of
from tests.runs import ToyRun, expect_sentence, read_json, sets


@pytest.fixture
def config(toy_tagger: ToyRun, tmp_path: Path) -> Config:
    return load_config(None, [*toy_tagger.settings, f"output_dir={tmp_path / 'out'}"])


def test_a_finished_part_is_known_again(config: Config) -> None:
    (part,) = plan("ablation", config, [Variation("as it is", {})])
    assert part_states([part]) == ["new"]
    part.folder.mkdir(parents=True)
    whole = fingerprint(part.config, load_dataset(part.config.data, part.config.seed, "tagging"))
    (part.folder / "results.json").write_text(json.dumps({"fingerprint": whole}))
    assert part_states([part]) == ["finished"]


def test_the_table_and_the_frontier_show_f1(toy_tagger: ToyRun, tmp_path: Path) -> None:
    results = read_json(toy_tagger.folder / "results.json") | {"dense_f1": 0.9}
    rows = rows_of({"dictionary / cajt": [results]}, columns("tagging"))
    assert [column.key for column in measured(rows, columns("tagging"))][:3] == ["f1", "dense_f1", "active_tokens"]
    assert rows[0].figures["f1"].mean == results["f1"]
    (drawn,) = [path for path in draw_frontier(tmp_path, "frontier", rows) if path.suffix == ".svg"]
    assert drawn.stat().st_size > 1000


def test_data_sets_are_those_of_the_task(config: Config) -> None:
    assert [each.name for each in variations_of("multi_dataset", config)] == ["conll2003", "wnut17"]


@pytest.mark.parametrize("name", ["sota-comparison", "long-context", "polysemy"])
def test_studies_of_classifiers_refuse(name: str, toy_tagger: ToyRun, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [name, *sets([*toy_tagger.settings, f"output_dir={tmp_path / 'out'}"])])
    expect_sentence(done, f"The study {name.replace('-', '_')} compares classifiers", "task: tagging")
    assert not (tmp_path / "out").exists()
