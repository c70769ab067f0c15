"""The tagging task in the one loop: its batches, its sample of circuits, and that a training repeats and resumes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from splade.config.schema import TrainingConfig
from splade.data.types import TaggedSplit
from splade.evaluation.mechanistic import all_logits
from splade.models.lexical_sae import LexicalSAE
from splade.tasks import TaggingTask, base
from splade.tasks import tagging as tasks
from splade.training import optim
from splade.training.constants import THRESHOLD_RAISE
from splade.training.interrupt import Interrupted
from splade.training.loop import Trainer
from splade.training.objective import TERMS, Objective
from splade.training.sequence_loop import train_sequence
from tests.builders import TAGS, build_dense, build_model, tagged_sentences

SETTINGS: dict[str, object] = {
    "optimizer": "schedule_free",
    "learning_rate": 1e-3,
    "head_learning_rate": 1e-2,
    "lr_warmup_steps": 2,
    "active_target": 6.0,
    "epochs": 2,
    "log_every": 1,
    "eval_every": 3,
}


def task(model: LexicalSAE, size: int, seed: int = 0, length: int = 64) -> TaggingTask:
    return TaggingTask(TaggedSplit(*tagged_sentences(size, seed)), model.tokenizer, length, TAGS)


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Trainer]:
    def trainer(folder: Path | None = None, **settings: object) -> Trainer:
        model = build_model(tmp_path, "dictionary", task="tagging")
        config = TrainingConfig(**{**SETTINGS, **settings})  # type: ignore[arg-type]
        return Trainer(model, task(model, 48), task(model, 16, 1), config, batch_size=8, seed=3, folder=folder)

    return trainer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("tagger"), "dictionary", task="tagging")


class TestBatches:
    def test_every_word_is_once_in_one_batch_with_its_tag_and_its_pieces(self, model: LexicalSAE) -> None:
        of = task(model, 20, length=10)  # long sentences are read in several windows
        assert len(of) > 20
        seen = np.zeros(len(of.labels), dtype=int)
        words = [word for sentence in of.split.sentences for word in sentence]
        for rows in of.batches(6, 0, shuffle=True).epoch(0):
            batch = of.batch(rows)
            assert batch.words is not None
            seen[batch.places] += 1
            assert batch.labels.tolist() == of.labels[batch.places].tolist()
            assert len(batch.labels) == of.size(rows) == int(batch.words.max()) + 1
            for number, place in enumerate(batch.places):
                pieces = batch.input_ids[batch.words == number]
                assert model.tokenizer.decode(pieces).replace(" ", "") == words[place]
        assert (seen == 1).all()

    def test_batches_to_measure_by_hold_every_sentence_once_and_few_of_the_long_ones(
        self, model: LexicalSAE, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        of = task(model, 20)
        most = 2 * int(of.encoded.lengths.max())
        monkeypatch.setattr(base, "POSITIONS_AT_A_TIME", most)
        batches = list(of.in_order(5, torch.device("cpu")))
        assert sorted(np.concatenate([batch.rows for batch in batches]).tolist()) == list(range(20))
        assert all(batch.input_ids.numel() <= most and len(batch.rows) <= 5 for batch in batches)
        assert len(batches[0].rows) == 2 < max(len(batch.rows) for batch in batches)

    def test_logits_come_back_in_the_order_of_the_words(self, model: LexicalSAE) -> None:
        of = task(model, 12)
        with torch.no_grad():
            found = all_logits(model, of, 5)
            alone = torch.cat([of.predict(model, of.batch([row])).logits for row in range(12)])
        torch.testing.assert_close(found, alone, atol=1e-5, rtol=0)

    def test_calibration_looks_at_one_word_a_window(self, model: LexicalSAE) -> None:
        of = task(model, 70)
        batches = of.calibration(np.arange(70), torch.device("cpu"), np.random.default_rng(0))
        assert [int(words.max()) + 1 for _, _, words in batches] == [64, 6]
        assert all(bool(((words >= 0).sum(1) > 0).all()) for _, _, words in batches)


def test_the_score_is_the_entity_f1_of_possible_sequences(model: LexicalSAE) -> None:
    of = task(model, 10)
    right = torch.nn.functional.one_hot(torch.from_numpy(of.labels), len(TAGS)).float() * 9
    assert of.score(right) == 1.0
    assert of.score(torch.zeros_like(right) + torch.eye(len(TAGS))[0]) == 0.0
    inside = right.clone()
    inside[:, 2] += 9.5  # I-LOC is the most probable tag everywhere, but only possible within a place
    assert (inside.argmax(1) == 2).all()
    assert of.decode(inside)[of.labels == 3].tolist() == [3] * int((of.labels == 3).sum())


class TestCircuits:
    def test_entities_and_as_many_others_are_looked_at(
        self, model: LexicalSAE, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        of, labels = task(model, 4), torch.tensor([0] * 30 + [1, 2, 3])
        chosen = of.circuit_rows(labels)
        assert chosen is not None and chosen.tolist() == sorted(chosen.tolist())
        assert set(chosen.tolist()) >= {30, 31, 32} and len(chosen) == 6
        none_named = of.circuit_rows(torch.zeros(9, dtype=torch.long))
        assert none_named is not None and len(none_named) == 1
        monkeypatch.setattr(tasks, "CIRCUIT_WORDS", 4)
        assert (labels[of.circuit_rows(labels)] > 0).tolist().count(True) == 2

    def test_losses_reach_the_backbone_and_stand_for_all_words(self, model: LexicalSAE) -> None:
        torch.manual_seed(0)
        of = task(model, 8)
        batch = of.batch(range(8))
        objective = Objective(len(TAGS), model.vocab_size, TrainingConfig(active_target=2.0))
        state, everything = of.predict(model.train(), batch), torch.arange(len(batch.labels))
        objective(model, state, batch.labels, True, 0.0)
        objective.end_step(lambda tensor: tensor, len(batch.labels))  # centroids to be near to
        sampled = [objective(model, state, batch.labels, True, 0.0, None, rows)[1].sums for rows in (None, everything)]
        torch.testing.assert_close(sampled[0], sampled[1], rtol=1e-4, atol=1e-4)
        some = of.circuit_rows(batch.labels)
        for name in ("completeness", "separation", "sparsity"):
            terms = objective._circuit_terms(model, state, batch.labels, some)
            assert terms[name].shape == batch.labels.shape
            model.zero_grad()
            terms[name].sum().backward(retain_graph=True)
            felt = [p.grad.abs().sum() for p in model.backbone.parameters() if p.grad is not None]
            assert float(sum(felt)) > 0, name
        model.eval()

    def test_what_goes_by_attributions_looks_at_the_sampled_words_alone(self, model: LexicalSAE) -> None:
        of, chosen = task(model, 8), torch.tensor([0, 3, 4, 11])
        batch = of.batch(range(8))
        config = TrainingConfig(active_target=2.0)
        sampled, alone = (Objective(len(TAGS), model.vocab_size, config) for _ in range(2))
        with torch.no_grad():
            state = of.predict(model.train(), batch)
            part, own = state.take(chosen), batch.labels[chosen]
            for _ in range(2):  # the second time with centroids
                found = sampled._circuit_terms(model, state, batch.labels, chosen)
                expected = alone._circuit_terms(model, part, own)
                for name in ("completeness", "separation"):
                    torch.testing.assert_close(found[name], expected[name].mean().expand(len(batch.labels)))
                sampled.end_step(lambda tensor: tensor, len(batch.labels))
                alone.end_step(lambda tensor: tensor, len(chosen))
        assert expected["separation"].sum() > 0
        torch.testing.assert_close(sampled.separation.centroids, alone.separation.centroids)
        assert sampled.separation.seen.tolist() == [tag in own for tag in range(len(TAGS))]
        model.eval()

    def test_the_loop_samples_in_the_circuit_phase(
        self, build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trainer = build(epochs=1)
        circuit_terms, seen = Objective._circuit_terms, []

        def noting(self: Objective, *args: object) -> object:
            seen.append((args[2], args[3]))
            return circuit_terms(self, *args)  # type: ignore[arg-type]

        monkeypatch.setattr(Objective, "_circuit_terms", noting)
        trainer.run()
        assert len(seen) == trainer.total - trainer.warmup > 0
        for labels, chosen in seen:
            assert chosen is not None
            assert set(chosen.tolist()) >= set((labels > 0).nonzero().flatten().tolist())  # the words of entities
        assert any(len(chosen) < len(labels) for labels, chosen in seen)  # and not all others

    def test_a_step_is_divided_by_its_words_not_by_its_sentences(self, build: Callable[..., Trainer]) -> None:
        trainer, words = build(epochs=1), 0
        trainer.start()
        while trainer.step < trainer.total:
            _, totals, _ = trainer.advance()
            words += totals.rows
            if trainer.step > trainer.warmup:  # what the sparsity pressure goes by
                active = float(totals.sums[TERMS.index("active")]) / totals.rows
                assert float(trainer.learner.objective.active_before) == pytest.approx(active)
        assert words == len(trainer.train_task.labels)

    def test_active_tokens_are_counted_at_all_words(self, model: LexicalSAE) -> None:
        of = task(model, 8)
        batch, objective = of.batch(range(8)), Objective(len(TAGS), model.vocab_size, TrainingConfig())
        state = of.predict(model.eval(), batch)
        _, totals = objective(model, state, batch.labels, True, 1.0, None, torch.tensor([0, 3]))
        objective.end_step(lambda tensor: tensor, len(batch.labels))
        mean = len(state.rows) / len(batch.labels)
        assert float(totals.sums[TERMS.index("active")]) / len(batch.labels) == pytest.approx(mean)
        assert float(objective.active_before) == pytest.approx(mean)


class TestTraining:
    def test_learns_names_and_keeps_what_it_validated(self, build: Callable[..., Trainer], tmp_path: Path) -> None:
        trainer = build(tmp_path / "run", epochs=6, eval_every=9)
        outcome = trainer.run()
        assert outcome.validation.keys() == {"f1", "ce", "active"} and outcome.validation["f1"] > 0.5
        with torch.no_grad():
            assert trainer.validate().figures() == pytest.approx(outcome.validation, abs=1e-6)
        lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
        circuit = [line for line in lines if line.get("phase") == "circuit" and "loss" in line]
        assert all(line["completeness"] >= 0 and line["separation"] > 0 and line["guide"] > 0 for line in circuit[1:])

    def test_validation_counts_active_tokens_at_labelled_words_alone(self, build: Callable[..., Trainer]) -> None:
        """Not at further pieces of a word, and a word, not a sentence."""
        trainer = build()
        model, of = trainer.model.eval(), trainer.validation_task
        with torch.no_grad():
            states = [of.predict(model, of.batch([row])) for row in range(len(of))]
            validation = trainer.validate()
        active, words = (sum(n) for n in zip(*((len(s.rows), len(s.logits)) for s in states), strict=True))
        assert words == len(of.labels) < sum(of.encoded.lengths) - 2 * len(of)  # some are of several pieces
        assert validation.active == pytest.approx(active / words)

    def test_the_same_seed_gives_the_same_weights(self, build: Callable[..., Trainer]) -> None:
        models = []
        for _ in range(2):
            trainer = build()
            trainer.run()
            models.append(trainer.model)
        for (name, a), (_, b) in zip(*(model.state_dict().items() for model in models), strict=True):
            assert torch.equal(a, b), name

    @pytest.mark.parametrize("stop_at", [3, 9])  # in the warm-up, and among sampled circuits
    def test_killed_and_resumed_it_ends_in_the_very_same_weights(
        self, build: Callable[..., Trainer], tmp_path: Path, stop_at: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = build(tmp_path / "whole", save_every=3)
        whole.run()
        cut = build(tmp_path / "cut", save_every=3)
        advance = cut.advance

        def until(*args: object) -> object:
            if cut.step == stop_at:
                raise Interrupted("killed")
            return advance(*args)  # type: ignore[arg-type]

        monkeypatch.setattr(cut, "advance", until)
        with pytest.raises(Interrupted):
            cut.run()
        again = build(tmp_path / "cut", save_every=3)
        torch.manual_seed(99)
        again.run(resume=True)
        for (name, a), (_, b) in zip(whole.model.state_dict().items(), again.model.state_dict().items(), strict=True):
            assert torch.equal(a, b), name

    @pytest.mark.parametrize("anchor", ["own_token", "frozen_scores", "register"])
    def test_anchors_read_the_labelled_words(self, build: Callable[..., Trainer], anchor: str) -> None:
        trainer = build(anchor=anchor)
        torch.nn.init.normal_(trainer.model.encoder.bias, std=0.1)  # no longer the model that an anchor holds on to
        batch = trainer.train_task.batch(range(4))
        state = trainer.train_task.predict(trainer.model, batch)
        assert trainer.learner.objective.anchor is not None
        loss = trainer.learner.objective.anchor(state.sequence, state, batch.labels)
        assert loss.shape == batch.labels.shape and float(loss.detach().sum()) > 0

    def test_by_the_name_the_documents_have(self, build: Callable[..., Trainer]) -> None:
        made = build()
        outcome = train_sequence(
            made.model,  # type: ignore[arg-type]
            made.train_task,  # type: ignore[arg-type]
            made.validation_task,  # type: ignore[arg-type]
            made.config,
            batch_size=8,
            seed=3,
            folder=None,
        )
        assert outcome.steps == 12

    def test_a_dense_head_trains_in_the_same_loop_on_first_pieces(
        self, build: Callable[..., Trainer], tmp_path: Path
    ) -> None:
        made = build()
        dense = build_dense(tmp_path, task="tagging")
        batch = made.train_task.batch(range(4))
        assert batch.words is not None
        hidden = dense(batch.input_ids, batch.attention_mask)
        places = [int((batch.words.flatten() == n).nonzero()[0]) for n in range(len(batch.labels))]
        expected = dense.head.fc2(torch.relu(dense.head.fc1(hidden.reshape(-1, 32)[places])))
        torch.testing.assert_close(dense.tag(hidden, batch.words).logits, expected)
        config = TrainingConfig(**{**SETTINGS, "recipe": "baseline", "epochs": 6})  # type: ignore[arg-type]
        trainer = Trainer(dense, made.train_task, made.validation_task, config, batch_size=8, seed=3, folder=None)
        assert trainer.run().validation["f1"] > 0.5


@pytest.mark.parametrize(("most", "rises"), [(50, True), (10**9, False)])
def test_a_warm_up_raises_all_thresholds_together_while_a_step_has_too_many_active_tokens(
    build: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch, most: int, rises: bool
) -> None:
    monkeypatch.setattr(optim, "LARGEST_ACTIVE_PER_STEP", most)
    trainer = build()
    gate = trainer.model.encoder.gate
    before = gate.theta.detach().clone()
    trainer.start()
    counts = []
    while trainer.step < trainer.warmup:
        _, totals, _ = trainer.advance()
        counts.append(float(totals.sums[TERMS.index("active")]))
    over = sum(count > most for count in counts)
    assert (over > 0) == rises
    torch.testing.assert_close(gate.theta.detach(), before * (1 + THRESHOLD_RAISE) ** over)
