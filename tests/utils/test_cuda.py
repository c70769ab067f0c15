"""Device, precision, seeds and memory."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from splade.utils import cuda


def test_device_is_one_that_computes() -> None:
    assert torch.ones(2, device=cuda.pick_device()).sum().item() == 2


def test_wanted_precision_is_given() -> None:
    cpu = torch.device("cpu")
    assert cuda.pick_dtype(cpu, "float32") is torch.float32
    assert cuda.pick_dtype(cpu, "bfloat16") is torch.bfloat16


@pytest.mark.parametrize(("fast", "expected"), [(True, torch.bfloat16), (False, torch.float32)])
def test_auto_precision_follows_the_hardware(
    monkeypatch: pytest.MonkeyPatch, fast: bool, expected: torch.dtype
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": fast, "avx2": True}, raising=False)
    assert cuda.pick_dtype(torch.device("cpu")) is expected
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: fast or including_emulation)
    assert cuda.pick_dtype(torch.device("cuda")) is expected
    assert cuda.pick_dtype(torch.device("mps")) is torch.float32


def test_one_seed_for_all_generators() -> None:
    def draw() -> tuple[float, float, float]:
        cuda.seed_everything(7)
        return random.random(), float(np.random.rand()), torch.rand(()).item()

    assert draw() == draw()


def test_memory_figures_are_in_megabytes() -> None:
    before = cuda.peak_rss_mb()
    block = torch.ones(64 * 1024 * 1024 // 4)  # 64 MB
    assert 20 < before <= cuda.peak_rss_mb() < 1_000_000
    assert block.sum() > 0
    assert 10 < cuda.available_memory_mb() < 100_000_000
