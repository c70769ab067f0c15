from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from splade.attribution.explanation import NO_WORD, Explanation, WordScore
from splade.config.schema import ModelConfig
from splade.data.types import TextSplit
from splade.errors import ConfigError, DataError
from splade.inference import predict_model
from splade.models.lexical_sae import LexicalSAE
from splade.studies import needle, tiny_model
from splade.studies.needle import Hidden, choose_needles, default_lengths, growth, hide, judge, neutral_filler
from tests.builders import toy_reviews
from tests.runs import ToyRun, expect_sentence, read_json

FILLER = ["the house is in the city .", "we saw the water .", "the card has a word ."]


@pytest.fixture(scope="module")
def model(toy_run: ToyRun) -> LexicalSAE:
    loaded = LexicalSAE.from_pretrained(toy_run.folder / "model")
    loaded.max_length = loaded.backbone.max_length
    return loaded


class TestHiding:
    @pytest.mark.parametrize("length", [24, 48, 64])
    def test_texts_fill_the_length_and_hold_the_needle(self, model: LexicalSAE, length: int) -> None:
        for place in needle.PLACES:
            hidden = hide(model, "a charming film", FILLER, length, place, seed=1)
            start, end = hidden.spans[hidden.needle]
            assert hidden.text[start:end] == "a charming film"
            tokens = len(model.tokenizer(hidden.text)["input_ids"])
            assert length - 10 <= tokens <= length  # one more sentence would not fit
            where = {"start": 0, "middle": (len(hidden.sentences) - 1) // 2, "end": len(hidden.sentences) - 1}
            assert hidden.needle == where[place]

    def test_a_length_without_room_for_filler_is_refused(self, model: LexicalSAE) -> None:
        with pytest.raises(ConfigError, match="has 9, but a needle and one sentence of filler take up"):
            hide(model, "a charming film", FILLER, 9, "middle", seed=1)

    def test_the_same_seed_hides_alike(self, model: LexicalSAE) -> None:
        one, two, other = (hide(model, "good", FILLER, 64, "end", seed) for seed in (1, 1, 2))
        assert one == two and one != other

    def test_needles_are_right_short_and_seeded(self, model: LexicalSAE) -> None:
        texts, labels = toy_reviews(80, seed=5)
        test = TextSplit([*texts, "good " * 40], [*labels, 1])
        found = choose_needles(model, test, 10, 48, seed=3)
        assert found == choose_needles(model, test, 10, 48, seed=3) != choose_needles(model, test, 10, 48, seed=4)
        assert len(found) == 10
        for text, label in found:
            assert predict_model(model, text).label == label == model.labels[labels[texts.index(text)]]

    def test_no_needle_is_said(self, model: LexicalSAE) -> None:
        with pytest.raises(DataError, match="No test text of at most 8 tokens is predicted rightly"):
            choose_needles(model, TextSplit(["good " * 40], [1]), 5, 16, seed=0)

    def test_filler_is_what_the_model_is_least_sure_of(self, model: LexicalSAE) -> None:
        kept = neutral_filler(model)
        sure = {text: max(predict_model(model, text).probabilities.values()) for text in needle.SENTENCES}
        assert len(kept) == needle.NEUTRAL
        assert max(sure[text] for text in kept) <= min(sure[text] for text in sure.keys() - set(kept)) + 1e-6


def explanation(text: str, scores: dict[str, float], label: str = "good") -> Explanation:
    words = [WordScore(word, text.index(word), text.index(word) + len(word), score) for word, score in scores.items()]
    words.append(WordScore(NO_WORD, 0, 0, 0.5))
    return Explanation(text, label, label, {label: 1.0}, {label: 1.0}, 0.0, [], words)


def test_judging_by_hand() -> None:
    hidden = Hidden(["hay one", "a needle", "hay two"], needle=1)
    scores = {"one": 1.0, "needle": -2.0, "two": 0.5}
    found = judge(hidden, explanation(hidden.text, scores), "good")
    assert found == {"kept": 1.0, "share": 0.5, "rank": 1.0, "first": 1.0, "sentences": 3.0}
    lost = judge(hidden, explanation(hidden.text, {**scores, "two": 3.0}), "bad")
    assert (lost["kept"], lost["rank"], lost["first"]) == (0.0, 2.0, 0.0)


def test_lengths_double_up_to_the_longest() -> None:
    assert default_lengths(512) == [64, 128, 256, 512]
    assert default_lengths(200) == [64, 128, 200] and default_lengths(48) == [48]


def test_growth_is_the_exponent() -> None:
    lengths = [64.0, 512.0, 1024.0, 2048.0, 4096.0]
    assert growth([(n, 3 * n) for n in lengths]) == pytest.approx(1)
    assert growth([(n, n**2 / 7) for n in lengths]) == pytest.approx(2)
    assert growth([(64.0, 1.0)]) is None


class TestCommand:
    def test_of_a_saved_model(self, run_study_cli: Callable[..., Result], toy_run: ToyRun, tmp_path: Path) -> None:
        folder = str(toy_run.folder / "model")
        sets = {"study__lengths": [48, 64], "study__needles": 6}
        done = run_study_cli("long-context", "--model", folder, **sets)
        assert done.exit_code == 0, done.output
        results = read_json(tmp_path / "out" / "long_context" / "results.json")
        assert [(row["length"], row["place"]) for row in results["texts"]] == [
            (length, place) for length in (48, 64) for place in needle.PLACES
        ]
        for row in results["texts"]:
            figures = {key: value["mean"] for key, value in row["figures"].items()}
            assert 0 <= figures["kept"] <= 1 and 0 <= figures["share"] <= 1 <= figures["rank"] <= figures["sentences"]
            assert figures["backbone_seconds"] > 0 and figures["added_seconds"] > 0
        assert (tmp_path / "out" / "long_context" / "long_context.png").exists() and "64 tokens, middle" in done.stdout

    def test_trains_first_where_there_is_no_model(self, run_study_cli: Callable[..., Result], tmp_path: Path) -> None:
        done = run_study_cli("long-context", study__lengths=[48], study__needles=2)
        assert done.exit_code == 0, done.output
        assert (tmp_path / "out" / "long_context" / "model" / "seed_42" / "results.json").exists()

    def test_a_saved_model_has_no_seeds(
        self, run_study_cli: Callable[..., Result], toy_run: ToyRun, tmp_path: Path
    ) -> None:
        saved = ["--model", str(toy_run.folder / "model")]
        expect_sentence(run_study_cli("long-context", *saved, "--seeds", "0,1"), "Both --seeds and --model were given")
        expect_sentence(run_study_cli("long-context", "--tiny", "--seeds", "0,1"), "Both --seeds and --tiny were given")
        sets = {"study__lengths": [48], "study__needles": 2, "study__seeds": [0, 1]}  # of a file that trains elsewhere
        assert run_study_cli("long-context", *saved, **sets).exit_code == 0
        assert read_json(tmp_path / "out" / "long_context" / "results.json")["seeds"] == [42]

    def test_lengths_beyond_the_backbone(self, run_study_cli: Callable[..., Result], toy_run: ToyRun) -> None:
        done = run_study_cli("long-context", "--model", str(toy_run.folder / "model"), study__lengths=[32, 128])
        expect_sentence(done, "study.lengths has 128, but the backbone reads 64 tokens")

    def test_tiny(self, run_study_cli: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tiny_model, "LONGEST", 256)
        monkeypatch.setattr(tiny_model, "VOCABULARY", 512)
        done = run_study_cli("long-context", "--tiny")
        assert done.exit_code == 0, done.output
        results = read_json(tmp_path / "out" / "long_context" / "tiny" / "results.json")
        assert [row["length"] for row in results["texts"]] == [64, 128, 256]
        assert results["growth"].keys() == {"backbone", "added"} and "only the cost" in done.stdout


def test_the_tiny_model_reads_4096_tokens() -> None:
    model = tiny_model.tiny_model(ModelConfig(hidden_size=16), seed=0)
    assert model.backbone.max_length == 4096 and predict_model(model, "The table stands.").active_tokens > 0
