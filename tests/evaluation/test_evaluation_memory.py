"""What an evaluation holds in memory grows with the texts, and not with the texts times the vocabulary."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from splade.studies.tiny_model import VOCABULARY

TEXTS = 2

MEASURE = """
import sys
from pathlib import Path

import torch

from splade.config.schema import EvaluationConfig, ModelConfig
from splade.data.types import TextSplit
from splade.evaluation.measure import References
from splade.evaluation.run import evaluate
from splade.studies.filler import SENTENCES
from splade.studies.tiny_model import tiny_model
from splade.tasks import ClassificationTask


def peak_mb():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


length, texts = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(1)
model = tiny_model(ModelConfig(support=sys.argv[3], neighbours=8, exclude_stop_words=False), seed=0)
words = [word for word in " ".join(SENTENCES).split() if len(model.tokenizer.tokenize(word)) == 1]
words = words * ((length + texts) // len(words) + 1)
room = length - 2  # the special tokens; a longer text would be a document of several windows
split = TextSplit([" ".join(words[n : n + room]) for n in range(texts)], [n % 2 for n in range(texts)])
task = ClassificationTask(split, model.tokenizer, length)
assert task.encoded.lengths.tolist() == [length] * texts
with torch.no_grad():
    for batch in task.in_order(texts, model.device):
        model.backbone(batch.input_ids, batch.attention_mask)
        model(batch.input_ids, batch.attention_mask)
before = peak_mb()
evaluation = evaluate(model, task, EvaluationConfig(), share=0.1, references=References(lambda: model.backbone))
print(peak_mb() - before, evaluation.to_json()["active_tokens"]["mean"])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_no_table_of_positions_and_vocabulary() -> None:
    """Beyond the backbone's own peak, at 4,096 tokens a text: less than one [B, L, V] table, with the whole vocabulary
    as the support. (Nearly all of it is what the allocator keeps: from 40 to 145 MB in runs of the same code.)"""
    added = {}
    for length in (512, 4096):
        command = [sys.executable, "-c", MEASURE, str(length), str(TEXTS), "full"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        added[length], active = map(float, done.stdout.split())
        assert active > 0
    table_mb = TEXTS * 4096 * VOCABULARY * 4 / 2**20  # in float32: 256 MB
    assert added[4096] < table_mb, added
