"""Is a word's own token the most active at its place: on activations made by hand, and against the dense definition."""

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
from splade.data.types import TaggedSplit, TextSplit
from splade.evaluation.measure import Scope, Seen
from splade.evaluation.run import evaluate
from splade.evaluation.self_activation import SelfActivation, most_active_columns
from splade.models.encoder import SparseSequence
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask, TaggingTask
from tests.builders import TAGS, build_model, encode, tagged_sentences
from tests.models.test_active_pairs import SUPPORTS, TEXTS, with_senses


class MadeSequence:
    """Stands for what a model encodes: each word of `most_active` has one most active token, and a weaker one."""

    def __init__(self, model: LexicalSAE, ids: Tensor, most_active: Mapping[str, str]):
        self.input_ids, self.encoder = ids, SimpleNamespace(vocab_size=model.vocab_size)
        self._names = model.tokenizer.convert_ids_to_tokens(ids.flatten().tolist())
        self._number, self._most_active = model.tokenizer.convert_tokens_to_ids, most_active

    def active_pairs(self) -> tuple[Tensor, Tensor, Tensor]:
        said = [(place, self._most_active[name]) for place, name in enumerate(self._names) if name in self._most_active]
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
    model: LexicalSAE, texts: list[str], most_active: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> float:
    """The share of texts in which each word's position speaks as `most_active` says."""
    monkeypatch.setattr(type(model), "forward", lambda self, ids, mask: MadeSequence(self, ids, most_active))
    task = ClassificationTask(TextSplit(texts, [0] * len(texts)), model.tokenizer, 64)
    measure = SelfActivation(Scope(model, task, EvaluationConfig(), share=0.1, sample=np.arange(len(texts))))
    unused: Any = None
    measure.update(Seen(task.batch(range(len(texts))), unused, unused, unused))
    assert measure.result().texts == len(texts)
    return measure.result().self_activation


def test_counts_words_whose_own_token_is_the_most_active(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"good": "good", "film": "movie", "bad": "bad", "[CLS]": "good"}  # plot is silent, [CLS] is no word
    assert measured(model, ["good film", "bad plot"], words, monkeypatch) == pytest.approx(2 / 3)
    assert measured(model, ["bad plot"], words, monkeypatch) == 1.0


def test_words_of_several_tokens_do_not_count(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = model.tokenizer.tokenize("gooding bad")
    assert len(pieces) > 2 and pieces[-1] == "bad"  # the first word is cut, though it begins with a word
    assert measured(model, ["gooding bad"], {pieces[0]: "movie", "bad": "bad"}, monkeypatch) == 1.0


def test_of_silence_is_zero(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    assert measured(model, ["good film", "bad plot"], {}, monkeypatch) == 0.0


class TestStrongestColumns:
    """Against the plain definition: the highest of all V activations at a position, −1 where none is above zero."""

    def check(self, sequence: SparseSequence) -> Tensor:
        with torch.no_grad():
            found, (value, column) = most_active_columns(sequence), sequence.to_dense().max(-1)  # (B, L)
        assert torch.equal(found, torch.where(value > 0, column, -1))
        assert bool((found >= 0).any()) and bool((found < 0).any())
        return found

    @pytest.mark.parametrize("support", SUPPORTS)
    def test_of_a_classifier(self, tmp_path: Path, support: str) -> None:
        model = build_model(tmp_path, support, active=40)
        self.check(model(*encode(model, TEXTS)))

    @pytest.mark.parametrize("support", SUPPORTS)
    def test_with_senses(self, tmp_path: Path, support: str) -> None:
        model = with_senses(tmp_path, support)
        assert bool((self.check(model(*encode(model, TEXTS))) >= len(model.encoder.bias)).any())

    @pytest.mark.parametrize("support", SUPPORTS)
    def test_at_the_words_of_a_tagger(self, tmp_path: Path, support: str) -> None:
        model = build_model(tmp_path, support, task="tagging", active=20)
        task = TaggingTask(TaggedSplit(*tagged_sentences(8)), model.tokenizer, 10, TAGS)
        for batch in task.in_order(4, model.device):
            self.check(task.sequence(model, batch))

    def test_of_equal_activations_the_first_column_counts(self) -> None:
        """As `max` does over a dense tensor."""
        pairs = torch.tensor([1, 1, 1, 2]), torch.tensor([7, 3, 5, 9]), torch.tensor([2.0, 2.0, 1.0, 0.5])
        made = SimpleNamespace(
            active_pairs=lambda: pairs,
            input_ids=torch.zeros(2, 2, dtype=torch.long),
            encoder=SimpleNamespace(vocab_size=10),
        )
        assert most_active_columns(made).tolist() == [[-1, 3], [9, -1]]  # type: ignore[arg-type]


@pytest.mark.parametrize("support", SUPPORTS)
def test_the_figure_is_that_of_the_dense_definition(tmp_path: Path, support: str) -> None:
    model = with_senses(tmp_path, support)
    task = ClassificationTask(TextSplit(TEXTS, [0] * len(TEXTS)), model.tokenizer, 64)
    config = EvaluationConfig(batch_size=3, measures=["self_activation"])
    found = evaluate(model, task, config, share=0.1)[SelfActivation].self_activation
    own = spoken = 0
    for text in TEXTS:  # a text at a time, word by word
        ids, mask = encode(model, [text])
        with torch.no_grad():
            activations = model(ids, mask).to_dense()[0]  # (L, V)
        names = model.tokenizer.convert_ids_to_tokens(ids[0].tolist())
        for place, name in enumerate(names[:-1]):
            whole = name.isalnum() and not names[place + 1].startswith("##")
            if whole and float(activations[place].max()) > 0:
                spoken += 1
                own += int(model.encoder.base[activations[place].argmax()] == ids[0, place])
    assert spoken > 10 and found == pytest.approx(own / spoken)
