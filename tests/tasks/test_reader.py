"""The reader: every text once, in batches that fit, and whoever stops has lost nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from splade.data.batching import longest_first
from splade.errors import ConfigError, ModelError
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import ClassificationTask, read, read_texts
from splade.tasks.reader import check_logits
from tests.builders import build_model, toy_reviews


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("reader"))


def test_longest_first_in_a_stable_order() -> None:
    batches = [rows.tolist() for rows in longest_first([1, 3, 2, 3, 1], 2)]
    assert batches == [[1, 3], [2, 0], [4]]
    assert list(longest_first([], 2)) == []


@pytest.mark.parametrize("most", [1, 10, 64, 1000])
def test_positions_are_bounded_and_no_row_is_left_out(most: int) -> None:
    lengths = np.random.default_rng(0).integers(0, 40, 200)
    batches = list(longest_first(lengths, 16, most))
    assert sorted(row for rows in batches for row in rows) == list(range(200))
    assert all(len(rows) <= 16 and (len(rows) == 1 or len(rows) * lengths[rows].max() <= most) for rows in batches)


def test_a_task_is_read_whole_and_progress_is_told(model: LexicalSAE) -> None:
    task, done = ClassificationTask.unlabelled(toy_reviews(10)[0], model), []
    rows = [row for batch, state in read(model, task, 4, advance=done.append) for row in batch.places]
    assert sorted(rows) == list(range(10)) and done == [4, 4, 2]
    some = [row for batch, _ in read(model, task, 4, np.array([7, 2])) for row in batch.rows]
    assert sorted(some) == [2, 7]


def test_stopping_leaves_gradients_as_they_were(model: LexicalSAE) -> None:
    for _, state in read(model, ClassificationTask.unlabelled(toy_reviews(10)[0], model), 2):
        assert torch.is_grad_enabled() and not state.logits.requires_grad
        break
    for batch in read_texts(model, toy_reviews(10)[0], 2):
        assert torch.is_grad_enabled() and not batch.state.logits.requires_grad
        break
    assert torch.is_grad_enabled()


def test_texts_know_where_they_came_from(model: LexicalSAE) -> None:
    texts = ["good", "a very dull film", ""]
    batches = list(read_texts(model, texts, 2))
    assert [batch.rows for batch in batches] == [[1, 0], [2]]
    for batch in batches:
        assert [texts[row] for row in batch.rows] == [one.text for one in batch.texts]
        for one in batch.texts:
            assert "".join(one.text[a:b] for a, b in one.offsets) == one.text.replace(" ", "")
    with pytest.raises(ConfigError, match="batch_size"):
        list(read_texts(model, [], 0))


def test_what_is_no_number_is_refused() -> None:
    check_logits(torch.zeros(2, 2))
    with pytest.raises(ModelError, match="no numbers"):
        check_logits(torch.tensor([[0.0, float("nan")]]))
