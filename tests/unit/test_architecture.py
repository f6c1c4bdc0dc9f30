"""The layout is the architecture: imports go one way, files and functions stay small."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "src" / "spadelab"
FILES = sorted(ROOT.rglob("*.py"))

# A module imports only from its own entry or from entries above it (DESIGN.md, "Layout and layers").
LAYERS = [
    ("errors",),
    ("records",),
    (
        "config",
        "config_errors",
        "config_families",
        "config_files",
        "config_notices",
        "config_sandbox",
        "config_sections",
        "config_self_play",
    ),
    ("rng",),
    ("store",),
    ("sandbox",),
    ("environments",),
    ("models",),
    ("roles",),
    ("play",),
    ("families",),
    ("credit",),
    ("learning",),
    ("curriculum",),
    ("evaluation",),
    ("stopwatch",),
    ("loop",),
    ("conductor",),
    ("comparison",),
    ("command",),
    ("cli",),
    ("__main__",),
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def layer_of(module: str) -> str:
    return module.removeprefix("spadelab.").split(".")[0]


def imported_layers(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {layer_of(a.name) for a in node.names if a.name.startswith("spadelab.")}
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.level:  # the part of the sandbox that is read into a jail has no package name there
                assert node.level == 1, f"{file}: relative import beyond its own folder"
            elif node.module == "spadelab":
                found |= {a.name for a in node.names}
            elif node.module.startswith("spadelab."):
                found.add(layer_of(node.module))
    return found


def test_every_module_has_a_layer():
    for file in FILES:
        own = file.relative_to(ROOT).parts[0].removesuffix(".py")
        assert own == "__init__" or own in RANK, f"{file} has no place in the layers"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_go_one_way(file: Path):
    own = file.relative_to(ROOT).parts[0].removesuffix(".py")
    for layer in imported_layers(file):
        assert RANK[layer] <= RANK.get(own, 0), f"{file} ({own}) imports {layer}, which is below it"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_files_and_functions_stay_small(file: Path):
    text = file.read_text(encoding="utf-8")
    limit = 200 if file.name == "loop.py" else 300
    assert text.count("\n") <= limit, f"{file} has {text.count(chr(10))} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= 60, f"{file}:{node.lineno} {node.name} has {length} lines"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_nothing_is_evaluated_or_unpickled_outside_the_jail(file: Path):
    # Inside the jail these three run the program: that is what the jail is for.
    if file.parent.name == "sandbox" and file.name in ("runner.py", "zygote.py", "tracer.py"):
        return
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if any(getattr(argument, "attr", "") == "PyCF_ONLY_AST" for argument in node.args):
                continue  # makes a syntax tree, and nothing that could run
            assert node.func.id not in ("eval", "exec", "compile"), (
                f"{file}:{node.lineno} calls {node.func.id}"
            )
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = {a.name for a in node.names} | {getattr(node, "module", "") or ""}
            assert not names & {"pickle", "marshal", "shelve", "dill"}, (
                f"{file}:{node.lineno} imports {names}"
            )


def test_the_layer_test_sees_a_wrong_import(tmp_path: Path):
    file = tmp_path / "records.py"
    file.write_text("from spadelab.loop import Loop\nimport spadelab.config\n")
    assert imported_layers(file) == {"loop", "config"}
