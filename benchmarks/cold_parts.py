"""One prediction in a new process, as `lexical-sae predict` does it, and the seconds of its parts.

`python -m benchmarks.cold_parts FOLDER STARTED`, with the time at which it was started; prints JSON. Nothing heavy may
be imported here before it is measured.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

TEXT = "A charming film."


def peak_mb() -> float:
    """The most memory this process has held. What the kernel tells of an ended process counts its parent's too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


class Stopwatch:
    """Seconds of what comes one after the other, and of calls within."""

    def __init__(self, started: float) -> None:
        self.seconds: dict[str, float] = {}
        self.peaks_mb: dict[str, float] = {}
        self._last = started

    def lap(self, part: str) -> None:
        """All since the last lap was this part, but for the calls that have their own."""
        now = time.time()
        self._add(part, now - self._last)
        self._last = now

    def watch(self, owner: Any, function: str, part: str) -> None:
        """Calls of a function become a part of their own."""
        original = getattr(owner, function)

        def watched(*args: Any, **options: Any) -> Any:
            start = time.time()
            try:
                return original(*args, **options)
            finally:
                took = time.time() - start
                self._add(part, took)
                self._last += took

        setattr(owner, function, watched)

    def _add(self, part: str, seconds: float) -> None:
        self.seconds[part] = self.seconds.get(part, 0.0) + seconds
        self.peaks_mb[part] = peak_mb()


def main(folder: str, started: float) -> None:
    watch = Stopwatch(started)
    watch.lap("interpreter")
    from splade.cli.answers import UNUSED
    from splade.utils.startup import startup

    watch.lap("command line")
    with startup(without=UNUSED):
        import torch  # noqa: F401

        watch.lap("import torch")
        from transformers import AutoTokenizer

        from splade.inference import predict_batch
        from splade.models.backbone import Backbone
        from splade.models.lexical_sae import LexicalSAE
        from splade.models.vocabulary import Vocabulary

        watch.lap("other imports")
        watch.watch(Backbone, "from_config", "model folder: backbone")
        watch.watch(AutoTokenizer, "from_pretrained", "model folder: tokenizer")
        watch.watch(Vocabulary, "from_tokenizer", "model folder: vocabulary")
        watch.watch(LexicalSAE, "load_state_dict", "model folder: weights")
        model = LexicalSAE.from_pretrained(folder)
        watch.lap("model folder: the rest")
    predict_batch(model, [TEXT])
    watch.lap("first prediction")
    print(json.dumps({"seconds": watch.seconds, "peaks_mb": watch.peaks_mb}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
