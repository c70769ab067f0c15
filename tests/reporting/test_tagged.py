"""A tagged text laid out for reading."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from splade.attribution.context import ContextEffect, ContextEffects, TokenChange
from splade.attribution.explanation import Explanation, TokenScore, WordScore
from splade.attribution.tagged import ExplainedText, ExplainedWord, TaggedText, TaggedWord
from splade.reporting.explained import tag_rows
from splade.reporting.plots import validation_score
from splade.reporting.report import write_report
from splade.reporting.sentences import tagged_sentence
from splade.reporting.tagged import ContextRow, context_rows, stretches, unmeasured_words
from splade.reporting.tagged_terminal import print_explained_tags, print_tagged
from tests.reporting.builders import build_tagging_results

TAGS = {"john": "B-PER", "smith": "I-PER", "paris": "B-LOC"}
TOKENS = {"mary": 1.23456, "smith": 0.33333, "paul": -0.21777, "james": 0.1111}


def tagged(text: str = "john  smith saw paris.") -> TaggedText:
    words = []
    for match in re.finditer(r"\w+|\.", text):
        tag = TAGS.get(match.group(), "O")
        words.append(TaggedWord(match.group(), *match.span(), tag, {tag: 0.97}, len(TOKENS)))
    return TaggedText(text, words)


def effect(total: float, bias: float = 0.0) -> ContextEffect:
    """Of five tokens, of which the first does most."""
    changes = [0.6, 0.1, 0.1, 0.1, 0.1]
    tokens = [TokenChange(f"t{n}", n, share * (total - bias)) for n, share in enumerate(changes)]
    return ContextEffect(total, tokens, bias)


def explained(text: TaggedText, context: bool = False, more: str = "") -> ExplainedText:
    bias = 0.1234
    logit = sum(TOKENS.values()) + bias
    found = []
    for n in (n for entity in text.entities for n in entity.words):
        word = text.words[n]
        tokens = [TokenScore(name + more, i, score, 1.5, 1) for i, (name, score) in enumerate(TOKENS.items())]
        total = WordScore(word.word, word.start, word.end, logit - bias)
        whole = Explanation(text.text, word.tag, word.tag, {word.tag: logit}, {word.tag: 0.97}, bias, tokens, [total])
        effects = [None if i == n else effect(0.5 * (i - n)) for i in range(len(text.words))]
        found.append(ExplainedWord(n, whole, ContextEffects(n, word.tag, logit, effects) if context else None))
    return ExplainedText(text, found)


def printed(found: ExplainedText | TaggedText, width: int = 80, top: int = 2, **options: bool) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width)
    if isinstance(found, TaggedText):
        print_tagged(found, console)
    else:
        print_explained_tags(found, console, top, **options)
    return stream.getvalue()


def test_stretches_give_the_text_back() -> None:
    for text in ("john  smith saw paris.", "saw", "", "paris", " john paris "):
        assert "".join(stretch.text for stretch in stretches(tagged(text))) == text


def test_entities_stand_in_brackets_on_one_line() -> None:
    assert printed(tagged()) == "[PER 0.97 john  smith] saw [LOC 0.97 paris].\n"
    assert printed(tagged("saw\x1b[31m [bold]it\n now")) == "saw [31m [bold]it  now  (no entity)\n"
    assert printed(tagged("")) == "(empty text)\n"
    assert len(printed(tagged("saw " * 60 + "paris")).splitlines()) == 1  # for grep, and for whoever counts lines


def test_every_printed_sum_adds_up() -> None:
    for width in (60, 80, 200):
        shown = printed(explained(tagged()), width)
        assert max(map(len, shown.splitlines())) <= width
        body = re.sub(r"\s+", " ", shown)
        sums = re.findall(r"97\.0 % ([+-][\d.]+) (.*?bias [+-][\d.]+)", body)
        assert len(sums) == 3
        for logit, summands in sums:
            assert abs(sum(float(n) for n in re.findall(r"[+-]\d+\.\d+", summands)) - float(logit)) < 1e-9
            assert "2 more tokens" in summands


def test_a_name_and_its_number_stay_together() -> None:
    shown = printed(explained(tagged(), more="-and-a-long-name"), width=60, top=4)
    for name in TOKENS:
        assert re.search(rf"{name}-and-a-long-name [+-]\d", shown)


def in_context() -> ExplainedText:
    """The tag of `smith`, for which the words around it speak too."""
    text = tagged("mr john  smith saw paris.")
    spoken = {"mr": (-2, 1.0), "john": (-1, 2.0), "mary": (-1, 0.5), "saw": (1, -0.25)}
    tokens = [TokenScore(name, n, score, 1.0, n, offset) for n, (name, (offset, score)) in enumerate(spoken.items())]
    words = [
        WordScore(text.words[2 + n].word, text.words[2 + n].start, text.words[2 + n].end, score, names, n)
        for n, score, names in ((-2, 1.0, ["mr"]), (-1, 2.5, ["john", "mary"]), (0, 0.0, []), (1, -0.25, ["saw"]))
    ]
    whole = Explanation(text.text, "I-PER", "I-PER", {"I-PER": 3.5}, {"I-PER": 0.97}, 0.25, tokens, words)
    return ExplainedText(text, [ExplainedWord(2, whole)])


def test_a_sum_over_the_words_of_the_sentence() -> None:
    shown = re.sub(r"\s+", " ", printed(in_context(), 100, top=5))
    assert "= words and bias" in shown
    assert "smith I-PER 97.0 % +3.500 ← john (john, mary) +2.500, ←← mr +1.000, → saw -0.250, bias +0.250" in shown
    assert "← john (john, mary) +2.500, 2 more words +0.750, bias" in re.sub(
        r"\s+", " ", printed(in_context(), 100, top=1)
    )
    table = printed(in_context(), 100, top=5, whole=True)
    assert "2  smith" in table and "← mary" in table and "→ saw" in table


def test_tokens_are_named_as_far_as_there_is_room() -> None:
    text = tagged("a b")
    names = ["commission", "commissioners", "commissions"]
    for tokens, shown in (
        (names, "itself (commission, …)"),
        (names[:1], "itself (commission)"),
        (["a"], "itself"),
        (["x" * 40, "y"], "itself (…)"),
    ):
        words = [WordScore("a", 0, 1, 1.0, tokens), WordScore("b", 2, 3, 0.0, [], 1)]
        whole = Explanation(text.text, "O", "O", {"O": 1.5}, {"O": 0.9}, 0.5, [], words)
        assert tag_rows(whole, 3)[0].name == shown


def test_the_json_says_which_word_spoke() -> None:
    [entry] = in_context().to_json()["explained"]  # type: ignore[misc]
    assert [(w["word"], w["offset"], w["score"]) for w in entry["words"]] == [
        ("mr", -2, 1.0),
        ("john", -1, 2.5),
        ("smith", 0, 0.0),
        ("saw", 1, -0.25),
    ]
    assert [(t["token"], t["word"]) for t in entry["tokens"]] == [("john", 1), ("mr", 0), ("mary", 1), ("saw", 3)]
    assert in_context().explained[0].explanation.check() < 1e-9


def test_the_report_names_words_of_the_sentence() -> None:
    found = tagged_sentence(in_context())
    [(word, _, rows)] = found.words
    assert found.by_word and word.itself.word == "smith" and rows[0].name == "← john (john, mary)"


def test_a_word_alone_and_its_context() -> None:
    shown = printed(explained(tagged(), context=True), whole=True)
    assert shown.count("= logit of") == 3 and "When another word is deleted, the logit of the tag changes:" in shown
    context = re.sub(r" +", " ", shown.partition("changes:")[2])
    assert "0 john B-PER . +2.000 t0 +1.200, t1 +0.200, t2 +0.200,\n 2 more +0.400 \n paris +1.500" in context
    assert "there is no other word" in printed(explained(tagged("paris"), context=True))


def test_context_names_the_strongest_other_words_in_sums_that_add_up() -> None:
    text = tagged("john a b c d e f")
    effects = [None, *(effect(total, 0.033) for total in (0.1, -0.6, 0.5, 0.2, 0.3337, 0.0))]
    rows = context_rows(text, ContextEffects(0, "B-PER", 1.0, effects))
    assert [(row.word, row.effect) for row in rows] == [
        *(("b", "-0.600"), ("c", "+0.500"), ("e", "+0.334"), ("d", "+0.200"), ("a", "+0.100")),
    ]
    for row in rows:
        assert sum(float(printed) for _, printed in row.summands) == pytest.approx(float(row.effect), abs=1e-9)
        assert [name for name, _ in row.summands] == ["t0", "t1", "t2", "2 more", "bias"]
    some = ContextEffects(0, "B-PER", 1.0, [None, ContextEffect(0.0, [], 0.0), effect(-0.6), None, None, None, None])
    assert context_rows(text, some)[1] == ContextRow("a", "+0.000", [])
    assert unmeasured_words(some) == 4  # they are in other windows


def test_the_report_has_a_sum_for_each_word_of_an_entity() -> None:
    found = tagged_sentence(explained(tagged()))
    assert [one.itself.word for one, _, _ in found.words] == ["john", "smith", "paris"] and not found.by_word
    assert found.error < 1e-9 and [s.text for s in found.stretches if s.entity] == ["john  smith", "paris"]


def test_the_report_speaks_of_words_and_escapes_them(tmp_path: Path) -> None:
    hostile = explained(tagged("john <script>"), more="<b>")
    write_report(tmp_path / "report.html", build_tagging_results(), [], [hostile, explained(tagged("saw"))])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page and "mary<b>" not in page and "mary&lt;b&gt; +1.235" in page
    assert "F1, dense head" in page and "No entity was found." in page and "john<small>PER</small></mark>" in page
    assert (
        "contribution, at the words of entities." in page
        and "of a tagger" not in page
        and '<td class="n">70.0 %</td>' in page
    )


def test_the_curve_of_validation_is_of_f1() -> None:
    history = [{"step": n, "phase": "circuit", "validation": {"f1": n / 10}} for n in range(1, 4)]
    assert "entity F1" in (validation_score(history, "f1", "entity F1") or "")
