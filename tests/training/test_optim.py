"""Which parameter learns at which rate, and which gradients are centralised."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from splade.circuits.losses import SeparationLoss
from splade.config.schema import TrainingConfig
from splade.models.lexical_sae import LexicalSAE
from splade.training.constants import DERIVED_WEIGHT_DECAY
from splade.training.optim import OPTIMIZERS, centralise_gradients, centralised_parameters, parameter_groups
from tests.builders import build_backbone_folder, build_model

RATES = {"learning_rate": 1e-5, "head_learning_rate": 1e-3, "gate_learning_rate": 1e-2}
CONFIG = TrainingConfig(**RATES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def model(folder: Path) -> LexicalSAE:
    return build_model(folder)


def ids(parameters: Iterable[Tensor]) -> set[int]:
    return {id(parameter) for parameter in parameters}


def by_rate(groups: list[dict]) -> dict[float, dict]:
    assert len({group["lr"] for group in groups}) == len(groups)
    return {group["lr"]: group for group in groups}


def test_three_groups_with_their_rates(model: LexicalSAE) -> None:
    losses = SeparationLoss(2, model.vocab_size)
    groups = by_rate(parameter_groups([model, losses], CONFIG))
    trained = [p for p in model.backbone.parameters() if p.requires_grad]
    assert ids(groups[1e-5]["params"]) == ids(trained)
    assert ids(groups[1e-3]["params"]) == ids([*model.head.parameters(), model.encoder.bias, losses.raw_margin])
    assert ids(groups[1e-2]["params"]) == {id(model.encoder.gate.raw)}


def test_nothing_is_missing_and_nothing_occurs_twice(folder: Path) -> None:
    model = build_model(folder, train_decoder=True)
    grouped = [p for group in parameter_groups([model], CONFIG) for p in group["params"]]
    assert len(grouped) == len(ids(grouped))
    assert ids(grouped) == ids(p for p in model.parameters() if p.requires_grad)
    assert id(model.encoder.weight) in ids(grouped)


def test_groups_keep_the_order_that_checkpoints_go_by(model: LexicalSAE) -> None:
    """Checkpoints store the optimiser's state by position: backbone, head and gate, each as the modules list them."""
    losses = SeparationLoss(2, model.vocab_size)
    groups = parameter_groups([model, losses], CONFIG)
    assert [group["name"] for group in groups] == ["backbone", "head", "gate"]
    place = {id(p): n for n, p in enumerate([*model.parameters(), *losses.parameters()])}
    for group in groups:
        places = [place[id(p)] for p in group["params"]]
        assert places == sorted(places)
    assert groups[1]["params"][-1] is losses.raw_margin


def test_frozen_parameters_are_left_out(model: LexicalSAE) -> None:
    grouped = [p for group in parameter_groups([model], CONFIG) for p in group["params"]]
    assert id(model.encoder.weight) not in ids(grouped)
    assert all(p.requires_grad for p in grouped)


def test_a_repaired_transform_is_a_new_part(tmp_path: Path) -> None:
    build_backbone_folder(tmp_path, head=False).rename(tmp_path / "bert")
    model = build_model(tmp_path)
    assert model.backbone.head == "repaired"
    groups = by_rate(parameter_groups([model], CONFIG))
    assert ids(model.backbone.transform.parameters()) <= ids(groups[1e-3]["params"])


def test_decay_follows_the_rate_and_spares_the_thresholds(model: LexicalSAE) -> None:
    derived = by_rate(parameter_groups([model], CONFIG))
    for rate in (1e-5, 1e-3):
        assert derived[rate]["weight_decay"] == pytest.approx(DERIVED_WEIGHT_DECAY * rate)
    given = by_rate(parameter_groups([model], TrainingConfig(**RATES, weight_decay=0.03)))
    for rate in (1e-5, 1e-3):
        assert given[rate]["weight_decay"] == 0.03
    assert derived[1e-2]["weight_decay"] == given[1e-2]["weight_decay"] == 0


@pytest.mark.parametrize("name", OPTIMIZERS.names())
def test_every_optimiser_keeps_the_groups_and_descends(name: str) -> None:
    parts = nn.ModuleDict({"gate": nn.Linear(4, 1, bias=False), "head": nn.Linear(4, 1, bias=False)})
    parts["gate"].parameter_role = "gate"  # type: ignore[assignment]
    optimizer = OPTIMIZERS.get(name)(parameter_groups([parts], CONFIG), 0, 20)
    assert [group["lr"] for group in optimizer.param_groups] == [1e-3, 1e-2]

    def loss() -> Tensor:
        return sum((part(torch.ones(1, 4)) - 3).pow(2).sum() for part in parts.values())

    before = loss().item()
    for _ in range(20):
        optimizer.train()
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
        optimizer.eval()
    assert loss().item() < before


def test_adamw_rises_over_the_warmup_and_falls_to_nothing() -> None:
    parameter = nn.Parameter(torch.zeros(1))
    optimizer = OPTIMIZERS.get("adamw")([{"params": [parameter], "lr": 2.0, "weight_decay": 0.0}], 10, 100)
    rates = []
    for _ in range(100):
        parameter.grad = torch.ones(1)
        optimizer.step()
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates[0] == pytest.approx(2.0 / 10)
    assert all(later > earlier for earlier, later in pairwise(rates[:10]))
    assert all(later < earlier for earlier, later in pairwise(rates[10:]))
    assert rates[50] == pytest.approx(1.0) and rates[99] < 0.01


def test_adamw_steps_as_the_plain_one_does_at_the_same_rate() -> None:
    ours, plain = (nn.Parameter(torch.linspace(-1, 1, 12).view(3, 4)) for _ in range(2))
    optimizer = OPTIMIZERS.get("adamw")([{"params": [ours], "lr": 0.1, "weight_decay": 0.5}], 0, 20)
    reference = torch.optim.AdamW([plain], lr=0.1, weight_decay=0.5, fused=False)
    for step in range(5):
        ours.grad, plain.grad = (torch.linspace(0, step + 1, 12).view(3, 4) for _ in range(2))
        optimizer.step()
        reference.param_groups[0]["lr"] = optimizer.param_groups[0]["lr"]
        reference.step()
    torch.testing.assert_close(ours, plain)


class TestCentralisation:
    def test_takes_the_mean_over_inputs_from_matrices_only(self) -> None:
        matrix, vector, idle = (nn.Parameter(torch.zeros(shape)) for shape in ((3, 5), (3,), (2, 2)))
        gradient = torch.randn(3, 5)
        matrix.grad, vector.grad = gradient.clone(), torch.ones(3)
        centralise_gradients([matrix, vector, idle])
        torch.testing.assert_close(matrix.grad, gradient - gradient.mean(1, keepdim=True))
        torch.testing.assert_close(matrix.grad.sum(1), torch.zeros(3), rtol=0, atol=1e-6)
        assert torch.equal(vector.grad, torch.ones(3)) and idle.grad is None

    @pytest.mark.parametrize("family", ["bert", "modernbert", "deberta"])
    def test_is_for_the_backbones_matrices_not_for_head_embeddings_or_vectors(self, folder: Path, family: str) -> None:
        model = build_model(folder, family=family, train_decoder=True)
        chosen = ids(centralised_parameters(model))
        for module_name, module in model.named_modules():
            for name, parameter in module.named_parameters(recurse=False):
                inside = module_name.startswith("backbone.") and isinstance(module, nn.Linear) and name == "weight"
                assert (id(parameter) in chosen) == inside, f"{module_name}.{name}"
        assert chosen
