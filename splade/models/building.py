"""Building networks one at a time, and without memory for weights that a file will fill."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

ONE_AT_A_TIME = threading.RLock()
"""Held while a network is built: transformers changes torch's own functions meanwhile, for all threads, and two that do
so at once would leave them changed."""


class ShapesOnly(TorchFunctionMode):
    """Within, in this thread alone, `torch.empty`, by which parameters are made, gives a shape without memory."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        options = dict(kwargs or {})
        if function is torch.empty:
            options["device"] = "meta"
        return function(*args, **options)
