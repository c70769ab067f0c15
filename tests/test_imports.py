"""Imports go one way along the path of the data; CONTRIBUTING says which, and this reads the real ones."""

from __future__ import annotations

import ast
from pathlib import Path

import splade

LAYERS = (
    "errors registry utils task_description",
    "config",
    "data",
    "models",
    "circuits",
    "mechanistic",
    "attribution",
    "tasks",
    "training",
    "inference tagging",
    "explainers",
    "surgery",
    "intervene",
    "evaluation",
    "reporting",
    "run_folder",
    "pipelines",
    "studies",
    "apps",
    "cli",
    "__main__ scripts",
)
"""From the lowest to the highest: a part may import those before it, and those beside it."""

ROOT = Path(splade.__file__).parent
HEIGHT = {part: height for height, parts in enumerate(LAYERS) for part in parts.split()}


def modules() -> dict[str, Path]:
    """Every module of the package, by its name."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = ["splade", *path.relative_to(ROOT).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(path: Path) -> set[str]:
    """The modules of the package that a file imports, within functions too, and for type checkers alone."""
    every = modules()
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return {name for name in found if name in every}


def part_of(module: str) -> str:
    """The part of the house that a module is in: the first name below the package."""
    return module.split(".")[1] if "." in module else "splade"


def test_every_part_has_its_place() -> None:
    parts = {part_of(module) for module in modules()} - {"splade"}
    assert sorted(parts - HEIGHT.keys()) == [] and sorted(HEIGHT.keys() - parts) == []


def test_no_import_goes_against_the_flow() -> None:
    against = [
        f"{module} -> {other}"
        for module, path in sorted(modules().items())
        if module != "splade"
        for other in sorted(imports_of(path))
        if other != "splade" and HEIGHT[part_of(other)] > HEIGHT[part_of(module)]
    ]
    assert against == []


def test_no_parts_import_each_other() -> None:
    edges = {
        (part_of(module), part_of(other))
        for module, path in modules().items()
        if module != "splade"
        for other in imports_of(path)
        if other != "splade" and part_of(other) != part_of(module)
    }
    assert sorted((a, b) for a, b in edges if a < b and (b, a) in edges) == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports for type checkers alone are left out: they are never carried out."""
    graph = {module: _at_run_time(path) - {module} for module, path in modules().items()}
    done: set[str] = set()
    circles: list[list[str]] = []

    def visit(module: str, path: list[str]) -> None:
        if module in path:
            circles.append([*path[path.index(module) :], module])
        elif module not in done:
            for other in sorted(graph[module]):
                visit(other, [*path, module])
            done.add(module)

    for module in sorted(graph):
        visit(module, [])
    assert circles == []


def _at_run_time(path: Path) -> set[str]:
    """The modules of the package whose import a file carries out when it is imported, or when its functions run."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    every = modules()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            named = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in named if name in every} or {node.module}
    return {name for name in found if name in every}


def test_only_the_server_needs_the_libraries_of_the_server() -> None:
    """They are an extra: whoever does not serve need not install them."""
    extra = {"fastapi", "starlette", "uvicorn", "prometheus_client"}
    needing = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        if name.split(".")[0] in extra
    }
    assert needing and {name for name in needing if not name.startswith("apps/server/")} == set()


def test_commands_load_the_server_only_when_it_is_asked_for() -> None:
    above = {
        module
        for module, path in modules().items()
        if part_of(module) not in ("apps", "splade")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("splade.apps")
    }
    assert above == set()
