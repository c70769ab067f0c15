"""The role of a parameter: what it is to training, said by the module it belongs to and not by its name.

A module says the role of everything inside it by an attribute ``parameter_role``; a module inside it may say another.
What nobody speaks for is new and learns as the head does. So a model inside another (a wrapper's, say) keeps its roles.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

Role = Literal["backbone", "head", "gate"]
"""``backbone``: pretrained, moves slowly. ``head``: starts from nothing. ``gate``: thresholds, which are never decayed
and are held in the warm-up."""


class Module(Protocol):
    """What training needs of `nn.Module`, whose methods these are."""

    @property
    def training(self) -> bool: ...
    def train(self, mode: bool = True) -> Any: ...
    def eval(self) -> Any: ...
    def to(self, device: torch.device, /) -> Any: ...
    def modules(self) -> Iterator[nn.Module]: ...
    def named_children(self) -> Iterator[tuple[str, nn.Module]]: ...
    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]: ...
    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, nn.Parameter]]: ...
    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]: ...


def tensor_roles(module: Module, inherited: Role = "head") -> dict[str, Role]:
    """The role of every parameter and buffer, by the names that `named_parameters` and `named_buffers` give."""
    role: Role = getattr(module, "parameter_role", inherited)
    tensors = chain(module.named_parameters(recurse=False), module.named_buffers(recurse=False))
    roles = {name: role for name, _ in tensors}
    for prefix, child in module.named_children():
        roles |= {f"{prefix}.{name}": role_inside for name, role_inside in tensor_roles(child, role).items()}
    return roles
