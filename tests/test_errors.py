from __future__ import annotations

import pytest

from splade import errors


def test_nearest_names_the_closest_choice_whatever_its_case() -> None:
    assert errors.nearest("epoch", ["seed", "epochs"]) == " Did you mean 'epochs'?"
    assert errors.nearest("POSITIV", ["Positive"]) == " Did you mean 'Positive'?"


def test_nearest_is_silent_when_nothing_is_close() -> None:
    assert errors.nearest("zebra", ["epochs", "seed"]) == ""
    assert errors.nearest("zebra", []) == ""


@pytest.mark.parametrize(
    "kind", ["ConfigError", "DataError", "BackboneError", "ModelError", "CheckpointError", "TrainingError"]
)
def test_every_kind_can_be_caught_as_one(kind: str) -> None:
    assert issubclass(getattr(errors, kind), errors.LexicalSAEError)
