"""The first prediction of a new process, as someone at a command line waits for it, and where its seconds go.

Nothing can be faster than a program that loads torch and transformers' masked language models and does nothing, which
is measured beside it, as is `import torch`. "Cold" is the process, not the disk: all files
are in the system's cache, as they are from the second time on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.cold_parts import TEXT
from benchmarks.measure import Goal, Measurement, Result, seconds_ratio
from splade.config.schema import ModelConfig
from splade.errors import LexicalSAEError
from splade.models.backbone import Backbone
from splade.models.folder import WEIGHTS
from splade.models.lexical_sae import LexicalSAE

COMMAND = "lexical-sae predict"
PEAK = "from benchmarks.cold_parts import peak_mb; print(peak_mb())"
LOADS = {
    "import torch": "import torch",
    "import torch and a masked LM": "import torch; from transformers import AutoTokenizer, BertForMaskedLM",
}
LARGEST_RATIO = 1.1  # times loading the libraries: what is ours should not be noticed
MOST_SECONDS = 3.5


@dataclass(frozen=True)
class Process:
    """One process from its start to its end."""

    seconds: float
    cpu_seconds: float
    output: str


def run_process(*arguments: str) -> Process:
    """A new interpreter with these arguments."""
    start = time.time()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise LexicalSAEError(f"The process 'python {' '.join(arguments)}' failed; what it says above is the reason.")
    return Process(time.time() - start, usage.ru_utime + usage.ru_stime, output)


def run(rounds: int = 5, backbone: str = "minilm") -> list[Result]:
    """The command, its libraries alone, and the command in parts; in turns."""
    whole, parts = [], []
    alone: dict[str, list[Process]] = {name: [] for name in LOADS}
    with TemporaryDirectory() as place:
        folder = str(Path(place) / "model")
        save_untrained(backbone, folder)
        for _ in range(rounds):
            whole.append(run_process("-m", "splade", "predict", "--model", folder, TEXT))
            for name, load in LOADS.items():
                alone[name].append(run_process("-c", f"{load}; {PEAK}"))
            parts.append(run_process("-m", "benchmarks.cold_parts", folder, str(time.time())))
        weights_mb = (Path(folder) / WEIGHTS).stat().st_size / 1e6
    in_parts = _in_parts(min(parts, key=lambda each: each.seconds))
    command = _measurement(COMMAND, whole, in_parts[-1].peak_mb)
    loads = [_measurement(name, each, max(float(one.output) for one in each)) for name, each in alone.items()]
    goals = [
        Goal(f"the whole command, times {loads[-1].name}", seconds_ratio(command, loads[-1]), LARGEST_RATIO, True),
        Goal("seconds of the whole command, at best", command.best, MOST_SECONDS, True),
    ]
    setting = {"backbone": backbone, "weights MB": round(weights_mb), "rounds": rounds, "parts": "of the fastest round"}
    return [Result("One prediction in a new process", setting, [command, *loads, *in_parts], goals)]


def save_untrained(backbone: str, folder: str) -> None:
    """A model as large as a trained one; what it predicts does not matter here."""
    body, tokenizer = Backbone.from_name(backbone)
    LexicalSAE(body, tokenizer, ["no", "yes"], ModelConfig(name=backbone), max_length=64).save_pretrained(folder)


def _measurement(name: str, processes: list[Process], peak_mb: float) -> Measurement:
    """Of whole processes, which begin with nothing."""
    facts = {"cpu_s": min(each.cpu_seconds for each in processes)}
    return Measurement(name, [each.seconds for each in processes], peak_mb, peak_mb, facts)


def _in_parts(process: Process) -> list[Measurement]:
    """What `cold_parts` printed; what is missing of its seconds passed after it had printed."""
    found = json.loads(process.output)
    found["seconds"]["end of the process"] = process.seconds - sum(found["seconds"].values())
    measurements: list[Measurement] = []
    peak = 0.0
    for part, seconds in found["seconds"].items():
        before, peak = peak, max(peak, found["peaks_mb"].get(part, 0.0))
        measurements.append(Measurement(f"  {part}", [seconds], peak - before, peak, {}))
    return measurements
