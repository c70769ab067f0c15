"""Refitting the head: nothing else learns, the same seed gives the same weights, and a biased model is mended."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from splade.models.lexical_sae import LexicalSAE
from splade.models.removal import Removal
from splade.surgery.chain import read_chain
from splade.surgery.codes import Codes, logits_of
from splade.surgery.fingerprint import parts_hash
from splade.surgery.refit import Labelled, RefitSettings, apply_refit, refit_head, with_head
from splade.surgery.verification import verify
from tests.builders import NEGATIVE, NOUNS, POSITIVE, build_model, toy_reviews
from tests.surgery.test_codes import read

QUICK = RefitSettings(refit_epochs=15, refit_learning_rate=0.02, refit_batch_size=16)
HEADS = ["relu_mlp", "tied_mlp", "bcos"]


def of_words(folder: Path, head: str = "relu_mlp") -> LexicalSAE:
    """A model in which every word speaks for itself alone, and says nothing yet."""
    model = build_model(folder, head=head, neighbours=1)
    with torch.no_grad():
        model.encoder.bias += 20.0
    return model


def labelled(model: LexicalSAE, texts: list[str], labels: list[int]) -> Labelled:
    return Labelled(read(model, texts), np.array(labels))


@pytest.mark.parametrize("head", HEADS)
def test_only_the_head_learns_and_the_same_seed_gives_the_same_weights(tmp_path: Path, head: str) -> None:
    model = of_words(tmp_path, head)
    data, before = labelled(model, *toy_reviews(64)), parts_hash(model)
    first, second, other = (refit_head(model, data, data, QUICK, seed=seed) for seed in (0, 0, 1))
    assert parts_hash(model) == before, "the model itself is left as it is"
    assert first.epoch > 0 and first.validation[first.epoch] == min(first.validation) < first.validation[0]
    assert all(torch.equal(first.weights[name], second.weights[name]) for name in first.weights)
    assert not all(torch.equal(first.weights[name], other.weights[name]) for name in first.weights)
    with with_head(model, first.weights):
        right = (logits_of(model, data.codes).argmax(1).numpy() == data.labels).mean()
        rest = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith("head.")}
    assert right > 0.9
    assert all(torch.equal(tensor, model.state_dict()[name]) for name, tensor in rest.items())


@pytest.mark.parametrize("head", HEADS)
def test_the_record_says_that_the_head_was_refitted(tmp_path: Path, head: str) -> None:
    model = of_words(tmp_path, head)
    data = labelled(model, *toy_reviews(32))
    refitted = refit_head(model, data, data, QUICK, seed=0)
    record = apply_refit(model, refitted, probes=["a good film"])
    assert record.operation == "change" and record.parts_before != record.parts
    assert "head was refitted" in record.account["reason"] and record.probes[0]["before"] != record.probes[0]["after"]
    assert len(read_chain(model.surgery)) == 1 and verify(model).records == 1
    model.save_pretrained(tmp_path / "saved")
    assert verify(LexicalSAE.from_pretrained(tmp_path / "saved")).records == 1


def test_a_text_that_weighs_nothing_teaches_nothing(tmp_path: Path) -> None:
    model = of_words(tmp_path)
    texts, labels = toy_reviews(64)
    wrong = [1 - label for label in labels]
    weights = np.array([1.0] * 64 + [0.0] * 64)
    both = Labelled(read(model, texts * 2), np.array(labels + wrong), weights)
    refitted = refit_head(model, both, labelled(model, texts, labels), QUICK, seed=0)
    with with_head(model, refitted.weights):
        assert (logits_of(model, read(model, texts)).argmax(1).numpy() == labels).mean() > 0.9


def trained(model: LexicalSAE, data: Labelled, codes: Codes | None = None) -> dict[str, torch.Tensor]:
    """A head that has learned as much as it can."""
    settings = RefitSettings(refit_epochs=12, refit_learning_rate=0.01, refit_batch_size=32)
    data = data if codes is None else Labelled(codes, data.labels)
    return refit_head(model, data, data, settings, seed=0).weights


def test_where_one_word_is_the_only_bias_its_removal_closes_the_gap_to_zero(tmp_path: Path) -> None:
    """Texts about a group are those with *london*; in training they are all positive, so that harmless ones are called
    so. Beside it all words of a text are shared by both groups, so that without it nothing tells them apart."""
    model = of_words(tmp_path)
    plain = [f"{noun} {word}" for noun in NOUNS[:6] for word in (POSITIVE[0], NEGATIVE[0])]
    labels = [index % 2 for index in range(len(plain))]
    about = [f"{text} london" for text in plain]
    data = labelled(model, [*plain, *about] * 16, [*labels, *([1] * len(about))] * 16)
    with with_head(model, trained(model, data)):
        test = read(model, [*plain, *about])

        def gap(codes: Codes) -> float:
            wrong = logits_of(model, codes).argmax(1).numpy() != np.array([*labels, *labels])
            return float(wrong[len(plain) :].mean() - wrong[: len(plain)].mean())

        assert gap(test) >= 0.4
        assert gap(test.without(model, Removal(words=frozenset(["london"])))) == 0.0


def biographies(number: int, coincide: bool, seed: int) -> tuple[list[str], list[int], list[int]]:
    """Sentences of people, their profession (what is asked) and gender: in training they coincide, in tests they do
    not. Four words in five that speak of the profession are right, those that speak of gender are all."""
    generator = random.Random(seed)
    work = (NOUNS[:10], NOUNS[10:20])
    people = (("man", "john"), ("woman", "mary"))
    texts, jobs, genders = [], [], []
    for index in range(number):
        job = index % 2
        gender = job if coincide else index // 2 % 2
        words = [generator.choice(work[job if generator.random() < 0.8 else 1 - job]) for _ in range(3)]
        texts.append(f"{generator.choice(people[gender])} likes " + " and ".join(words))
        jobs.append(job)
        genders.append(gender)
    return texts, jobs, genders


def worst_group(model: LexicalSAE, codes: Codes, jobs: list[int], genders: list[int]) -> float:
    right = logits_of(model, codes).argmax(1).numpy() == np.array(jobs)
    group = 2 * np.array(jobs) + np.array(genders)
    return min(float(right[group == each].mean()) for each in range(4))


def test_removal_and_a_refit_bring_the_worst_group_to_that_of_balanced_training(tmp_path: Path) -> None:
    """SHIFT's task (Marks et al. 2024): training texts whose gender and profession coincide, a balanced test."""
    model = of_words(tmp_path)
    texts, jobs, _ = biographies(800, True, 0)
    biased = labelled(model, texts, jobs)
    balanced = labelled(model, *biographies(800, False, 1)[:2])
    held_out, truth, genders = biographies(1000, False, 2)
    test, removal = read(model, held_out), Removal(words=frozenset(["man", "john", "woman", "mary"]))
    left = test.without(model, removal)
    with with_head(model, trained(model, biased)):
        before, removed = (worst_group(model, codes, truth, genders) for codes in (test, left))
        refitted = trained(model, biased, biased.codes.without(model, removal))
    with with_head(model, refitted):
        after = worst_group(model, left, truth, genders)
    with with_head(model, trained(model, balanced)):
        oracle = worst_group(model, test, truth, genders)
    assert before < oracle - 0.2, "the biased model goes by gender"
    assert removed > before
    assert after >= oracle - 0.02
