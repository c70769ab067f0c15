"""The role of a parameter: what it is to training, said by the module it belongs to and not by its name.

A module says the role of everything inside it by an attribute ``parameter_role``; a module inside it may say another.
What nobody speaks for is new and learns as the head does. So a model inside another (a wrapper's, say) keeps its roles.
"""

from __future__ import annotations

from itertools import chain
from typing import Literal

from torch import nn

Role = Literal["backbone", "head", "gate"]
"""``backbone``: pretrained, moves slowly. ``head``: starts from nothing. ``gate``: thresholds, which are never decayed
and are held in the warm-up."""


def tensor_roles(module: nn.Module, inherited: Role = "head") -> dict[str, Role]:
    """The role of every parameter and buffer, by the names that `named_parameters` and `named_buffers` give."""
    role: Role = getattr(module, "parameter_role", inherited)
    tensors = chain(module.named_parameters(recurse=False), module.named_buffers(recurse=False))
    roles = {name: role for name, _ in tensors}
    for prefix, child in module.named_children():
        roles |= {f"{prefix}.{name}": role_inside for name, role_inside in tensor_roles(child, role).items()}
    return roles
