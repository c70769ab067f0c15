"""The interface that the user's documents name: what is there, what later work builds, what has another name now."""

from __future__ import annotations

import inspect
import runpy
from dataclasses import fields, is_dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from splade.config import load_config
from splade.config.schema import Config

ROOT = Path(__file__).parents[1]


def under(place: str, names: str) -> list[str]:
    """Full names of what stands in a module or class."""
    return [f"{place}.{name}" for name in names.split()]


MODULES = [
    *under("splade", "inference pipelines intervene"),
    *under("splade.models", "lexical_sae layers.activation layers.virtual_expander"),
    *under("splade.circuits", "core sequence_core losses geco metrics"),
    *under("splade.training", "loop sequence_loop optim constants"),
    *under("splade.mechanistic", "attribution layerwise sae"),
    *under("splade.attribution", "span_aggregation"),
    *under("splade.evaluation", "mechanistic sequence_mechanistic dense_baseline polysemy eraser faithfulness"),
    *under("splade.evaluation", "scaling_metrics compare_explainers leace"),
    *under("splade.data", "loader"),
    *under("splade.config", "schema load"),
    *under("splade.utils", "cuda"),
]

NAMES = [
    *under("splade.models.lexical_sae", "LexicalSAE LexicalSAE.classify LexicalSAE.tag"),
    *under("splade.models.layers.activation", "JumpReLUGate GatedJumpReLU"),
    *under("splade.models.layers.virtual_expander", "VirtualExpander"),
    *under("splade.circuits.core", "CircuitState circuit_mask"),
    *under("splade.circuits.core.CircuitState", "sparse_vector W_eff b_eff"),
    *under("splade.circuits.sequence_core", "SequenceCircuitState TagCircuitState"),
    *under("splade.circuits.losses", "compute_gate_sparsity_loss AttributionCentroidTracker FeatureFrequencyTracker"),
    *under("splade.circuits.geco", "GECOController"),
    *under("splade.mechanistic.attribution", "compute_attribution_tensor"),
    *under("splade.attribution.span_aggregation", "aggregate_subword_attributions"),
    *under("splade.training.loop", "train_classification"),
    *under("splade.training.sequence_loop", "train_sequence"),
    *under("splade.evaluation.mechanistic", "compute_active_slice_weff"),
    *under("splade.evaluation.scaling_metrics", "compute_downstream_loss compute_ablation_sparsity"),
    *under("splade.evaluation.leace", "fit_leace_eraser"),
    *under("splade.inference", "explain_model_spans"),
    *under("splade.pipelines", "setup_and_train"),
    *under("splade.intervene", "SuppressedModel suppress_token_globally get_top_tokens get_clean_vocab_mask"),
    *under("splade.config.schema", "DataConfig ModelConfig TrainingConfig"),
    *under("splade.config.load", "load_config"),
]

PARAMETERS = {
    "splade.attribution.span_aggregation.aggregate_subword_attributions": (
        "token_ids attribution_scores tokenizer text method"
    ),
    "splade.evaluation.mechanistic.compute_active_slice_weff": "sparse_vector W_eff",
    "splade.circuits.losses.compute_gate_sparsity_loss": "gate_probs",
}
"""Names of what is passed to functions that the documents write out."""

SETTINGS = [
    *under("data", "dataset_name train_samples test_samples"),
    *under("model", "name topk_per_position"),
    *under("training", "sparsity_target warmup_fraction learning_rate target_accuracy"),
    *under("training", "batch_size gradient_accumulation_steps"),
]

COMMANDS = {
    "run_experiment": "verify verify_full sst2_roberta sst2_deberta paper/sst2 paper/ag_news paper/imdb",
    "run_ner": "conll_roberta ner/conll2003 ner/conll2003_verify",
    "run_ablation": "ablation/ablation paper/sst2_ablation",
    "run_bcos_ablation": "paper/sst2",
    "run_multi_dataset": "paper/multi_dataset",
    "run_long_context": "long_context",
    "run_faithfulness": "civilcomments verify",
    "run_sota_comparison": "",
    "run_surgery": "surgery surgery_comments",
}
"""`python -m splade.scripts.COMMAND --config experiments/FILE.yaml`: every command, with the files it is shown with."""

EXPECTED_LATER = [
    *under("splade.intervene", "evaluate_bias"),
    *under("splade.evaluation", "baselines"),
]
"""What is not built yet. Whoever builds one of these moves it up into the lists above."""

SUCCESSORS = {
    "splade.models.splade.SpladeModel": "splade.models.lexical_sae.LexicalSAE",
    "splade.models.bcos": "splade.models.heads.BcosHead",
    "splade.models.layers.activation.DReLU": "splade.models.layers.activation.DReLUGate",
    "splade.models.lexical_sae.LexicalSAE.classifier_forward": "splade.models.lexical_sae.LexicalSAE.decide",
    "splade.circuits.sequence_losses": "splade.circuits.losses",
    "splade.training.losses": "splade.circuits.sparsity.DocumentFrequencyFlops",
    "splade.data.ner_loader": "splade.data.loader.load_dataset",
    "splade.config.ner_schema.NERTrainingConfig": "splade.config.schema.TrainingConfig",
}
"""Names of the older documents that newer ones dropped, and what does their work: one loader, one schema and one file
of losses serve both tasks."""


@pytest.mark.parametrize("name", [*MODULES, *NAMES])
def test_what_the_documents_name_is_there(name: str) -> None:
    resolve_name(name)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_the_documents_is_a_module(name: str) -> None:
    assert inspect.ismodule(resolve_name(name)) and resolve_name(name).__doc__


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_function_takes_what_the_documents_pass(name: str) -> None:
    assert list(inspect.signature(resolve_name(name)).parameters) == PARAMETERS[name].split()


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_of_the_documents_can_be_set(setting: str) -> None:
    section: Any = Config()
    for part in setting.split("."):
        assert is_dataclass(section) and part in {field.name for field in fields(section)}
        section = getattr(section, part)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_documents_runs_and_its_settings_load(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", [f"python -m splade.scripts.{command}", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(f"splade.scripts.{command}", run_name="__main__")
    assert ended.value.code == 0 and "--config" in capsys.readouterr().out
    for name in COMMANDS[command].split():
        task = "tagging" if command == "run_ner" else "classification"
        assert load_config(ROOT / "experiments" / f"{name}.yaml").task == task


def test_every_command_of_the_documents_is_listed() -> None:
    """And the two that the documents have no line of: `run_frontier`, `run_polysemy`."""
    scripts = {path.stem for path in (ROOT / "splade" / "scripts").glob("run_*.py")}
    assert scripts == {*COMMANDS, "run_frontier", "run_polysemy"}


@pytest.mark.parametrize("name", EXPECTED_LATER)
def test_what_later_work_builds_is_not_there_yet(name: str) -> None:
    assert not _is_there(name), f"{name} is there now: move it from EXPECTED_LATER to the lists above."


@pytest.mark.parametrize("name", SUCCESSORS)
def test_what_was_dropped_has_a_successor(name: str) -> None:
    resolve_name(SUCCESSORS[name])
    assert not _is_there(name), f"{name} is there again: move it from SUCCESSORS to the lists above."


def _is_there(name: str) -> bool:
    if name.endswith(".yaml"):
        return (ROOT / name).exists()
    try:
        resolve_name(name)
    except (ModuleNotFoundError, AttributeError):
        return False
    return True
