"""Is a word's own token the strongest at its place: on activations made by hand, and against the dense definition."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from splade.config.schema import EvaluationConfig
from splade.data.types import TextSplit
from splade.evaluation.measure import Scope, Seen
from splade.evaluation.self_activation import SelfActivation
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask
from tests.builders import build_model


class MadeSequence:
    """Stands for what a model encodes: each word of `strongest` has one strongest token, and a weaker one."""

    def __init__(self, model: LexicalSAE, ids: Tensor, strongest: Mapping[str, str]):
        self.input_ids, self.encoder = ids, SimpleNamespace(vocab_size=model.vocab_size)
        self._names = model.tokenizer.convert_ids_to_tokens(ids.flatten().tolist())
        self._number, self._strongest = model.tokenizer.convert_tokens_to_ids, strongest

    def active_pairs(self) -> tuple[Tensor, Tensor, Tensor]:
        said = [(place, self._strongest[name]) for place, name in enumerate(self._names) if name in self._strongest]
        pairs = [(place, token, value) for place, name in said for token, value in (("camera", 1.0), (name, 2.0))]
        return (
            torch.tensor([place for place, _, _ in pairs], dtype=torch.long),
            torch.tensor([self._number(token) for _, token, _ in pairs], dtype=torch.long),
            torch.tensor([value for _, _, value in pairs]),
        )


@pytest.fixture
def model(tmp_path: Path) -> LexicalSAE:
    return build_model(tmp_path, "full", exclude_stop_words=False)


def measured(
    model: LexicalSAE, texts: list[str], strongest: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> float:
    """The share of texts in which each word's position speaks as `strongest` says."""
    monkeypatch.setattr(type(model), "forward", lambda self, ids, mask: MadeSequence(self, ids, strongest))
    task = ClassificationTask(TextSplit(texts, [0] * len(texts)), model.tokenizer, 64)
    measure = SelfActivation(Scope(model, task, EvaluationConfig(), share=0.1, sample=np.arange(len(texts))))
    unused: Any = None
    measure.update(Seen(task.batch(range(len(texts))), unused, unused, unused))
    assert measure.result().texts == len(texts)
    return measure.result().self_activation


def test_counts_words_whose_own_token_is_strongest(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"good": "good", "film": "movie", "bad": "bad", "[CLS]": "good"}  # plot is silent, [CLS] is no word
    assert measured(model, ["good film", "bad plot"], words, monkeypatch) == pytest.approx(2 / 3)
    assert measured(model, ["bad plot"], words, monkeypatch) == 1.0


def test_words_of_several_tokens_do_not_count(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = model.tokenizer.tokenize("gooding bad")
    assert len(pieces) > 2 and pieces[-1] == "bad"  # the first word is cut, though it begins with a word
    assert measured(model, ["gooding bad"], {pieces[0]: "movie", "bad": "bad"}, monkeypatch) == 1.0


def test_of_silence_is_zero(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    assert measured(model, ["good film", "bad plot"], {}, monkeypatch) == 0.0
