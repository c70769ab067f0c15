"""The deletion loss: words are really deleted, and their shares are those of the explanation."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from splade import explain
from splade.config.loss_weights import LossWeights
from splade.config.schema import TrainingConfig
from splade.models.lexical_sae import LexicalSAE
from splade.training.deletion import KNEE, DeletionSettings, WordDeletion
from splade.training.objective import TERMS, Objective
from tests.builders import build_backbone_folder, build_model, encode

TEXTS = ["a charming film and a good story", "the plot is awful", "dull"]
LABELS = torch.tensor([1, 0, 0])


@pytest.fixture(scope="module", params=["max", "attention"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("models"), pooling=request.param).eval()


def gap(model: LexicalSAE, loss: WordDeletion) -> torch.Tensor:
    return loss(model, model(*encode(model, TEXTS)), LABELS)


def test_by_hand(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    """“charming” and “good” of the first text, “awful” of the second; the third is left alone."""
    deleted = {0: [1, 5], 1: [3]}

    def draw(self: WordDeletion, words: torch.Tensor) -> torch.Tensor:
        gone = torch.zeros_like(words, dtype=torch.bool)
        for text, chosen in deleted.items():
            gone[text] = torch.isin(words[text], torch.tensor(chosen))
        return gone

    monkeypatch.setattr(WordDeletion, "_draw", draw)
    gaps = []
    for text, chosen in deleted.items():
        words = TEXTS[text].split()
        shorter = " ".join(word for number, word in enumerate(words) if number not in chosen)
        target = model.labels[int(LABELS[text])]
        [whole], [without] = (explain(model, [each], target=target) for each in (TEXTS[text], shorter))
        share = sum(whole.words[number].score for number in chosen)
        effect = whole.logits[target] - without.logits[target]
        gaps.append(F.smooth_l1_loss(torch.tensor(effect), torch.tensor(share), beta=KNEE))
    found = gap(model, WordDeletion(DeletionSettings(deletion_steps=1.0)))
    torch.testing.assert_close(found, torch.stack(gaps).mean().expand(3), rtol=1e-4, atol=1e-5)


def test_it_is_drawn_what_the_settings_say() -> None:
    words = torch.tensor([[-1, 0, 1, 1, 2, 3, -1], [-1, 0, 1, -1, -1, -1, -1], [-1, 0, -1, -1, -1, -1, -1]])
    torch.manual_seed(0)
    most = 0
    for _ in range(50):
        gone = WordDeletion(DeletionSettings(deletion_steps=1.0, deletion_share=1.0, deletion_words=2))._draw(words)
        assert not gone[words < 0].any() and not gone[2].any(), "the only word of a text stays"
        assert bool(gone[0, 2]) == bool(gone[0, 3]), "a word goes with all its pieces"
        assert gone[1].sum() == 1
        most = max(most, len(words[0][gone[0]].unique()))
    assert most == 2
    many = words[:2].repeat(3, 1)
    loss = WordDeletion(DeletionSettings(deletion_steps=1.0, deletion_share=0.34))
    assert {int(loss._draw(many).any(1).sum()) for _ in range(9)} == {2}


def test_it_looks_in_a_share_of_the_steps_and_weighs_as_much_more(model: LexicalSAE) -> None:
    sequence, found = model(*encode(model, ["a charming film"] * 4)), {}
    for steps in (1.0, 0.25):
        torch.manual_seed(0)
        loss = WordDeletion(DeletionSettings(deletion_steps=steps, deletion_share=1.0))
        found[steps] = torch.stack([loss(model, sequence, torch.tensor([1, 0, 1, 0])).mean() for _ in range(200)])
    looked = found[0.25] > 0
    assert 0.15 < looked.float().mean() < 0.35
    assert found[0.25].mean().item() == pytest.approx(found[1.0].mean().item(), rel=0.4)


def test_dropout_takes_no_part(tmp_path: Path) -> None:
    """Neither the backbone's nor that of tokens, and the model is in training afterwards as before."""
    torch.manual_seed(0)
    build_backbone_folder(tmp_path, "bert", dropout=0.5)
    model = build_model(tmp_path, token_dropout=0.5)
    found = []
    for training in (False, True, True):
        model.train(training)
        torch.manual_seed(1)  # the words drawn
        sequence = model(*encode(model, TEXTS))
        torch.manual_seed(2)
        found.append(WordDeletion(DeletionSettings(deletion_steps=1.0, deletion_share=1.0))(model, sequence, LABELS))
        assert model.training == training and model.backbone.training == training
    torch.testing.assert_close(found[1], found[0])
    torch.testing.assert_close(found[2], found[0])


