"""What is built, installed and checked is what the tree holds: version, files, dependencies, the steps on GitHub."""

from __future__ import annotations

import ast
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

import splade
from tests.runs import run_cli

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "splade"

IMPORTED_AS = {
    "concept-erasure": "concept_erasure",
    "eai-sparsify": "sparsify",
    "prometheus-client": "prometheus_client",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
}
"""Distributions whose module has another name."""

COMES_WITH = {
    "huggingface_hub": "transformers",
    "markupsafe": "jinja2",
    "pandas": "datasets",
    "pyarrow": "datasets",
    "pydantic_core": "pydantic",
    "starlette": "fastapi",
    "tokenizers": "transformers",
}
"""Modules that a dependency brings along and speaks the types of."""

OPTIONAL = {"vaderSentiment"}
"""Distributions whose data are read where they are installed, without an import."""


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")  # pytest brings the latter along
    return toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    return yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))


def module_of(requirement: str) -> str:
    name = re.split(r"[<>=!~ \[;]", requirement)[0]
    return IMPORTED_AS.get(name.lower(), name)


def imported() -> set[str]:
    """The modules outside the standard library that the package imports, anywhere in its files."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    return found - sys.stdlib_module_names - {"splade"}


def test_the_version_is_written_once_and_said(project: dict[str, Any]) -> None:
    assert "version" not in project["project"] and project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "splade.__version__"}
    assert run_cli("--version").stdout == f"lexical-sae {splade.__version__}\n"
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {splade.__version__} – " in changelog


def test_what_is_imported_is_declared_and_what_is_declared_is_imported(project: dict[str, Any]) -> None:
    declared = {module_of(requirement) for requirement in project["project"]["dependencies"]}
    extras = project["project"]["optional-dependencies"]
    extra = {module_of(requirement) for name in ("sae", "serve", "sign") for requirement in extras[name]}
    assert imported() - declared - COMES_WITH.keys() == extra
    assert declared - imported() == set()
    assert set(COMES_WITH.values()) <= declared | extra


def test_every_extra_is_of_use(project: dict[str, Any]) -> None:
    """`dev` and `bench` are what `make` installs, `demo` is what the quickstart's figures are read from, `sae` has the
    autoencoders of a measure on request, `serve` is the server's, `sign` signs the records of removals."""
    extras = project["project"]["optional-dependencies"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    asked = {name for group in re.findall(r"-e '\.\[([\w,]+)\]'", makefile) for name in group.split(",")}
    assert asked == extras.keys()
    assert {module_of(requirement) for requirement in extras["demo"]} == OPTIONAL


def test_every_file_of_the_package_is_packed(project: dict[str, Any]) -> None:
    packed = set()
    for package, patterns in project["tool"]["setuptools"]["package-data"].items():
        folder = ROOT.joinpath(*package.split("."))
        packed |= {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    others = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert others == packed and PACKAGE / "py.typed" in packed
    assert all((path.parent / "__init__.py").exists() for path in PACKAGE.rglob("*.py"))


def test_github_runs_what_ci_runs_on_every_python_named(project: dict[str, Any], workflow: dict[str, Any]) -> None:
    jobs = workflow["jobs"]
    makes = {step["run"] for job in jobs.values() for step in job["steps"] if "run" in step}
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert makes == set(re.findall(r"^make \w+$", run, re.MULTILINE)) == {"make lint", "make test"}
    named = {line.rpartition(" ")[2] for line in project["project"]["classifiers"] if re.search(r":: 3\.\d+$", line)}
    assert set(jobs["test"]["strategy"]["matrix"]["python-version"]) == named
    assert min(named, key=lambda version: int(version[2:])) in project["project"]["requires-python"]
    assert workflow["env"]["HF_HUB_OFFLINE"] == "1"
    assert "secrets." not in (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
