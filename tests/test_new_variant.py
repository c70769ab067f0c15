"""A variant is declared once: a class with settings of its own, under a name, is all that a new one takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError, model_validator
from pydantic.dataclasses import dataclass
from torch import Tensor

from splade.config.document import settings_page
from splade.config.load import config_to_yaml, load_config
from splade.config.numbers import PositiveInt
from splade.config.schema import Config, ModelConfig, TrainingConfig
from splade.config.variants import KINDS, SETTINGS, OpenSection, make, open_to
from splade.data.types import Dataset
from splade.errors import ConfigError
from splade.inference import predict_batch
from splade.models.layers.activation import GATES, DReLUGate
from splade.models.lexical_sae import LexicalSAE
from splade.registry import Registry
from splade.run_folder import run_id
from splade.training.optim import OPTIMIZERS
from splade.training.recipes import without_effect
from tests.runs import ToyRun, expect_sentence, overrides, read_json, run_cli, sets


@dataclass(config=SETTINGS, frozen=True)
class SlopeSettings:
    """How steep."""

    slope: PositiveInt = 2
    """What a score above its threshold is multiplied by."""
    slope_words: list[str] = dataclasses.field(default_factory=lambda: ["good"])
    """A list, of which every section needs its own."""

    @model_validator(mode="after")
    def _check_words(self) -> SlopeSettings:
        if self.slope == len(self.slope_words):
            raise ValueError("has as many 'slope_words' as its 'slope' is")
        return self


class SlopeGate(DReLUGate):
    """slope·relu(z − θ)."""

    Settings = SlopeSettings

    def __init__(self, vocab_size: int, settings: SlopeSettings) -> None:
        super().__init__(vocab_size)
        self.slope = settings.slope

    def forward(self, z: Tensor, token: Tensor) -> Tensor:
        return self.slope * super().forward(z, token)


@pytest.fixture
def sloped() -> Iterator[None]:
    """The one line that makes it a variant."""
    GATES.register("sloped")(SlopeGate)
    yield
    GATES.unregister("sloped")


@pytest.mark.usefixtures("sloped")
class TestGate:
    def test_is_trained_saved_loaded_and_asked(self, toy_run: ToyRun, tmp_path: Path) -> None:
        """By the command line alone, with all the losses of the usual recipe."""
        changes = {"model__gate": "sloped", "model__slope": 3, "training__max_steps": 6}
        settings = overrides(toy_run.data, toy_run.backbone, tmp_path, **changes)
        done = run_cli("train", *sets(settings))
        assert done.exit_code == 0, done.output
        model = LexicalSAE.from_pretrained(tmp_path / "model", "cpu")
        assert isinstance(model.encoder.gate, SlopeGate) and model.encoder.gate.slope == 3
        assert len(predict_batch(model, ["a charming film", "a dull plot"])) == 2
        assert "slope: 3" in (tmp_path / "config.yaml").read_text()
        assert load_config(tmp_path / "config.yaml").model.slope == 3  # type: ignore[attr-defined]
        assert read_json(tmp_path / "model" / "lexical_sae.json")["model"]["slope"] == 3
        assert run_cli("train", "--resume", *sets(settings)).exit_code == 0

    def test_its_parameters_are_thresholds(self) -> None:
        assert make(GATES, "sloped", ModelConfig(), 4).parameter_role == "gate"

    def test_its_settings_are_settings_like_any_other(self) -> None:
        config = load_config(None, ["model.gate=sloped", "model.slope=4"])
        assert dataclasses.asdict(config)["model"]["slope"] == 4
        assert ModelConfig(slope=4, gate="sloped") == config.model  # type: ignore[call-arg]
        assert dataclasses.replace(config.model, hidden_size=7).slope == 4  # type: ignore[attr-defined]
        assert dataclasses.replace(config.model, slope=5) != config.model
        assert config.model.of(SlopeSettings) == SlopeSettings(4)
        assert "slope=4" in repr(config.model)

    def test_its_defaults_are_there_and_written(self, tmp_path: Path) -> None:
        config = Config()
        assert config.model.slope == 2  # type: ignore[attr-defined]
        path = tmp_path / "config.yaml"
        path.write_text(config_to_yaml(config))
        assert "  gate: null\n  slope: 2\n" in path.read_text()  # beside what chooses it
        assert load_config(path) == config

    def test_two_sections_share_no_list(self) -> None:
        first, second = ModelConfig(), ModelConfig()
        first.slope_words.append("bad")  # type: ignore[attr-defined]
        assert first.slope_words == ["good", "bad"] and second.slope_words == ["good"]  # type: ignore[attr-defined]

    def test_it_is_documented(self) -> None:
        assert "| `model.slope` | `2` | What a score above its threshold is multiplied by. |" in settings_page()
        assert "Choices: jumprelu, drelu, drelu_log1p, sloped." in settings_page()

    def test_a_run_is_known_by_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("splade.run_folder.dataset_fingerprint", lambda dataset: "")
        dataset: Dataset = None  # type: ignore[type-arg, assignment]
        two, four = (load_config(None, ["model.gate=sloped", f"model.slope={slope}"]) for slope in (2, 4))
        assert run_id(two, dataset) != run_id(four, dataset)
        assert run_id(two, dataset) == run_id(load_config(None, ["model.gate=sloped"]), dataset)

    def test_its_settings_without_it_have_no_effect_and_that_is_said(self) -> None:
        assert without_effect(load_config(None, ["model.gate=drelu", "model.slope=4"])) == [
            "model.slope has no effect: the gate has no sloped."
        ]
        assert without_effect(load_config(None, ["model.gate=sloped", "model.slope=4"])) == []

    @pytest.mark.parametrize(
        ("override", "sentence"),
        [
            ("model.slope=steep", "--set: model.slope must be a whole number, but is 'steep'."),
            ("model.slope=0", "--set: model.slope must be greater than 0, but is 0."),
            ("model.slope_words=[1]", "--set: model.slope_words[0] must be text, but is 1."),
            ("model.gate=slope", "drelu, drelu_log1p, sloped, but is 'slope'. Did you mean 'sloped'?"),
            ("model.slop=3", "Did you mean 'slope'?"),
            ("model.slope=1", "--set: 'model' has as many 'slope_words' as its 'slope' is."),
        ],
    )
    def test_mistakes_are_answered_as_those_in_any_setting(self, override: str, sentence: str) -> None:
        with pytest.raises(ConfigError) as raised:
            load_config(None, [override])
        assert sentence in str(raised.value)

    def test_mistakes_here_and_there_are_counted(self) -> None:
        with pytest.raises(ConfigError, match=r"model.neighbours .* \(and 2 more\)"):
            load_config(None, ["model.slope=0", "model.neighbours=0", "model.hidden_size=0"])


def test_a_setting_nobody_declares_is_unknown() -> None:
    expect_sentence(run_cli("train", "--dry-run", "--set", "model.slope=3"), "unknown key 'model.slope'")
    with pytest.raises(AttributeError, match="ModelConfig has no setting 'slope'"):
        ModelConfig().slope  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ValidationError):
        ModelConfig(slope=3)  # type: ignore[call-arg]


def test_a_function_may_be_a_variant_of_another_section() -> None:
    @dataclass(config=SETTINGS, frozen=True)
    class DampedSettings:
        damping: PositiveInt = 2
        """Divides the steps."""

    @OPTIMIZERS.register("damped", DampedSettings)
    def damped(groups: list[int], warmup_steps: int, total_steps: int, settings: DampedSettings) -> int:
        return total_steps // settings.damping

    try:
        config = TrainingConfig(optimizer="damped", damping=5)  # type: ignore[call-arg]
        assert make(OPTIMIZERS, "damped", config, [], 0, 100) == 20
        assert load_config(None, ["training.optimizer=damped", "training.damping=5"]).training == config
    finally:
        OPTIMIZERS.unregister("damped")


MEASURES: Registry[type] = Registry("measure")


def test_any_section_may_be_opened_to_any_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "measure", f"{__name__}:MEASURES")

    @open_to("measure")
    @dataclass(config=SETTINGS, frozen=True, eq=False, repr=False)
    class Section(OpenSection):
        batch_size: PositiveInt = 64

    @MEASURES.register("sums")
    class Sums:
        @dataclass(config=SETTINGS, frozen=True)
        class Settings:
            rounds: PositiveInt = 3

    @MEASURES.register("means")
    class Means:
        Settings = Sums.Settings  # shared

    assert dataclasses.asdict(Section(rounds=1)) == {"batch_size": 64, "rounds": 1}  # type: ignore[call-arg]
    assert Section().idle() == Section(rounds=1).idle() == {}  # type: ignore[call-arg]  # nothing chooses among them

    @MEASURES.register("angles")
    class Angles:
        @dataclass(config=SETTINGS, frozen=True)
        class Settings:
            degrees: PositiveInt = 90

    # By name, whatever was imported first.
    assert [field.name for field in dataclasses.fields(Section)] == ["batch_size", "degrees", "rounds"]

    @MEASURES.register("other")
    class Other:
        @dataclass(config=SETTINGS, frozen=True)
        class Settings:
            batch_size: PositiveInt = 3

    with pytest.raises(ValueError, match="'batch_size' is declared twice for Section"):
        Section().rounds  # type: ignore[attr-defined]  # noqa: B018
