"""Words really deleted: effects are differences of plain predictions, and exact sums of what other words lost."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from splade.attribution.deletions import MOST_WORDS
from splade.attribution.explanation import Explanation
from splade.attribution.word_text import WordText
from splade.errors import ConfigError, DataError
from splade.inference import explain, explain_batch, explain_model
from splade.models.lexical_sae import LexicalSAE
from splade.tasks.interactions import MOST_TEXTS, with_largest_interactions
from tests.builders import WORDS, build_model, encode, toy_reviews

TEXT = "The film is not very good, but the ending was charming!"

TEXTS = st.lists(
    st.one_of(
        st.sampled_from(WORDS),
        st.sampled_from(
            ["xqzw", "unwatchable", "don't", "n't", "!", "...", "--", "(", "good!film", "é", "schön", "👍", "我"]
        ),
        st.text(max_size=4).filter(lambda text: text.isprintable()),
    ),
    max_size=12,
)
SPACES = st.sampled_from([" ", "  ", "\n", ""])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("classifier")


@pytest.fixture(scope="module")
def model(folder: Path) -> LexicalSAE:
    return build_model(folder, classes=3)


@pytest.fixture(scope="module")
def models(folder: Path, model: LexicalSAE) -> list[LexicalSAE]:
    """Heads whose bias depends on the text, and is 0; words that speak at several places; other tokenizers."""
    return [
        model,
        build_model(folder, head="bcos"),
        build_model(folder, pooling="attention"),
        build_model(folder, family="roberta"),
        build_model(folder, family="deberta"),
    ]


def logit(model: LexicalSAE, text: str, target: str) -> float:
    """Of a text alone, by a plain prediction."""
    with torch.no_grad():
        ids, mask = encode(model, [text])
        return float(model.classify(model(ids, mask), mask).logits[0, model.labels.index(target)])


def check(model: LexicalSAE, found: Explanation) -> None:
    """Every effect is the difference of two plain predictions, and the sum of its parts."""
    assert found.interactions is not None
    text, shares = WordText.of(found.text), {word.start: word.score for word in found.words if word.start < word.end}
    for one in (*found.interactions.words, *found.interactions.spans):
        assert one.check() < 1e-4
        plain = logit(model, found.text, found.target) - logit(model, text.without(one.numbers), found.target)
        assert one.effect == pytest.approx(plain, abs=1e-4)
        assert one.share == pytest.approx(sum(shares[text.spans[n][0]] for n in one.numbers), abs=1e-9)
        others = [other.number for other in one.through]
        assert len(set(others)) == len(others) and not set(others) & set(one.numbers)
        assert all(found.text[other.start : other.end] == other.word for other in one.through if other.number >= 0)


def test_deleting_a_word_is_a_sum_of_what_others_lose(model: LexicalSAE) -> None:
    found = explain_model(model, TEXT, interactions=True)
    plain = explain_model(model, TEXT)
    assert plain.interactions is None and found.words == plain.words and found.interactions is not None
    assert [one.text for one in found.interactions.words] == [word.word for word in plain.words if word.end]
    check(model, found)
    for one in found.interactions.words:  # by hand, of the sums of two texts
        shorter = explain_model(model, WordText.of(TEXT).without(one.numbers), found.target)
        left = [word for n, word in enumerate(plain.words) if n not in one.numbers]
        assert [word.word for word in left] == [word.word for word in shorter.words]
        changes = {n: word.score - after.score for n, (word, after) in enumerate(zip(left, shorter.words, strict=True))}
        by_number = {other.number - (other.number > one.numbers[0]): other.change for other in one.through}
        assert all(by_number.get(n, 0.0) == pytest.approx(change, abs=1e-4) for n, change in changes.items())
        assert one.bias == pytest.approx(plain.bias - shorter.bias, abs=1e-4) and one.label == shorter.label
    assert found.interactions.largest > 0.01


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=TEXTS, space=SPACES, which=st.integers(0, 4), target=st.booleans())
def test_sums_are_exact_whatever_the_text(
    models: list[LexicalSAE], parts: list[str], space: str, which: int, target: bool
) -> None:
    chosen = models[which]
    found = explain(chosen, [space.join(parts)], chosen.labels[1] if target else None, interactions=True)[0]
    assert found.interactions is not None and len(found.interactions.words) <= len(WordText.of(found.text))
    check(chosen, found)


def test_texts_without_words_and_of_one(model: LexicalSAE) -> None:
    empty, blank, single = explain_batch(model, ["", " \n", "good"], interactions=True)
    assert empty.interactions is not None and empty.interactions.words == []
    assert blank.interactions is not None and blank.interactions.words == []
    check(model, single)
    assert single.interactions is not None and len(single.interactions.words) == 1


def test_together_as_alone(model: LexicalSAE) -> None:
    texts = [TEXT, "", *toy_reviews(6)[0], TEXT]
    for batch_size in (2, 64):
        for found in explain_batch(model, texts, batch_size=batch_size, interactions=True):
            alone = explain_model(model, found.text, interactions=True)
            assert found.interactions is not None and alone.interactions is not None
            for one, other in zip(found.interactions.words, alone.interactions.words, strict=True):
                assert one.numbers == other.numbers and one.effect == pytest.approx(other.effect, abs=1e-5)
                changes = {through.number: through.change for through in other.through}
                for through in one.through:
                    assert through.change == pytest.approx(changes.get(through.number, 0.0), abs=1e-5)


def test_spans_go_as_one_and_pairs_beyond_each_alone(model: LexicalSAE) -> None:
    found = explain_model(model, TEXT, interactions=True, spans=["very good", "not ... good", "bad"]).interactions
    assert found is not None and found.not_found == ["bad"] and found.check() < 1e-4
    beside, apart = found.spans
    assert (beside.text, beside.numbers, apart.text, apart.numbers) == ("very good", (4, 5), "not … good", (3, 5))
    effects = {one.numbers[0]: one.effect for one in found.words}
    assert beside.together == pytest.approx(beside.effect - effects[4] - effects[5], abs=1e-9)
    given = explain_model(model, TEXT, interactions=True, spans=[(16, 25), ((12, 15), (21, 25))]).interactions
    assert given is not None and [one.numbers for one in given.spans] == [(4, 5), (3, 5)]
    check(model, explain_model(model, TEXT, interactions=True, spans=[(0, len(TEXT))]))  # all of it
    three = explain_model(model, TEXT, interactions=True, spans=["not very good"]).interactions
    assert three is not None and three.spans[0].together is None
    with pytest.raises(DataError, match="holds no word"):
        explain_model(model, TEXT, interactions=True, spans=[(3, 4)])


def test_of_a_long_text_some_words_are_deleted_and_it_is_said(
    model: LexicalSAE, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = explain_model(model, TEXT, interactions=True).interactions
    monkeypatch.setattr("splade.attribution.deletions.MOST_WORDS", 5)
    some = explain_model(model, TEXT, interactions=True)
    assert some.interactions is not None and whole is not None
    assert len(some.interactions.words) == 5 and some.interactions.left_out == len(whole.words) - 5
    assert "not" in [one.text for one in some.interactions.words]  # a negation, whatever its share
    check(model, some)
    asked = explain_model(model, TEXT, interactions=True, spans=["but the"]).interactions
    assert asked is not None and asked.spans[0].together is not None  # each of the two alone was measured for it
    every = explain_model(model, TEXT, interactions=True, all_words=True).interactions
    assert every is not None and len(every.words) == len(whole.words) and every.left_out == 0


def test_where_a_text_is_cut_new_words_come_in_at_the_end(model: LexicalSAE) -> None:
    text = " ".join([*["good film ,"] * 20, "a", "charming", "plot", *["dull"] * 30])
    found = explain_model(model, text, interactions=True)
    assert found.truncated and found.interactions is not None
    read = len(found.interactions.words)
    assert read == 62  # 64 positions less two special tokens
    check(model, found)
    assert all(one.shifted for one in found.interactions.words)
    came_in = [other for one in found.interactions.words for other in one.through if other.number >= read]
    assert came_in and all(other.share == 0.0 and other.number == read for other in came_in)
    beyond = explain_model(model, text, interactions=True, spans=[(len(text) - 4, len(text))]).interactions
    assert beyond is not None and not beyond.spans[0].shifted and abs(beyond.spans[0].effect) < 1e-5
    short = explain_model(model, TEXT, interactions=True).interactions
    assert short is not None and not any(one.shifted for one in short.words)


def test_methods_and_functions_say_the_same(model: LexicalSAE, folder: Path) -> None:
    ours = model.explain([TEXT], interactions=True, spans=["very good"])[0]
    assert ours == explain_model(model, TEXT, interactions=True, spans=["very good"])
    every = model.explain([TEXT], interactions=True, all_words=True)[0].interactions
    assert len(every.shown()) == len(every.words)
    with pytest.raises(ConfigError, match="spans was given"):
        model.explain([TEXT], spans=["good"])
    with pytest.raises(ConfigError, match=r"interactions were asked for, but the model tags words, .* by context"):
        build_model(folder, task="tagging").explain(["john"], interactions=True)


def test_a_page_gets_those_of_a_few_texts(model: LexicalSAE) -> None:
    texts = [*toy_reviews(8)[0], "word " * (MOST_WORDS + 1)]
    plain = explain_batch(model, texts)
    found = with_largest_interactions(model, plain)
    assert [one.text for one in found] == texts and sum(one.interactions is not None for one in found) == MOST_TEXTS
    largest = [one.interactions.largest for one in explain_batch(model, texts, interactions=True) if one.interactions]
    shown = [one.interactions.largest for one in found if one.interactions]
    assert min(shown) == pytest.approx(sorted(largest[:-1])[-MOST_TEXTS], abs=1e-5)
    assert math.isclose(sum(word.score for word in found[0].words), sum(word.score for word in plain[0].words))
