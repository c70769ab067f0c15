"""The model as a whole: its interface, its start, its precision, and that padding and mode change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from splade.errors import ConfigError
from splade.mechanistic.attribution import compute_attribution_tensor
from splade.models.layers.activation import GATES
from splade.models.lexical_sae import LexicalSAE
from tests.builders import build_model, encode, toy_reviews

TEXTS = [*toy_reviews(6, seed=3)[0], "an unwatchable journey", "the of is", ""]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module", params=["neighbourhood", "full", "dictionary", "neighbourhood+dictionary"])
def model(folder: Path, request: pytest.FixtureRequest) -> LexicalSAE:
    return build_model(folder, request.param, classes=3)


def test_the_interface(model: LexicalSAE) -> None:
    input_ids, mask = encode(model, TEXTS)
    sequence = model(input_ids, mask)
    state = model.classify(sequence, mask)
    rows, vocab = len(TEXTS), model.vocab_size
    assert state.logits.shape == state.b_eff.shape == (rows, 3)
    assert state.sparse_vector.shape == (rows, vocab)
    assert state.W_eff.shape == (rows, 3, vocab)
    assert len(state.scores) == len(state.rows)
    assert state.logits.requires_grad
    torch.testing.assert_close(model.classify(sequence).logits, state.logits)  # the mask is already in the sequence


def test_sparse_vector_is_the_maximum_of_the_dense_sequence(model: LexicalSAE) -> None:
    sequence = model(*encode(model, TEXTS))
    torch.testing.assert_close(sequence.to_dense().amax(1), model.classify(sequence).sparse_vector)


def test_a_word_is_suppressed_by_its_name(folder: Path) -> None:
    model = build_model(folder, "full").eval()
    batch = encode(model, TEXTS)
    before = model.classify(model(*batch)).sparse_vector
    whole = model.vocabulary.whole_word
    victim = int(torch.where(whole, (before > 0).sum(0), 0).argmax())
    assert before[:, victim].any()
    model.suppress(model.vocabulary.names[victim].upper())  # one word, in any case
    after = model.classify(model(*batch)).sparse_vector
    assert not after[:, victim].any()
    assert model.suppressed_words == [model.vocabulary.names[victim]]
    gone = (before > 0).any(0) & ~(after > 0).any(0)
    assert {model.vocabulary.names[token] for token in gone.nonzero().flatten()} == {model.vocabulary.names[victim]}
    with pytest.raises(ConfigError, match="'qwertyzzz' first"):
        model.suppress(["qwertyzzz"])


@pytest.mark.parametrize("head", ["relu_mlp", "tied_mlp"])
@pytest.mark.parametrize("gate", GATES.names())
def test_with_every_gate_the_logits_are_the_sum_of_the_words(folder: Path, gate: str, head: str) -> None:
    model = build_model(folder, "neighbourhood+dictionary", gate=gate, head=head)
    for training in (True, False):
        model.train(training)
        sequence = model(*encode(model, TEXTS))
        state = model.classify(sequence)
        torch.testing.assert_close(state.sparse_vector, sequence.to_dense().amax(1))
        recomputed = torch.einsum("rv,rcv->rc", state.sparse_vector, state.W_eff) + state.b_eff
        torch.testing.assert_close(state.logits, recomputed, atol=1e-4, rtol=0)
        for label in range(len(model.labels)):
            attribution = compute_attribution_tensor(state, torch.full((len(TEXTS),), label))
            torch.testing.assert_close(
                attribution.sum_rows() + state.b_eff[:, label], state.logits[:, label], atol=1e-4, rtol=0
            )
    assert (state.rows.value > 0).all() and len(state.rows) > 0


def test_the_gate_is_as_hard_in_training_as_in_evaluation(model: LexicalSAE) -> None:
    batch = encode(model, TEXTS)
    evaluated = model.classify(model(*batch))
    model.train()
    in_training = model.classify(model(*batch))
    model.eval()
    torch.testing.assert_close(in_training.sparse_vector, evaluated.sparse_vector)
    torch.testing.assert_close(in_training.logits, evaluated.logits)
    assert len(in_training.rows) > len(evaluated.rows)


def test_token_dropout_leaves_out_active_tokens_in_training_only(folder: Path) -> None:
    model = build_model(folder, "full", token_dropout=0.5)
    batch = encode(model, TEXTS)
    evaluated = model.classify(model(*batch))
    torch.testing.assert_close(evaluated.sparse_vector, model(*batch).to_dense().amax(1))
    torch.manual_seed(0)
    model.train()
    in_training = model.classify(model(*batch))
    active = model.encoder.gate.opens(in_training.scores, in_training.rows.token)
    kept = in_training.rows.value[active] > 0
    assert 0.3 < kept.float().mean() < 0.7
    torch.testing.assert_close(in_training.rows.value[active][kept], 2 * in_training.scores[active][kept])


def test_without_gradient_texts_are_read_a_few_at_a_time(model: LexicalSAE, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = encode(model, TEXTS)
    together = model(*batch).hidden  # gradients are on: at once
    seen = []
    model.backbone.register_forward_pre_hook(lambda _, args: seen.append(len(args[0])))
    monkeypatch.setattr("splade.models.lexical_sae.POSITIONS_AT_A_TIME", batch[0].shape[1])
    with torch.inference_mode():
        torch.testing.assert_close(model(*batch).hidden, together)
    assert seen == [1] * len(TEXTS)


def test_padding_changes_nothing(model: LexicalSAE) -> None:
    together = model.classify(model(*encode(model, TEXTS)))
    for number, text in enumerate(TEXTS):
        alone = model.classify(model(*encode(model, [text])))
        torch.testing.assert_close(alone.logits[0], together.logits[number], rtol=1e-4, atol=1e-4)


def test_a_text_with_nothing_to_say_is_decided_by_the_bias(model: LexicalSAE) -> None:
    state = model.classify(model(*encode(model, ["the of is"])))
    assert len(state.rows) == 0
    torch.testing.assert_close(state.logits, state.b_eff)


def test_decide_on_other_rows_masks_tokens_before_the_head(model: LexicalSAE) -> None:
    state = model.classify(model(*encode(model, TEXTS)))
    emptied = model.decide(state.rows.with_value(torch.zeros_like(state.rows.value)))
    nothing = model.decide(state.rows.select(torch.zeros(len(state.rows), dtype=torch.bool)))
    torch.testing.assert_close(emptied.logits, nothing.logits)
    torch.testing.assert_close(model.decide(state.rows).logits, state.logits)


def test_every_part_that_learns_gets_a_gradient(folder: Path) -> None:
    model = build_model(folder, "full").train()
    input_ids, mask = encode(model, TEXTS)
    (model.classify(model(input_ids, mask)).logits ** 2).sum().backward()
    silent = {n for n, p in model.named_parameters() if p.requires_grad and (p.grad is None or not p.grad.any())}
    assert not {name for name in silent if "key.bias" not in name}  # softmax ignores what all keys share
    assert model.encoder.weight.grad is None  # frozen, so that each token keeps its meaning


@pytest.mark.parametrize("support", ["neighbourhood", "full"])
@pytest.mark.parametrize("active", [6, 24])
def test_calibration_starts_near_the_number_of_active_tokens_asked_for(folder: Path, support: str, active: int) -> None:
    model = build_model(folder, support, active=active, neighbours=12)
    state = model.classify(model(*encode(model, toy_reviews(64, seed=9)[0])))
    assert 0.5 * active <= state.rows.counts.float().mean() <= 1.6 * active
    theta = model.encoder.gate.theta
    torch.testing.assert_close(theta, theta[:1].expand_as(theta))


def test_calibration_measures_in_the_unit_of_the_scores(folder: Path) -> None:
    """One learning rate and one bandwidth must suit a backbone whose scores are ten times as large."""
    model = build_model(folder, "full")
    gate, found = model.encoder.gate, []
    for factor in (1.0, 10.0):
        model.encoder.weight.data = factor * model.encoder.weight.data
        model.encoder.bias.data = factor * model.encoder.bias.data
        model.calibrate([encode(model, TEXTS)], 4.0)
        found.append((gate.scale.item(), gate.bandwidth, gate.theta[0].item()))
    assert found[1] == pytest.approx(tuple(10 * each for each in found[0]), rel=1e-3)


def test_calibration_ignores_padding(folder: Path) -> None:
    model = build_model(folder, "full", pooling="attention")
    ids, mask = encode(model, TEXTS)
    # Not the padding token: a word that would be scored if it were read.
    padded = torch.cat([ids, ids[0, 2].expand(len(ids), 5)], 1), torch.cat([mask, mask.new_zeros(len(ids), 5)], 1)
    found = []
    for batch in ((ids, mask), padded):
        model.calibrate([batch], 4.0)
        found.append(
            (model.encoder.pooling.gain.item(), model.encoder.gate.scale.item(), model.encoder.gate.theta[0].item())
        )
    assert found[0] == pytest.approx(found[1], rel=1e-4)
    assert found[0][0] == pytest.approx(mask.sum().item() / len(TEXTS))


def test_calibration_leaves_the_mode_as_it_was(folder: Path) -> None:
    model = build_model(folder).train()
    model.calibrate([encode(model, TEXTS)], 4.0)
    assert model.training
    model.eval().calibrate([encode(model, TEXTS)], 4.0)
    assert not model.training


def test_calibration_on_texts_with_nothing_to_say_still_gives_a_usable_gate(folder: Path) -> None:
    model = build_model(folder)
    model.calibrate([encode(model, ["the", "of it"])], 4.0)
    assert torch.isfinite(model.encoder.gate.theta).all() and (model.encoder.gate.theta > 0).all()


def test_bfloat16_is_for_the_backbone_alone(folder: Path) -> None:
    rough = build_model(folder, "full", dtype="bfloat16")
    sequence = rough(*encode(rough, TEXTS))
    state = rough.classify(sequence)
    assert sequence.hidden.dtype == torch.bfloat16
    assert state.logits.dtype == state.rows.value.dtype == rough.encoder.gate.theta.dtype == torch.float32
    total = torch.einsum("rv,rcv->rc", state.sparse_vector, state.W_eff) + state.b_eff
    torch.testing.assert_close(total, state.logits, rtol=0, atol=1e-4)  # exact although the backbone is not
    with torch.autocast("cpu", torch.bfloat16):  # a caller's own autocast does not reach the head either
        again = rough.decide(state.rows)
    torch.testing.assert_close(again.logits, state.logits, rtol=0, atol=0)


def test_max_length_is_never_more_than_the_backbone_takes(folder: Path) -> None:
    model = build_model(folder)
    again = LexicalSAE(model.backbone, model.tokenizer, ["a", "b"], model.config, max_length=10_000)
    assert again.max_length == model.backbone.max_length
