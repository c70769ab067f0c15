"""Every condition on a tiny model, and the parts that they are made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from splade.config.surgery import SurgeryConfig
from splade.data.types import TextSplit
from splade.errors import ConfigError, DataError
from splade.models.lexical_sae import LexicalSAE
from splade.models.removal import Removal
from splade.studies.conditions import CONDITIONS, WORD_CHOICES
from splade.studies.conditions.balanced import balancing_weights
from splade.studies.conditions.base import PLAIN, Bench, ChosenWords, wanted_conditions
from splade.studies.conditions.blind import BlindSettings, without_terms
from splade.studies.conditions.carriers import carried, said
from splade.studies.conditions.coded import CodedTexts
from splade.studies.conditions.erasure import ERASED
from splade.studies.conditions.suppression import matched_words
from splade.surgery.codes import Codes, as_it_is, read_codes
from splade.surgery.concept_file import write_concept
from splade.surgery.concepts import find_concept
from splade.surgery.suppressed_model import SuppressedModel
from splade.tasks import ClassificationTask
from tests.builders import NEGATIVE, NOUNS, POSITIVE, build_model, toy_reviews
from tests.surgery.concept_texts import concept_texts, plain_model
from tests.surgery.models import state_of

QUICK = {"refit_epochs": 1, "random_draws": 2, "gap_steps": 2, "gap_words": 1}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LexicalSAE:
    return build_model(tmp_path_factory.mktemp("conditions"))


def coded(model: LexicalSAE, name: str, number: int, seed: int) -> CodedTexts:
    texts, labels = toy_reviews(number, seed)
    members = {"film": np.array([bool({*NOUNS[:12]} & {*text.split()}) for text in texts])}
    task = ClassificationTask(TextSplit(texts, labels), model.tokenizer, model.max_length)
    codes, hidden = read_codes(model, task, {PLAIN: as_it_is}, 32, hidden=True)
    assert hidden is not None
    positive = np.array(labels) == 1
    return CodedTexts(name, texts, positive, np.array(labels), members, codes, "", None, {PLAIN: hidden})


@pytest.fixture(scope="module")
def bench(model: LexicalSAE) -> Bench:
    training, validation, test = (
        coded(model, name, number, seed)
        for name, number, seed in (("train", 240, 0), ("validation", 240, 1), ("test", 160, 2))
    )
    _, view = CONDITIONS.get("leace_hidden").view(training)
    for part in (training, validation, test):
        task = ClassificationTask(TextSplit(part.texts, part.labels.tolist()), model.tokenizer, model.max_length)
        part.codes.update(read_codes(model, task, {ERASED: view}, 32)[0])

    def blind(part: CodedTexts) -> Codes:
        return part.codes[PLAIN].without(model, Removal(words=frozenset(NOUNS)))

    settings = SurgeryConfig(**QUICK)
    chosen = ChosenWords(["good", "film"], Removal(words=frozenset(["good", "film"])), "By hand.", [])
    return Bench(model, settings, np.array([False, True]), training, validation, {"test": test}, 0, blind, chosen)


@pytest.mark.parametrize("name", CONDITIONS.names())
def test_every_condition_scores_all_texts(bench: Bench, name: str) -> None:
    condition = CONDITIONS.get(name)
    ran = list(condition(bench).run())
    assert len(ran) == (2 if name.startswith("random") else 1)
    for each in ran:
        assert {part: scores.shape for part, scores in each.scores.items()} == {"validation": (240,), "test": (160,)}
        assert all(np.isfinite(scores).all() for scores in each.scores.values())
        assert (each.refit_epoch is not None) == condition.refits
    assert condition.title and condition.about.endswith(".")
    [again, *_] = condition(bench).run()
    assert np.array_equal(again.scores["test"], ran[0].scores["test"]), "the same seed gives the same scores"


def test_suppression_is_what_the_suppressed_model_says(bench: Bench, model: LexicalSAE) -> None:
    [ran] = CONDITIONS.get("suppression")(bench).run()
    logits = state_of(SuppressedModel(model, words=["good", "film"]), bench.tests["test"].texts).logits
    assert ran.scores["test"] == pytest.approx((logits[:, 1] - logits[:, 0]).numpy(), abs=1e-4)


def test_which_are_run_and_in_which_order() -> None:
    names = [each.title for each in wanted_conditions(SurgeryConfig(conditions=["balanced", "suppression"]))]
    assert names == ["baseline", "suppression", "balanced refit (oracle)"]
    assert len(wanted_conditions(SurgeryConfig())) == len(CONDITIONS.names())


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=40, max_size=80))
def test_balanced_weights_make_groups_and_labels_independent(rows: list[tuple[bool, bool, bool]]) -> None:
    every = [*rows, *3 * [(label, one, not one) for label in (True, False) for one in (True, False)]]
    positive, first, second = (np.array(column) for column in zip(*every, strict=True))
    weights = balancing_weights(positive, {"first": first, "second": second})
    share = positive.mean()
    assert weights.mean() == pytest.approx(1.0) and (weights >= 0).all()
    before, after = (
        max(abs(np.average(positive[inside], weights=each[inside]) - share) for inside in (first, second))
        for each in (np.ones(len(positive)), weights)
    )
    assert after <= max(0.02, before / 2)


def test_random_words_are_as_frequent_as_those_removed(bench: Bench) -> None:
    codes, words = bench.training.codes[PLAIN], [NOUNS[0], POSITIVE[0], NEGATIVE[1]]
    drawn = matched_words(codes, words, 3)
    assert len(drawn) == len(set(drawn)) == 3 and not {*drawn} & {*words}
    assert drawn == matched_words(codes, words, 3) and all(word in codes.words for word in drawn)


def test_carriers_add_up_to_the_gap(bench: Bench, model: LexicalSAE) -> None:
    part = bench.tests["test"]
    contributions = said(model, part.codes[PLAIN], bench.positive)
    scores = bench.scores(part.codes[PLAIN])
    flagged = scores > np.quantile(scores, 0.6)
    words = carried(contributions, flagged, part.positive, part.members, "film")
    inside, negative = part.members["film"], ~part.positive
    spoke = np.bincount(contributions.codes.row, np.maximum(contributions.value, 0), len(part)) > 0
    wrong = flagged & spoke
    assert sum(words.values()) == pytest.approx(wrong[inside & negative].mean() - wrong[negative].mean(), abs=1e-6)
    row = int(np.flatnonzero(spoke)[0])
    margin = sum(contributions.by_word(row).values())
    state = state_of(model, [part.texts[row]])
    assert margin + float(state.b_eff[0, 1] - state.b_eff[0, 0]) == pytest.approx(scores[row], abs=1e-3)


def test_terms_are_deleted_or_masked() -> None:
    text = "Some African-American women,  and a MUSLIM."
    assert without_terms(text, BlindSettings(), "[MASK]") == "Some , and a ."
    masked = without_terms(text, BlindSettings(blind_by="mask"), "[MASK]")
    assert masked == "Some [MASK] [MASK], and a [MASK]."
    assert without_terms("no  such word", BlindSettings(), "") == "no  such word"


def test_words_that_carry_the_gap_are_chosen_without_test_texts(bench: Bench) -> None:
    blinded = Bench(bench.model, bench.settings, bench.positive, bench.training, bench.validation, {}, 0, bench.blind)
    chosen = WORD_CHOICES.get("gap")(blinded, 0.3)
    assert chosen.words and chosen.removal.words == {*chosen.words} and chosen.steps[0]["words"] == 0
    assert ChosenWords.from_json({**vars(chosen), "removal": chosen.removal.to_json()}) == chosen


def test_listed_words(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("london\nnot a word at all\n")
    listed = Bench(
        bench.model,
        SurgeryConfig(words="listed", words_file=str(file)),
        *(bench.positive, bench.training, bench.validation, {}, 0, bench.blind),
    )
    chosen = WORD_CHOICES.get("listed")(listed, 0.1)
    assert chosen.words == ["london"] and chosen.removal.words == {"london"}
    file.write_text("\n")
    with pytest.raises(ConfigError, match="has no words; write one a line"):
        WORD_CHOICES.get("listed")(listed, 0.1)


def test_groups_without_harmless_validation_texts_are_refused(bench: Bench) -> None:
    of = bench.validation
    members = {"film": of.members["film"] & of.positive}
    without = CodedTexts("validation", of.texts, of.positive, of.labels, members, of.codes)
    blinded = Bench(bench.model, bench.settings, bench.positive, bench.training, without, {}, 0, bench.blind)
    with pytest.raises(DataError, match="No group has 50 negative validation texts"):
        WORD_CHOICES.get("gap")(blinded, 0.1)


def test_names_of_a_concept(bench: Bench, tmp_path: Path) -> None:
    own_model = plain_model(tmp_path)
    found = find_concept(own_model, *concept_texts(200, 0))
    write_concept(tmp_path / "concept.json", own_model, found, 1, {})
    settings = SurgeryConfig(words="concept", concept_file=str(tmp_path / "concept.json"))
    own = Bench(own_model, settings, *(bench.positive, bench.training, bench.validation, {}, 0, bench.blind))
    chosen = WORD_CHOICES.get("concept")(own, 0.1)
    assert chosen.words and chosen.removal
    own.settings = SurgeryConfig(words="concept")
    with pytest.raises(ConfigError, match=r"name it with surgery\.concept_file"):
        WORD_CHOICES.get("concept")(own, 0.1)
