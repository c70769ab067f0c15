"""What a notebook shows of an explanation and of a tagged text."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

from splade.attribution.explanation import Explanation
from splade.attribution.tagged import TaggedText, TaggedWord
from tests.reporting.builders import build_explanation

HARM = '<img src=x onerror="alert(1)"><script>alert(2)</script>'


def shown(one: Explanation | TaggedText) -> str:
    return one._repr_html_()


def test_the_sum_line_adds_up_as_printed() -> None:
    explanation = build_explanation()
    [line] = re.findall(r'<div class="sum">(.*?)</div>', shown(explanation), re.DOTALL)
    *summands, logit = [Decimal(number) for number in re.findall(r"[+-]\d+\.\d{3}", line)]
    assert sum(summands) == logit and abs(float(logit) - explanation.logits[explanation.target]) <= 5e-4


def test_it_stands_on_its_own_and_runs_nothing() -> None:
    for one in (build_explanation(HARM), replace(build_explanation(), target=build_explanation().label)):
        page = shown(one)
        assert page.lstrip().startswith('<div class="lexical-sae">') and "background: var(--page)" in page
        assert "<script" not in page and "<img" not in page and "http" not in page
        rules = re.findall(r"^\s*([^{}@\n]+) \{", page, re.MULTILINE)
        assert rules and all(part.strip().startswith(".lexical-sae") for rule in rules for part in rule.split(","))


def test_shades_are_of_one_scale_and_end_at_it() -> None:
    explanation = build_explanation()
    loud = replace(explanation, words=[replace(word, score=50 * word.score) for word in explanation.words])
    opacities = [float(one) for one in re.findall(r"--o:([\d.]+)", shown(loud))]
    assert opacities and max(opacities) == 0.55
    assert [float(one) for one in re.findall(r"--o:([\d.]+)", shown(explanation))] != opacities


def test_a_tagged_text_has_its_entities_marked() -> None:
    tags = {"B-PER": 0.9, "O": 0.1}
    words = [TaggedWord("<b>", 0, 3, "B-PER", tags, 3), TaggedWord("sings", 4, 9, "O", {"O": 1.0, "B-PER": 0.0}, 2)]
    page = shown(TaggedText("<b> sings", words))
    assert '<mark class="entity">&lt;b&gt;<small>PER</small></mark> sings' in page
    assert "No entity was found" not in page and "No entity was found" in shown(TaggedText("", []))
