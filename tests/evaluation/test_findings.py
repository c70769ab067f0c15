"""What a reader should not miss, and what is no cause for alarm."""

from __future__ import annotations

import numpy as np
import pytest

from splade.evaluation.artefacts import Artefact
from splade.evaluation.class_scores import ClassScores, ConfusionMeter, class_findings, class_scores
from splade.evaluation.entity_scores import Entities, EntityScores, entity_findings
from splade.evaluation.heaviest_words import word_findings
from splade.evaluation.registers import Heaviest, HeaviestToken, register_findings
from splade.evaluation.word_weights import WordWeight


def scores(*confusion: list[int]) -> ClassScores:
    labels = ["ham", "spam", "news"] if len(confusion) == 3 else [f"label {n}" for n in range(len(confusion))]
    labels = ["ham", "spam"] if len(confusion) == 2 else labels
    meter = ConfusionMeter(labels)
    meter.counts += np.array(confusion)
    return meter.result()


class TestClasses:
    def test_an_imbalanced_set_that_was_not_learned(self) -> None:
        """480 and 20: accuracy 0.96, macro-F1 0.49."""
        majority, never = class_findings(scores([480, 0], [20, 0]))
        assert majority.startswith("Accuracy is 96.0 %, no more than the 96.0 % of always answering 'ham'")
        assert "macro-F1 (49.0 %)" in majority
        assert never.startswith("Never given to any text: the label 'spam' (20 test texts);")

    def test_and_one_that_was(self) -> None:
        assert class_findings(scores([478, 2], [3, 17])) == []

    def test_an_advantage_that_may_be_chance(self) -> None:
        (found,) = class_findings(scores([476, 4], [12, 8]))
        assert "Accuracy is 96.8 %, not clearly more than the 96.0 %" in found

    def test_a_balanced_set_at_chance(self) -> None:
        (found,) = class_findings(scores([250, 250], [240, 260]))
        assert "not clearly more than the 50.0 % of always answering 'ham'" in found

    def test_a_label_found_less_than_half_as_often(self) -> None:
        (found,) = class_findings(scores([280, 0, 20], [180, 50, 70], [10, 0, 290]))
        assert found.startswith("Recall is less than half of the others' for the label 'spam' (16.7 %)")
        assert class_findings(scores([280, 0, 20], [100, 150, 50], [10, 0, 290])) == []  # half is no alarm

    def test_a_rare_label_missed_by_chance_is_no_finding(self) -> None:
        """One text of three found says little."""
        assert class_findings(scores([480, 20, 0], [10, 490, 0], [1, 1, 1])) == []

    def test_few_texts(self) -> None:
        (found,) = class_findings(scores([22, 2], [1, 23]))
        assert found.startswith("With 48 test texts, accuracy is only known to lie between 83.2 % and 97.9 %")

    def test_of_many_labels_the_first_are_named(self) -> None:
        confusion = np.eye(8, dtype=int) * 400
        confusion[:5] = 0
        confusion[:5, 7] = [10, 50, 30, 20, 40]
        (found,) = (one for one in class_findings(scores(*confusion.tolist())) if one.startswith("Never"))
        assert "'label 1' (50 test texts), 'label 4' (40 test texts), 'label 2' (30 test texts) and 2 more" in found


class TestEntities:
    def found(self, misc: float, support: int) -> EntityScores:
        types = {"LOC": Entities(0.9, 0.9, 0.9, support), "MISC": Entities(misc, misc, misc, support)}
        return EntityScores(0.9, 0.9, 0.9, types, 0.99, [])

    def test_a_type_that_is_never_found(self) -> None:
        assert entity_findings(self.found(0.8, 500)) == []
        assert entity_findings(self.found(0.0, 500)) == [
            "No entity of the type MISC (500) was found: train longer or on more of them."
        ]

    def test_few_entities(self) -> None:
        (found,) = entity_findings(self.found(0.8, 20))
        assert found.startswith("With 40 entities in the test split, recall is only known to lie between")


class TestRegisters:
    def heaviest(self, share: float, of_class: float = 0.2, rows: int = 100) -> Heaviest:
        return Heaviest("user", share, 300, {"normal": HeaviestToken("user", of_class, rows)})

    @pytest.mark.parametrize("share", [0.02, 0.06])  # SST-2
    def test_an_ordinary_token(self, share: float) -> None:
        assert register_findings(self.heaviest(share)) == register_findings(None) == []

    def test_a_register(self) -> None:
        (found,) = register_findings(self.heaviest(0.27, of_class=0.6))
        assert found.startswith("The token 'user' carries 27.0 % of all contribution,")
        assert "training.anchor=register" in found

    def test_a_register_of_one_class(self) -> None:
        (found,) = register_findings(self.heaviest(0.05, of_class=0.6))
        assert found.startswith("The token 'user' carries 60.0 % of the contribution to 'normal',")
        assert register_findings(self.heaviest(0.05, of_class=0.6, rows=5)) == []  # of five texts, chance


class TestWords:
    def test_a_word_that_decides_alone(self) -> None:
        (found,) = word_findings(WordWeight("free", 0.4, "spam"), [])
        assert "'free' of the texts carries 40.0 % of all contribution, most of it for 'spam', so" in found
        (found,) = word_findings(WordWeight("free", 0.4, None), [])
        assert "40.0 % of all contribution, so" in found
        assert word_findings(WordWeight("card", 0.14, None), []) == word_findings(None, []) == []

    def test_artefacts_are_one_sentence_and_a_word_is_told_once(self) -> None:
        words = ["user", "br", "the", "x", ","]
        some = [Artefact(word, 0.4 - 0.05 * n, "normal" if n else None, "markup") for n, word in enumerate(words)]
        (found,) = word_findings(some[0], some)
        assert "'user' (markup; 40.0 %), 'br' (markup; 35.0 %, most of it for 'normal')" in found
        assert "'the' (markup; 30.0 %, most of it for 'normal') and 2 more;" in found


def test_four_of_four_may_be_chance() -> None:
    """The exact sign test: a sixteenth, where Wilson's interval would have called it sure."""
    gold, given = np.array([0] * 25 + [1] * 35), np.array([0] * 4 + [1] * 56)
    assert any("not clearly more" in note for note in class_findings(class_scores(["a", "b"], gold, given)))


def test_a_split_of_one_label() -> None:
    said = class_findings(class_scores(["a", "b"], np.array([1] * 9), np.array([1] * 8 + [0])))
    assert said[0].startswith("All test texts have the label 'b'") and not any("always answering" in n for n in said)
