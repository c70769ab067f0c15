"""The deletion loss of a tagger whose words speak for one another: by hand, and where there is nothing to compare."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from splade.config.loss_weights import LossWeights
from splade.config.schema import TrainingConfig
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import TaggingTask
from splade.training.deletion import KNEE, DeletionSettings, WordDeletion
from splade.training.objective import TERMS, Objective
from tests.builders import TAGS
from tests.models.test_context import build_tagger

SENTENCES = [["john", "unwatchable", "bank"], ["paris", "good"], ["movie"]]
DELETED = {0: 1, 1: 0}
LABELS = torch.tensor([3, 4, 0, 1, 0, 2])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_tagger(tmp_path_factory.mktemp("tagger"))


def draw(self: WordDeletion, words: torch.Tensor) -> torch.Tensor:
    gone = torch.zeros_like(words, dtype=torch.bool)
    for text, number in DELETED.items():
        gone[text] = words[text] == number
    return gone


def logit_and_share(model: LexicalSAE, words: list[str], number: int, label: int, other: int) -> tuple[float, float]:
    [found] = model.explain([words], word=number, target=TAGS[label])
    [entry] = found.explained
    shares = {number + word.offset: word.score for word in entry.explanation.words}
    return entry.explanation.logits[TAGS[label]], shares.get(other, 0.0)


def test_by_hand(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    gaps, first = [], 0
    for text, words in enumerate(SENTENCES):
        gone = DELETED.get(text)
        for number in range(len(words)) if gone is not None else ():
            if number == gone or gone is None:
                continue
            label = int(LABELS[first + number])
            whole, share = logit_and_share(model, words, number, label, gone)
            shorter = [word for place, word in enumerate(words) if place != gone]
            without, _ = logit_and_share(model, shorter, number - (number > gone), label, -1)
            gaps.append(F.smooth_l1_loss(torch.tensor(whole - without), torch.tensor(share), beta=KNEE))
        first += len(words)
    assert len(gaps) == 3
    monkeypatch.setattr(WordDeletion, "_draw", draw)
    task = TaggingTask.unlabelled(SENTENCES, model)
    batch = task.batch(range(3))
    state = task.predict(model, batch)
    loss = WordDeletion(DeletionSettings(deletion_steps=1.0))(model, state.sequence, LABELS)
    torch.testing.assert_close(loss, torch.stack(gaps).mean().expand(6), rtol=1e-4, atol=1e-5)


def test_of_nothing(model: LexicalSAE) -> None:
    """Sentences of one word keep it."""
    task = TaggingTask.unlabelled([["movie"], ["john"]], model)
    state = task.predict(model, task.batch(range(2)))
    loss = WordDeletion(DeletionSettings(deletion_steps=1.0, deletion_share=1.0))  # type: ignore[call-arg]
    assert loss(model, state.sequence, torch.tensor([0, 3])).tolist() == [0, 0]


@pytest.mark.parametrize("context, counts", [(2, True), (0, False)])
def test_a_term_of_the_objective_where_words_speak_for_others(tmp_path: Path, context: int, counts: bool) -> None:
    model = build_tagger(tmp_path, context=context)
    task = TaggingTask.unlabelled(SENTENCES, model)
    state = task.predict(model, task.batch(range(3)))
    weights = TrainingConfig(loss_weights=LossWeights(deletion=1.0), deletion_steps=1.0, deletion_share=1.0)  # type: ignore[call-arg]
    objective = Objective(len(TAGS), model.vocab_size, weights, model.backbone.hidden_size)
    loss, totals = objective(model, state, LABELS, False, 1.0)
    loss.backward()
    assert (float(totals.sums[TERMS.index("deletion")]) > 0) == counts
