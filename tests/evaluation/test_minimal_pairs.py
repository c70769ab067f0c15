"""Minimal pairs: how sentences are made, which adjectives take sides, and the figures by hand."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import MonkeyPatch

from splade.evaluation import minimal_pairs as module
from splade.evaluation.minimal_pairs import FORMS, PLAIN, SUBJECTS, Form, MinimalPairs, minimal_pairs, one_sided
from splade.explainers import Subject
from splade.inference import explain_batch
from splade.models.lexical_sae import LexicalSAE
from tests.builders import NEGATIVE, POSITIVE, build_model, toy_reviews


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("model"), exclude_stop_words=False)


@pytest.fixture
def subject(model: LexicalSAE) -> Subject:
    return Subject(model, model.tokenizer, model.max_length)


def test_a_sentence_knows_what_makes_the_difference() -> None:
    text, marked, adjective = Form("[does not fail to be] {}", negates=False).text("It", "good")
    assert text == "It does not fail to be good."
    assert [text[start:end] for start, end in marked] == ["does not fail to be"]
    assert text[slice(*adjective)] == "good"
    text, marked, adjective = FORMS["contracted"].text("The whole thing", "dull")
    assert text == "The whole thing isn't dull." and [text[start:end] for start, end in marked] == ["n't"]
    assert text[slice(*adjective)] == "dull"
    assert [form.title for form in FORMS.values()][:3] == ["is …", "is very …", "is not …"]
    assert FORMS[PLAIN].text("It", "good") == ("It is good.", [], (6, 10))


def test_adjectives_take_the_side_of_the_training_texts() -> None:
    texts = ["good film"] * 20 + ["a dull, bad film"] * 20 + ["Bad but lovely"] * 8 + ["lovely"] * 8 + ["fun"] * 2
    labels = np.array([1] * 20 + [0] * 20 + [0] * 8 + [1] * 8 + [1] * 2)
    good, bad = one_sided(texts, labels, 1)
    assert good == ["good"]  # lovely is in both, and two texts with fun may be chance
    assert bad == ["bad", "dull"]  # the most frequent first
    assert one_sided(texts, labels, 0) == (bad, good)  # the other label is the positive one


def test_rare_labels_count_as_much() -> None:
    """In every positive text and one negative in nine: positive, though more negative texts have it."""
    texts = ["good"] * 30 + ["good"] * 40 + ["plain"] * 320
    good, bad = one_sided(texts, np.array([1] * 30 + [0] * 360), 1)
    assert (good, bad) == (["good"], [])


def test_toy_reviews_take_sides() -> None:
    texts, labels = toy_reviews(400)
    good, bad = one_sided(texts, np.array(labels), 1)
    assert set(good) <= set(POSITIVE) and set(bad) <= set(NEGATIVE) and len(good) > 5 and len(bad) > 5


LARGEST = np.array([3.0, 1.0])
"""What the strongest word of each sentence contributes."""


def by_hand(monkeypatch: MonkeyPatch, subject: Subject, negated: dict[str, list[float]]) -> MinimalPairs:
    """One good and one bad adjective about one thing; a row of margin, difference, adjective and size for each."""
    plain = {"margin": [4.0, 2.0], "difference": [0.0, 0.0], "adjective": [3.0, 1.0], "size": [3.0, 1.0]}

    def contributions(_: Subject, form: Form, *asked: object) -> module._Contributions:
        values = negated if form.negates else plain
        return module._Contributions(**{name: np.array(value) for name, value in values.items()}, largest=LARGEST)

    monkeypatch.setattr(module, "_contributions", contributions)
    monkeypatch.setattr(module, "SUBJECTS", ("It",))
    return minimal_pairs(subject, 1, (["good"], ["bad"]), seed=0)


def means(pairs: MinimalPairs, form: str, side: str) -> list[float | None]:
    return [None if value is None else value.mean for value in vars(pairs.forms[form][side]).values()]


def test_figures_by_hand(monkeypatch: MonkeyPatch, subject: Subject) -> None:
    negated = {"margin": [-1.0, 1.0], "difference": [-2.0, 0.5], "adjective": [-0.5, 0.5], "size": [4.0, 2.0]}
    pairs = by_hand(monkeypatch, subject, negated)
    # right, moved, by the negation, by the adjective, turned, share on the negation, named, right where dense is
    assert means(pairs, "not", "positive") == [1.0, -5.0, -2.0, -3.5, 1.0, 0.5, 1.0, None]
    assert means(pairs, "not", "negative") == [0.0, -1.0, 0.5, -0.5, 0.0, 0.25, 1.0, None]
    assert means(pairs, PLAIN, "positive") == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, None, None]
    assert means(pairs, "double", "positive") == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None]
    assert (pairs.plain_right, pairs.texts, pairs.negated, pairs.negated_texts) == (1.0, 2, None, 0)
    assert pairs.named is not None and pairs.named.mean == 1.0


def test_a_negation_is_named_if_it_speaks_or_if_its_deletion_acts(monkeypatch: MonkeyPatch, subject: Subject) -> None:
    small = {"margin": [3.9, -2.0], "difference": [0.1, 0.0], "adjective": [3.0, 1.0], "size": [3.0, 1.0]}
    pairs = by_hand(monkeypatch, subject, small)  # the one moves 0.1 where a word has 3, the other 4 where one has 1
    assert (means(pairs, "not", "positive")[6], means(pairs, "not", "negative")[6]) == (0.0, 1.0)


def test_only_sentences_count_that_the_dense_head_gets_right(monkeypatch: MonkeyPatch, subject: Subject) -> None:
    """It is right about good and "not good", and about bad alone; ours follows with good and not with bad."""
    negated = {"margin": [-1.0, 1.0], "difference": [-2.0, 0.5], "adjective": [-0.5, 0.5], "size": [4.0, 2.0]}
    monkeypatch.setattr(module, "_margin", lambda _, form, *rest: np.array([-1.0, 1.0] if form.negates else [1.0, 1.0]))
    monkeypatch.setattr(module, "SUBJECTS", ("It",))
    by_hand(monkeypatch, subject, negated)
    pairs = minimal_pairs(subject, 1, (["good"], ["bad"]), seed=0, dense=subject)
    assert (means(pairs, "not", "positive")[7], means(pairs, "not", "negative")[7]) == (1.0, None)
    assert pairs.negated is not None and pairs.negated.mean == 1.0
    assert pairs.negated_texts == sum(form.negates for form in FORMS.values())


def test_an_explanation_that_does_not_see_the_negation_scores_nothing(
    monkeypatch: MonkeyPatch, subject: Subject
) -> None:
    deaf = {"margin": [4.0, 2.0], "difference": [0.0, 0.0], "adjective": [3.0, 1.0], "size": [3.0, 1.0]}
    assert means(by_hand(monkeypatch, subject, deaf), "never", "positive") == [0.0] * 7 + [None]


def test_silence_and_sentences_that_are_wrong_from_the_start_say_nothing(
    monkeypatch: MonkeyPatch, subject: Subject
) -> None:
    silent = {"margin": [-1.0, 1.0], "difference": [0.0, 0.0], "adjective": [0.0, 0.0], "size": [0.0, 0.0]}
    pairs = by_hand(monkeypatch, subject, silent)
    assert means(pairs, "not", "positive") == [1.0, -5.0, 0.0, -3.0, 0.0, None, 1.0, None]
    turned = {name: [-value for value in values] for name, values in silent.items()}

    def contributions(_: Subject, form: Form, *asked: object) -> module._Contributions:
        values = {name: -np.abs(np.array(value)) for name, value in turned.items()}
        return module._Contributions(**values, largest=LARGEST)

    monkeypatch.setattr(module, "_contributions", contributions)
    wrong = minimal_pairs(subject, 1, (["good"], ["bad"]), seed=0)
    assert wrong.plain_right == 0 and means(wrong, "not", "positive")[0] is None


def test_contributions_are_those_of_the_explanations(model: LexicalSAE, subject: Subject) -> None:
    asked = [("It", "good", 1), ("This", "dull", 0)]
    form = FORMS["never"]
    found = module._contributions(subject, form, asked, np.array([1, 0]))
    for row, (of, word, label) in enumerate(asked):
        text = form.text(of, word)[0]
        own, other = (explain_batch(model, [text], target=model.labels[target])[0] for target in (label, 1 - label))
        scores = {w.word: w.score - v.score for w, v in zip(own.words, other.words, strict=True)}
        assert found.margin[row] == pytest.approx(own.logits[own.target] - own.logits[other.target], abs=1e-4)
        assert found.difference[row] == pytest.approx(scores["never"], abs=1e-4)
        assert found.adjective[row] == pytest.approx(scores[word], abs=1e-4)
    assert np.abs(found.difference).sum() > 0 and np.abs(found.adjective).sum() > 0


def test_margins_of_any_model(subject: Subject) -> None:
    asked = [("It", "good", 1), ("This", "dull", 0)]
    found = module._margin(subject, FORMS["not"], asked, np.array([1, 0]))
    logits = subject.logits(["It is not good.", "This is not dull."])
    assert found.tolist() == pytest.approx([float(logits[0, 1] - logits[0, 0]), float(logits[1, 0] - logits[1, 1])])


def test_every_adjective_is_asked_about_every_thing(subject: Subject) -> None:
    pairs = minimal_pairs(subject, 1, (["good", "lovely"], ["dull"]), seed=0)
    assert pairs.texts == 3 * len(SUBJECTS) and set(pairs.forms) == set(FORMS)
    assert set(pairs.forms["not"]) == {"positive", "negative"}
    assert set(minimal_pairs(subject, 1, (["good"], []), seed=0).forms["not"]) == {"positive"}
