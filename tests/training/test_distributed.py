"""Two processes train what one does: each row once an epoch, one writer, the same weights to rounding."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from splade.inference import predict_batch
from splade.models.lexical_sae import LexicalSAE
from splade.pipelines import run_experiment
from tests.builders import PEOPLE, PLACES, build_backbone_folder, toy_reviews
from tests.runs import overrides, read_json, sets, tiny_config, write_conll, write_reviews

ROWS = 49  # three batches of 16 and one of a single row, which leaves the second process without any
STEPS, PER_EPOCH = 8, 4
PATIENCE = 300  # seconds; a machine may be busy


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Folders of the same run, with its dense baseline, by one process and by two; without the deletion loss, for which
    two processes draw other texts than one."""
    folder = tmp_path_factory.mktemp("distributed")
    data = write_reviews(folder / "data", ROWS, 21, 21)
    return _by_one_and_by_two(folder, data, evaluation__dense_baseline=True, training__loss_weights__deletion=0)


@pytest.fixture(scope="module")
def both_taggers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same of a tagger. More words of its sentences name something than not, so that all of them are chosen for the
    circuit losses: chosen by chance, two processes would choose others than one."""
    folder = tmp_path_factory.mktemp("distributed_tagging")
    for name, size in (("train", 33), ("validation", 9), ("test", 9)):
        people, places = PEOPLE * size, PLACES * size
        sentences = [[people[i], people[i // 3], "in", *places[i : i + 1 + i % 3]] for i in range(size)]
        tags = [["B-PER", "I-PER", "O", *["B-LOC"] * (1 + i % 3)] for i in range(size)]
        write_conll(folder / f"{name}.conll", sentences, tags)
    files = {f"data__{name}_file": folder / f"{name}.conll" for name in ("train", "validation", "test")}
    return _by_one_and_by_two(folder, folder, task="tagging", model__support="dictionary", **files)


def _by_one_and_by_two(folder: Path, data: Path, **changes: object) -> tuple[Path, Path]:
    backbone = build_backbone_folder(folder, "bert", dropout=0.0)
    changes |= {"training__lr_warmup_steps": 4, "training__learning_rate": 1e-4}
    run_experiment(tiny_config(data, backbone, folder / "one", **changes))
    arguments = sets(overrides(data, backbone, folder / "two", **changes))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = subprocess.run(
        [*command, "-m", "tests.training.two_processes", str(folder), "train", *arguments],
        env={**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("Report:") == 1  # only one of them speaks
    return folder / "one", folder / "two"


def test_each_row_is_seen_once_an_epoch(both: tuple[Path, Path]) -> None:
    first, second = (read_json(both[1].parent / f"rows_{rank}.json") for rank in (0, 1))
    assert len(first) == len(second) == 2 * STEPS  # the model's, then the dense baseline's
    for start in range(0, 2 * STEPS, PER_EPOCH):
        epoch = [rows for steps in (first, second) for rows in steps[start : start + PER_EPOCH]]
        assert sorted(row for rows in epoch for row in rows) == list(range(ROWS))
    assert sum(not rows for rows in second) == 4 and all(first)  # once an epoch one process had nothing to do


def test_both_leave_the_same_files_and_one_process_wrote_them(both: tuple[Path, Path]) -> None:
    # The name of a kept measure ends in a hash of the weights, which differ by rounding.
    one, two = (
        {re.sub(r"-[0-9a-f]{16}\.json$", "", str(path.relative_to(folder))) for path in folder.rglob("*")}
        for folder in both
    )
    assert one == two and "measures/sparsity" in one
    lines = [(folder / "metrics.jsonl").read_text().count("\n") for folder in both]
    assert lines[0] == lines[1]


@pytest.mark.parametrize("runs", ["both", "both_taggers"])
def test_the_weights_agree_to_rounding(runs: str, request: pytest.FixtureRequest) -> None:
    one, two = (load_file(folder / "model" / "model.safetensors") for folder in request.getfixturevalue(runs))
    assert one.keys() == two.keys()
    for name, tensor in one.items():
        if tensor.is_floating_point() and "key.bias" not in name:  # attention ignores it: its gradient is rounding
            torch.testing.assert_close(two[name], tensor, atol=1e-4, rtol=0, msg=lambda text, n=name: f"{n}: {text}")


def test_the_result_loads_and_predicts_the_same(both: tuple[Path, Path]) -> None:
    texts = toy_reviews(16, seed=5)[0]
    one, two = (predict_batch(LexicalSAE.from_pretrained(folder / "model"), texts) for folder in both)
    for a, b in zip(one, two, strict=True):
        assert a.probabilities == pytest.approx(b.probabilities, abs=1e-3)


def test_the_figures_agree(both: tuple[Path, Path]) -> None:
    one, two = (read_json(folder / "results.json") for folder in both)
    assert one["constraint"]["step"] == two["constraint"]["step"]
    assert one["constraint"]["tau"] == pytest.approx(two["constraint"]["tau"], abs=1e-4)
    assert one["validation"] == pytest.approx(two["validation"], abs=1e-2)
    assert one["dense"]["accuracy"] == pytest.approx(two["dense"]["accuracy"], abs=0.05)


def test_the_figures_of_taggers_agree(both_taggers: tuple[Path, Path]) -> None:
    one, two = (read_json(folder / "results.json") for folder in both_taggers)
    assert one["constraint"]["tau"] == pytest.approx(two["constraint"]["tau"], abs=1e-4)
    assert one["validation"] == pytest.approx(two["validation"], abs=1e-2)
    assert one["f1"] == pytest.approx(two["f1"], abs=0.05)