def test_without_dropout_only_the_shortened_texts_are_read(tmp_path: Path) -> None:
    """The batch's own states are then those of the whole texts in use; the loss and its gradient are the same."""
    torch.manual_seed(0)
    build_backbone_folder(tmp_path, "bert", dropout=0.5)
    model = build_model(tmp_path, token_dropout=0.5)
    loss, found = WordDeletion(DeletionSettings(deletion_steps=1.0, deletion_share=1.0)), []
    ids, mask = encode(model, TEXTS)
    for known in (False, True):
        model.train().backbone.train(not known)
        model.zero_grad()
        sequence = model(ids, mask)
        read: list[int] = []
        hook = model.backbone.register_forward_hook(lambda *call: read.append(len(call[1][0])))  # noqa: B023
        torch.manual_seed(2)
        gap = loss(model, sequence, LABELS)
        hook.remove()
        assert sum(read) == (2 if known else 4), "two texts have words to spare"
        assert model.training and model.backbone.training != known
        gap.mean().backward()
        gradient = torch.cat([p.grad.flatten() for p in model.backbone.parameters() if p.grad is not None])
        found.append((gap.detach(), gradient))
    torch.testing.assert_close(found[1][0], found[0][0])
    torch.testing.assert_close(found[1][1], found[0][1], rtol=1e-3, atol=1e-5)


def test_texts_of_one_word_have_nothing_to_delete(model: LexicalSAE) -> None:
    sequence = model(*encode(model, ["good", "dull"]))
    found = WordDeletion(DeletionSettings(deletion_steps=1.0))(model, sequence, torch.tensor([1, 0]))
    assert found.tolist() == [0, 0]


@pytest.mark.parametrize("weight, counts", [(2.0, True), (0.0, False)])
def test_it_is_a_term_of_the_objective_unless_it_weighs_nothing(model: LexicalSAE, weight: float, counts: bool) -> None:
    width = model.backbone.hidden_size
    sums = {}
    for chosen in (weight, 0.0):
        torch.manual_seed(0)
        weights = LossWeights(deletion=chosen, guide=0.0)
        objective = Objective(
            2, model.vocab_size, TrainingConfig(loss_weights=weights, deletion_steps=1.0, deletion_share=1.0), width
        )
        ids, mask = encode(model, TEXTS)
        sequence = model(ids, mask)
        loss, totals = objective(model, model.classify(sequence, mask), LABELS, False, 1.0, sequence)
        sums[chosen] = loss.item(), totals.sums[TERMS.index("deletion")].item()
    assert (sums[weight][1] > 0) == counts
    assert sums[weight][0] == pytest.approx(sums[0.0][0] + weight * sums[weight][1], abs=1e-4)


def test_a_few_steps_bring_shares_nearer_to_what_deletion_does(model: LexicalSAE) -> None:
    loss = WordDeletion(DeletionSettings(deletion_steps=1.0, deletion_share=1.0))
    head = [parameter.clone() for parameter in model.head.parameters()]
    optimizer, gaps = torch.optim.Adam(model.parameters(), 1e-3), []
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.head.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    for _ in range(40):
        found = gap(model, loss).mean()
        optimizer.zero_grad()
        found.backward()
        optimizer.step()
        gaps.append(found.item())
    assert sum(gaps[-10:]) < 0.7 * sum(gaps[:10])
    with torch.no_grad():
        for parameter, before in zip(model.head.parameters(), head, strict=True):
            parameter.copy_(before)
