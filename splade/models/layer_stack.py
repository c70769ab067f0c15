"""The layers of a backbone one by one: bypassed, or followed by the head as if no further layer came."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn


def find_stack(model: nn.Module, layers: int) -> nn.ModuleList | None:
    """The list of a model's layers, which are so many; None if there is none."""
    return next((each for each in model.modules() if isinstance(each, nn.ModuleList) and len(each) == layers), None)


@contextmanager
def bypassed(layer: nn.Module) -> Iterator[None]:
    """Within the context, a layer hands its input on unchanged."""

    def hand_on(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        return _with_hidden(output, _hidden_input(args, kwargs))

    handle = layer.register_forward_hook(hand_on, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def after_each_layer(layers: Sequence[nn.Module], run: Callable[[], Tensor]) -> list[Tensor]:
    """What `run` gives when only the first 0, 1, … n of the n layers are there; the last is its own result.

    Each layer is computed once. What it gave is then handed to whatever follows the last layer (norms, a head), with
    all layers standing still.
    """
    inputs: list[Tensor] = []
    outputs: list[Any] = []

    def note(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        inputs.append(_hidden_input(args, kwargs))
        outputs.append(output)

    with ExitStack() as hooks:
        for layer in layers:
            hooks.callback(layer.register_forward_hook(note, with_kwargs=True).remove)
        whole = run()
    last, ended = outputs[-1], []
    for hidden in inputs:  # what came into a layer is what the layers before it gave
        with _still(layers, [*outputs[:-1], _with_hidden(last, hidden)]):
            ended.append(run())
    return [*ended, whole]


@contextmanager
def _still(layers: Sequence[nn.Module], outputs: Sequence[Any]) -> Iterator[None]:
    """Within the context, each layer gives what is in `outputs` and computes nothing."""
    with ExitStack() as restored:
        for layer, output in zip(layers, outputs, strict=True):
            own = vars(layer).get("forward")  # ordinarily none: the method is the class's
            restored.callback(*((setattr, layer, "forward", own) if own else (delattr, layer, "forward")))
            layer.forward = _giving(output)
        yield


def _giving(output: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: output


def _hidden_input(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    hidden: Tensor = args[0] if args else kwargs["hidden_states"]
    return hidden


def _with_hidden(output: Any, hidden: Tensor) -> Any:
    """A layer's output with other hidden states: some families give these alone, others first among several things."""
    return (hidden, *output[1:]) if isinstance(output, tuple) else hidden
