"""The page of a concept: the curve is drawn as it was measured, and what ended the growth is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from splade.evaluation.concept_growth import CurvePoint, Ended, Growth
from splade.evaluation.estimate import Estimate
from splade.evaluation.leakage import Leakage, ProbeLeakage
from splade.evaluation.paired import Difference
from splade.reporting.concept_report import HOW_TO_READ, curve_svg, curve_table, sentences, write_page
from splade.surgery.carriers import Carrier
from splade.surgery.concepts import Concept


def leakage(mean: float) -> Leakage:
    probe = ProbeLeakage(Estimate(mean, mean - 0.02, mean + 0.02), Estimate(0.5, 0.48, 0.52))
    return Leakage(probe, probe, 400, 200, 5)


def growth(ended: Ended, chosen: int, positives: int = 200) -> Growth:
    points = tuple(
        CurvePoint(size, 0.9 - cost, Difference(-cost, -cost - 0.01, -cost + 0.01, 400), size, leakage(area))
        for size, cost, area in ((0, 0.0, 0.8), (1, 0.005, 0.65), (2, 0.02, 0.51))
    )
    return Growth(points, chosen, ended, leakage(0.85), 0.01, True, 400, positives)


CARRIERS = tuple(
    Carrier(name, name == "gay", 100, 3, 3.0, 2.5, 0.2, 0.01, 0.5, {"hate": 0.9}) for name in ("gay", "<lgbt>")
)
CONCEPT = Concept("<gay> & more", "labelled texts", 1000, 200, 50, True, True, CARRIERS, ())


@pytest.mark.parametrize(
    "ended, chosen, said",
    [
        ("at chance", 2, "Without 2 word(s) the sparse vector tells the concept no better than chance"),
        ("at chance", 0, "Nothing is to be removed"),
        ("budget", 1, "NOT at chance without 1 word(s): more words would cost more than the budget of 1 point(s)"),
        ("candidates", 2, "NOT at chance without 2 word(s): no other word"),
        ("class", 1, "NOT at chance without 1 word(s): more words would take what a class rests on"),
    ],
)
def test_what_ended_it_is_said(ended: Ended, chosen: int, said: str) -> None:
    every = list(sentences(CONCEPT, growth(ended, chosen)))
    assert any(said in sentence for sentence in every) and "The backbone still reads" in every[-1]
    table = curve_table(growth(ended, chosen)).splitlines()
    [marked] = [line for line in table if "<- chosen" in line]
    assert marked.split()[0] == str(chosen) and len({line.find("0.500") for line in table}) == 2


def test_few_texts_odd_seeds_and_one_class_are_said() -> None:
    concept = replace(
        CONCEPT, by_class=False, unmatched=("xyz",), carriers=(replace(CARRIERS[0], with_it=0, without=0),)
    )
    every = " ".join(sentences(concept, growth("candidates", 1, positives=60)))
    for part in ("no token for: xyz", "removed all the same: gay", "concept and the class are one", "Of 60 texts"):
        assert part in every
    many = replace(growth("candidates", 1), texts=4000, positives=400)
    assert "more texts are needed" not in " ".join(sentences(CONCEPT, many))


def test_the_plot_is_whole_and_says_how_to_read_it(tmp_path: Path) -> None:
    svg = curve_svg(CONCEPT, growth("at chance", 2))
    root = ElementTree.fromstring(svg)
    assert HOW_TO_READ in root.attrib["aria-label"] and "<gay> & more" in root.attrib["aria-label"]
    written = " ".join("".join(element.itertext()) for element in root.iter() if element.tag.endswith("text"))
    for part in ("accuracy lost (percentage points)", "area under the ROC curve", "linear probe", "small network"):
        assert part in written
    assert curve_svg(CONCEPT, growth("at chance", 2)) == svg
    write_page(tmp_path, CONCEPT, growth("budget", 1))
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "curve.svg" in page and "<lgbt>" in page and "NOT at chance" in page
    assert (tmp_path / "curve.svg").read_text(encoding="utf-8").startswith("<svg")
