"""What the machine offers: device, precision and memory, found by asking and never assumed; and one seed for all."""

from __future__ import annotations

import os
import random
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal

import numpy as np
import torch

Precision = Literal["auto", "float32", "bfloat16"]

# Instruction sets that multiply bfloat16 natively. Without one of them a CPU converts to float32 and back around every
# product, and bfloat16 is slower than float32.
CPU_BFLOAT16_FLAGS = ("avx512_bf16", "amx_bf16")

BYTES_PER_MB = 1024 * 1024


def pick_device() -> torch.device:
    """The fastest device present: CUDA, else Apple's MPS, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def pick_dtype(device: torch.device, wanted: Precision = "auto") -> torch.dtype:
    """The precision of the backbone's products; ``auto`` takes bfloat16 only where the hardware gains by it."""
    if wanted != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16}[wanted]
    if device.type == "cuda":
        # An emulated bfloat16 exists on older cards and is slower than float32 there.
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = device.type == "cpu" and _cpu_multiplies_bfloat16()
    return torch.bfloat16 if fast else torch.float32


def _cpu_multiplies_bfloat16() -> bool:
    if hasattr(torch.cpu, "get_capabilities"):  # public since torch 2.11
        capabilities = torch.cpu.get_capabilities()
        return any(capabilities.get(flag, False) for flag in CPU_BFLOAT16_FLAGS)
    cpuinfo = Path("/proc/cpuinfo")
    flags = set(cpuinfo.read_text(errors="replace").split()) if cpuinfo.exists() else set()
    return not flags.isdisjoint(CPU_BFLOAT16_FLAGS)


def seed_everything(seed: int) -> None:
    """Seed Python's, NumPy's and torch's generators, on every device."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # NumPy accepts 32 bits only
    torch.manual_seed(seed)


def peak_rss_mb() -> float:
    """The most memory this process has held so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / BYTES_PER_MB if sys.platform == "darwin" else peak / 1024  # macOS counts bytes, Linux kilobytes


def reset_peak_rss() -> None:
    """Count the peak from now on, where the system allows it (Linux); elsewhere it stays that of the whole process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def available_memory_mb() -> float:
    """Memory that can still be taken without swapping, in MB: what the kernel says, within the container's limit."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return min(int(line.split()[1]) / 1024, _container_memory_mb())
    pages = os.sysconf("SC_PHYS_PAGES")  # no such figure elsewhere: half of what is installed is a safe guess
    return pages * os.sysconf("SC_PAGE_SIZE") / BYTES_PER_MB / 2


def _container_memory_mb() -> float:
    """What the control group leaves of its limit; infinite where there is none."""
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = (group / "memory.max").read_text().strip(), (group / "memory.current").read_text().strip()
        return (int(limit) - int(used)) / BYTES_PER_MB
    except (OSError, ValueError):  # no such file, or the limit reads "max"
        return float("inf")
