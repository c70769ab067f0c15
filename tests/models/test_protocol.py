"""A model inside another offers what the model itself does, and its parameters keep their roles."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from splade.models.protocol import LexicalModel, Model, is_lexical
from splade.models.roles import tensor_roles
from tests.builders import Wrapper, build_backbone_folder, build_dense, build_model, encode


def members(protocol: type) -> set[str]:
    """The names a protocol asks for."""
    asked = (set(vars(base)) for base in protocol.__mro__ if getattr(base, "_is_protocol", False))
    return {name for names in asked for name in names if not name.startswith("_")}


def test_wrapper_offers_all_that_a_model_must(tmp_path: Path) -> None:
    model = build_model(tmp_path)
    wrapper = Wrapper(model)
    asked = members(LexicalModel)
    assert {"labels", "encoder", "vocabulary", "classify", "tag", "decide", "named_parameters"} <= asked
    assert [name for name in asked if not hasattr(model, name)] == []
    assert [name for name in asked if not hasattr(wrapper, name)] == []
    assert is_lexical(wrapper)
    batch = encode(model, ["a good movie"])
    assert torch.equal(wrapper.classify(wrapper(*batch), batch[1]).logits, model.classify(model(*batch)).logits)


def test_dense_model_says_that_it_has_no_words(tmp_path: Path) -> None:
    dense = build_dense(tmp_path)
    assert [name for name in members(Model) if not hasattr(dense, name)] == []
    assert not is_lexical(dense)


@pytest.mark.parametrize("head", [True, False])
def test_modules_say_the_roles_of_their_parameters(tmp_path: Path, head: bool) -> None:
    """What was once read off the names."""
    family = build_backbone_folder(tmp_path, "bert", head=head).name
    model = build_model(tmp_path, family=family, support="neighbourhood+dictionary", pooling="attention")
    roles = tensor_roles(model)
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if ".reader." in name and isinstance(tensor, nn.Parameter):
            assert not tensor.requires_grad  # a copy that never learns, whatever its role
        elif ".gate." in name:
            assert roles[name] == "gate"
        elif name.startswith("backbone.model."):
            assert roles[name] == "backbone"
        elif isinstance(tensor, nn.Parameter):
            assert roles[name] == "head", name
    assert {"backbone", "head", "gate"} == set(roles.values())
    assert tensor_roles(Wrapper(model)) == {f"inside.{name}": role for name, role in roles.items()}
