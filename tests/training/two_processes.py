"""Started by torchrun in `test_distributed`: trains by the command line, noting which rows this process trains on."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import torch

from splade.cli import app
from splade.tasks import Batch, ClassificationTask
from splade.training.loop import Trainer


def main() -> None:
    notes, arguments = Path(sys.argv[1]), sys.argv[2:]
    torch.set_num_threads(1)
    advance, batch = Trainer.advance, ClassificationTask.batch
    steps: list[list[int]] = []
    in_step = False

    def noting_steps(self: Trainer, interrupted: bool):  # type: ignore[no-untyped-def]
        nonlocal in_step
        steps.append([])
        in_step = True
        try:
            return advance(self, interrupted)
        finally:
            in_step = False

    def noting_rows(self: ClassificationTask, rows: np.ndarray) -> Batch:
        if in_step:
            steps[-1].extend(int(row) for row in rows)
        return batch(self, rows)

    Trainer.advance, ClassificationTask.batch = noting_steps, noting_rows  # type: ignore[method-assign,assignment]
    try:
        app(arguments, standalone_mode=False)
    finally:
        (notes / f"rows_{os.environ['RANK']}.json").write_text(json.dumps(steps))


if __name__ == "__main__":
    main()
