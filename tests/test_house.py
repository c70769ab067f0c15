"""Rules of the house that a reader relies on, read from the code itself; `tests.test_imports` has those of imports."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import splade
from splade.task_description import TASK_DESCRIPTIONS

PACKAGE = Path(splade.__file__).parent
ROOT = Path(__file__).parents[1]

LONGEST_FUNCTION, LONGEST_FILE = 60, 300

TASK_NAMES = set(TASK_DESCRIPTIONS.names())
OF_ONE_TASK = {
    *("ClassificationTask", "TextSplit", "RawSplit", "Prediction", "Explanation"),
    *("TaggingTask", "TaggedSplit", "RawTags", "TaggedText", "ExplainedText"),
    *("TagCircuitState", "SequenceCircuitState"),
}
"""Classes that only one task has: to ask for them is to ask which task it is."""

ASKS_ANYWAY = {
    "evaluation/capped.py isinstance(task, TaggingTask)": "for the type checker, in a measure that only taggers have",
    "reporting/report.py isinstance(one, Explanation)": "a page may hold explanations of both forms, and draws each",
    "reporting/report.py isinstance(one, ExplainedText)": "the same",
}
"""What still asks which task it is outside `splade/tasks`, and why it may."""

Offence = tuple[int, str]
Rule = Callable[[ast.Module], Iterator[Offence]]


def too_long(tree: ast.Module) -> Iterator[Offence]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            if length > LONGEST_FUNCTION:
                yield node.lineno, f"{node.name} has {length} lines"


def swallows_keywords(tree: ast.Module) -> Iterator[Offence]:
    """`**_` in a signature: a misspelt option would silently be a default."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments) and node.kwarg and node.kwarg.arg.startswith("_"):
            yield node.kwarg.lineno, f"**{node.kwarg.arg}"


def asks_for_the_model_class(tree: ast.Module) -> Iterator[Offence]:
    """A wrapper around a model offers all that the model does, and is none (`splade.models.protocol`)."""
    return ((line, asked) for line, asked, names in _type_questions(tree) if "LexicalSAE" in names)


def asks_which_task(tree: ast.Module) -> Iterator[Offence]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare | ast.MatchValue):
            constants = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
            if constants & TASK_NAMES:
                yield node.lineno, ast.unparse(node)
    yield from ((line, asked) for line, asked, names in _type_questions(tree) if names & OF_ONE_TASK)


def _type_questions(tree: ast.Module) -> Iterator[tuple[int, str, set[str]]]:
    """Line, words and classes of every `isinstance` and `issubclass`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            classes = ast.walk(node.args[1])
            yield node.lineno, ast.unparse(node), {getattr(c, "id", None) or getattr(c, "attr", "") for c in classes}


def offences(rule: Rule, *, outside: str = "") -> list[tuple[str, int, str]]:
    """File, line and words of all that breaks a rule in the package, apart from one folder."""
    return [
        (path.relative_to(PACKAGE).as_posix(), line, words)
        for path in sorted(PACKAGE.rglob("*.py"))
        if not (outside and path.is_relative_to(PACKAGE / outside))
        for line, words in rule(ast.parse(path.read_text(encoding="utf-8")))
    ]


def test_no_function_is_longer_than_a_page() -> None:
    assert offences(too_long) == []


def test_no_file_holds_more_than_one_idea() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {str(path): length for path, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_signature_swallows_keywords() -> None:
    assert offences(swallows_keywords) == []


def test_nobody_asks_for_the_class_of_a_model() -> None:
    assert offences(asks_for_the_model_class, outside="models") == []


def test_only_tasks_ask_which_task_it_is() -> None:
    asked = offences(asks_which_task, outside="tasks")
    assert [offence for offence in asked if f"{offence[0]} {offence[2]}" not in ASKS_ANYWAY] == []
    gone = ASKS_ANYWAY.keys() - {f"{file} {words}" for file, _, words in asked}
    assert gone == set(), "no longer asks: take it off the list"


def test_templates_do_not_ask_which_task_it_is() -> None:
    for template in PACKAGE.rglob("*.j2"):
        lines = template.read_text(encoding="utf-8").splitlines()
        asks = [line for line in lines if "if" in line and any(f'"{name}"' in line for name in TASK_NAMES)]
        assert asks == [], template.name


@pytest.mark.parametrize("folder", ["tests", "benchmarks", "splade"])
def test_no_code_looks_outside_the_repository(folder: str) -> None:
    """The data root is what `LEXICAL_SAE_DATA` names."""
    outside = "shared" + "/"
    files = [path for path in (ROOT / folder).rglob("*.py") if outside in path.read_text(encoding="utf-8")]
    assert files == []


@pytest.mark.parametrize(
    "rule, code",
    [
        (too_long, "def long():\n" + "    x = 1\n" * LONGEST_FUNCTION),
        (swallows_keywords, "class Gate:\n    def __init__(self, size, **_): ..."),
        (swallows_keywords, "lambda x, **_ignored: x"),
        (asks_for_the_model_class, "isinstance(model, (Dense, lexical_sae.LexicalSAE))"),
        (asks_which_task, "if config.task == 'tagging': pass"),
        (asks_which_task, "'classification' != task"),
        (asks_which_task, "rows = 3 if model.task in ('tagging', 'both') else 4"),
        (asks_which_task, "match task:\n    case 'tagging':\n        pass"),
        (asks_which_task, "isinstance(split, types.TaggedSplit)"),
    ],
)
def test_what_breaks_a_rule_is_found(rule: Rule, code: str) -> None:
    assert len(list(rule(ast.parse(code)))) == 1
