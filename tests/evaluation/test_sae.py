"""The measure of post-hoc autoencoders: fitted to training texts alone, matched to our sparsity, beside chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from torch import Tensor

from splade.config.schema import EvaluationConfig
from splade.data.types import TaggedSplit, TextSplit
from splade.errors import ConfigError
from splade.evaluation import code_figures, sae
from splade.evaluation.measure import References
from splade.evaluation.memory import Memory
from splade.evaluation.run import Evaluation, check_measures, evaluate
from splade.evaluation.sae import PostHocSAE
from splade.evaluation.splicing import read_dense
from splade.mechanistic.sae import has_sparsify
from splade.tasks import TASKS, Task
from tests.builders import build_dense, build_model, tagged_sentences, toy_reviews
from tests.evaluation.test_declared import at, expanded

Name = Literal["classification", "tagging"]

FEW: dict[str, Any] = {
    "sae_expansion": 2,
    "sae_active": [1, 4],
    "sae_vectors": 200,
    "sae_steps": 20,
    "sae_texts": 16,
    "batch_size": 8,
    "measures": ["sae"],
}


class Setting:
    """A model of ours and a dense one, both untrained, with training and test texts."""

    def __init__(self, folder: Path, name: Name):
        self.model = build_model(folder, "neighbourhood+dictionary", task=name, active=20)
        self.dense = build_dense(folder, task=name)
        self.training, self.test = self.task(48, 1), self.task(24, 2)

    def task(self, number: int, seed: int) -> Task:
        name = self.model.task
        made = tagged_sentences(number, seed) if name == "tagging" else toy_reviews(number, seed)
        split = TaggedSplit(*made) if name == "tagging" else TextSplit(*made)  # type: ignore[arg-type]
        return TASKS.get(name)(split, self.model.tokenizer, 24, self.model.labels)

    def measure(self, test: Task | None = None, memory: Memory | None = None, **settings: Any) -> Evaluation:
        references = References(load_dense=lambda: self.dense, load_training=lambda: self.training)
        config = EvaluationConfig(**FEW | settings)
        return evaluate(self.model, test or self.test, config, share=0.1, references=references, seed=3, memory=memory)


@pytest.fixture(scope="module", params=["classification", "tagging"])
def setting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Setting:
    return Setting(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def found(setting: Setting) -> dict[str, Any]:
    return setting.measure().to_json()


def test_ours_stands_beside_the_dense_head_and_every_autoencoder_beside_its_control(found: dict[str, Any]) -> None:
    models = found["sae"]["models"]
    learned = [name for name in models if name not in ("own", "dense") and not name.endswith("_random")]
    kinds = {"topk", "relu"} if has_sparsify() else {"relu"}
    assert {name.split("_")[0] for name in learned} == kinds and len(learned) == 2 * len(kinds)
    assert {f"{name}_random" for name in learned} == {name for name in models if name.endswith("_random")}
    assert models["own"]["max_error"] < 1e-4 and models["own"]["error_share"] < 1e-4
    for name, row in models.items():
        assert 0 <= row["accuracy_interval"]["low"] <= row["accuracy"] <= row["accuracy_interval"]["high"] <= 1
        assert row["cross_entropy"] > 0 and ("fvu" in row) == (name not in ("own", "dense"))
    assert found["sae"]["matched"]["accuracy"] == models[learned[0]]["accuracy"]
    assert found["sae"]["texts"] == 16 and found["sae"]["vectors"] == 200


def test_what_stands_alone_is_the_models_own(setting: Setting, found: dict[str, Any]) -> None:
    """On all texts, so that the scores of the whole split say the same."""
    whole = setting.measure(sae_texts=-1, sae_steps=1, sae_active=[1]).to_json()["sae"]
    right = total = 0
    for batch, read in read_dense(setting.dense, setting.test, torch.arange(len(setting.test)).numpy(), 8):
        right, total = right + int((read.decided == batch.labels).sum()), total + len(batch.labels)
    assert whole["models"]["dense"]["accuracy"] == pytest.approx(right / total) and whole["rows"] == total


def test_features_a_position_are_matched_to_our_tokens(setting: Setting, found: dict[str, Any]) -> None:
    of = found["sae"]
    numbers = sorted({int(name.split("_")[1]) for name in of["models"] if "_" in name})
    expected = sorted({max(1, round(times * of["own_active"] / of["positions"])) for times in (1, 4)})
    assert numbers == [min(of["features"], number) for number in expected]
    for name, row in of["models"].items():
        if name.startswith("topk"):
            assert row["active_per_position"] <= int(name.split("_")[1]) and row["active"] >= row["active_per_position"]
    if setting.model.task == "tagging":
        assert of["positions"] == 1 and "accuracy_entities" in of["models"]["own"]


def test_nothing_that_is_fitted_sees_a_test_text(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []
    numbers: list[int] = []
    real = code_figures.fit_autoencoder

    def fit(kind: Any, vectors: Tensor, **settings: Any) -> Any:
        seen.append(vectors)
        numbers.append(settings["active"])
        return real(kind, vectors, **settings)

    monkeypatch.setattr(code_figures, "fit_autoencoder", fit)
    for test in (setting.test, setting.task(12, 9)):
        setting.measure(test, sae_steps=1, sae_vectors=10_000)
    half = len(numbers) // 2
    assert numbers[:half] == numbers[half:] and all(torch.equal(vectors, seen[0]) for vectors in seen)
    texts = torch.arange(len(setting.training)).numpy()
    training = torch.cat([read.states for _, read in read_dense(setting.dense, setting.training, texts, 8)])
    assert len(seen[0]) == len(training)
    assert float(torch.cdist(seen[0].double(), training.double()).amin(1).max()) < 1e-4


def test_without_a_dense_baseline_it_is_refused_before_and_after_training(setting: Setting) -> None:
    config = EvaluationConfig(**FEW)
    for measure in (
        lambda: check_measures(setting.model, setting.test, config),
        lambda: evaluate(setting.model, setting.test, config, share=0.1),
    ):
        with pytest.raises(ConfigError, match=r"there is none; train with --set evaluation.dense_baseline=true, or"):
            measure()
    check_measures(setting.model, setting.test, EvaluationConfig(**FEW, dense_baseline=True))  # it is to be trained
    with pytest.raises(ConfigError, match="fitted to training texts, and those of this model are not at hand"):
        evaluate(
            setting.model, setting.test, config, share=0.1, references=References(load_dense=lambda: setting.dense)
        )


def test_without_the_extra_the_other_kind_is_measured_and_it_is_said(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sae, "has_sparsify", lambda: False)
    found = setting.measure(sae_steps=2)
    assert {name.split("_")[0] for name in found[PostHocSAE].models} == {"own", "dense", "relu"}
    assert any("pip install 'lexical-sae[sae]'" in finding for finding in found.findings)


def test_an_interrupted_one_goes_on(setting: Setting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    memory = Memory(tmp_path, "model", "data")
    real, fitted = code_figures.fit_autoencoder, []

    def fit(kind: Any, vectors: Tensor, **settings: Any) -> Any:
        fitted.append((kind, settings["active"]))
        if len(fitted) == 5:
            raise KeyboardInterrupt
        return real(kind, vectors, **settings)

    monkeypatch.setattr(code_figures, "fit_autoencoder", fit)
    monkeypatch.setattr(sae, "has_sparsify", lambda: False)  # two a sparsity
    with pytest.raises(KeyboardInterrupt):
        setting.measure(memory=memory, sae_steps=2, sae_active=[0.2, 1, 3])
    done, before = setting.measure(memory=memory, sae_steps=2, sae_active=[0.2, 1, 3]), len(fitted)
    assert len({active for _, active in fitted}) == 3 and before == 5 + 2  # the last sparsity, once more
    again = setting.measure(memory=memory, sae_steps=2, sae_active=[0.2, 1, 3])
    assert again.to_json() == done.to_json() and len(fitted) == before


def test_a_control_that_does_as_well_is_said(found: dict[str, Any], setting: Setting) -> None:
    """Untrained models know nothing that a learned decoder could keep and a random one lose."""
    assert any("A random decoder is, to within what these texts can tell" in finding for finding in found["findings"])


def test_it_is_shown_as_a_table_and_a_drawing(found: dict[str, Any]) -> None:
    [table], [drawing] = PostHocSAE.tables, PostHocSAE.drawings
    grid = table.read(found)
    assert grid is not None and [row[0].text for row in grid.rows][:2] == ["our words", "hidden states as they are"]
    assert any("random decoder" in row[0].text for row in grid.rows)
    content: Any = drawing.read(found)
    kinds = 2 if has_sparsify() else 1
    assert [line.quiet for line in content.lines] == [False] + [False] * kinds + [True] * kinds
    own = found["sae"]["models"]["own"]
    assert content.lines[0].points == [(round(own["active"], 1), 100 * own["accuracy"])]
    assert drawing.read({}) is None and table.read({}) is None


def test_what_is_declared_is_found_and_within_its_bounds(found: dict[str, Any]) -> None:
    for figure in PostHocSAE.figures:
        value = figure.read(found)
        assert value is not None and figure.form.bounds[0] <= value <= figure.form.bounds[1], figure.key
    documented = [one.key for one in PostHocSAE.keys] + [table.fields for table in PostHocSAE.tables]
    for key in (key for pattern in documented for key in expanded(pattern)):
        assert at(found, key), key
    assert found["sae"].keys() <= {key.split(".")[1] for pattern in documented for key in expanded(pattern)}
