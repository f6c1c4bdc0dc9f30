"""How much an environment's program is like another one: copies, near copies, clusters."""

from __future__ import annotations

import ast
import zlib
from collections.abc import Sequence

from spadelab.environments.scopes import bound_names, walk
from spadelab.environments.syntax import hash_text, normalise, parse_program, write_tree

SHINGLE = 6
"""Nodes in a row that make one feature of a fingerprint."""

_DESCRIPTIONS = ("NAME", "SUMMARY")


def environment_key(source: str) -> str:
    """Hash of the normalised syntax tree: equal for copies. Raises ProgramError.

    Names that the module binds, attributes and methods among them, docstrings, comments, layout,
    annotations and the texts of NAME and SUMMARY are ignored; all other constants count.
    """
    return hash_text(write_tree(_normal_tree(source)))


def fingerprint(source: str) -> frozenset[int]:
    """Hashed shingles of the normalised tree without its constants. Raises ProgramError."""
    parts = _list_parts(_normal_tree(source))
    rows = (parts[i : i + SHINGLE] for i in range(max(1, len(parts) - SHINGLE + 1)))
    return frozenset(zlib.crc32(" ".join(row).encode("utf-8", "replace")) for row in rows)


def similarity(a: frozenset[int], b: frozenset[int]) -> float:
    """Jaccard index of two fingerprints, in [0, 1]."""
    return len(a & b) / len(a | b) if a or b else 1.0


def cluster_shares(fingerprints: Sequence[frozenset[int]], threshold: float = 0.8) -> list[float]:
    """For each fingerprint the share of all that is in its cluster (single linkage), in (0, 1]."""
    cluster = list(range(len(fingerprints)))
    for i, one in enumerate(fingerprints):
        for j in range(i):
            if cluster[i] != cluster[j] and similarity(one, fingerprints[j]) >= threshold:
                old, new = cluster[i], cluster[j]
                cluster = [new if c == old else c for c in cluster]
    return [cluster.count(c) / len(cluster) for c in cluster]


def _normal_tree(source: str) -> ast.Module:
    tree = parse_program(source)
    for node in walk(tree):
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and _describes(node):
            node.value = ast.Constant("")
    nodes = walk(normalise(tree))
    own = bound_names(tree)  # what `rename` left: members of classes and names that are keywords somewhere
    own |= {n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    own -= {name for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom)) for name in _imports(n)}
    numbers: dict[str, str] = {}
    for node in nodes:
        for slot in ("id", "name", "attr", "arg"):
            name = getattr(node, slot, None)
            if isinstance(name, str) and name in own and not name.isdigit():
                setattr(node, slot, numbers.setdefault(name, f".{len(numbers)}"))
    return tree


def _imports(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [alias.name.partition(".")[0] for alias in node.names if not alias.asname]


def _describes(node: ast.Assign | ast.AnnAssign) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id in _DESCRIPTIONS for target in targets)


def _list_parts(node: ast.AST) -> list[str]:
    """The tree in preorder: kinds of nodes, and the names that are not the module's own."""
    if isinstance(node, ast.Constant):
        return ["Constant"]
    name = getattr(node, "id", None) or getattr(node, "attr", None)
    parts = [type(node).__name__ + (f":{name}" if name and not name.strip(".").isdigit() else "")]
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr_context):
            parts += _list_parts(child)
    return parts
