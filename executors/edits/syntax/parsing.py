"""Parses source text that may be anything: what LibCST cannot read, or not write back unchanged, is refused."""

import ast
import warnings

import libcst as cst

from .walking import text

# LibCST's native parser overflows the stack on text nested some thousand deep; Python's own parser refuses it.
DEEPEST = 100


def parse(source: str) -> cst.Module | None:
    """The file's syntax, or None when it is no Python or would not be written back byte for byte."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source)
        if _depth(tree) > DEEPEST:
            return None
        module = cst.parse_module(source)
        return module if text(module) == source else None
    except (SyntaxError, cst.ParserSyntaxError, cst.CSTValidationError, ValueError, RecursionError, MemoryError):
        return None


def _depth(tree: ast.AST) -> int:
    """How deep the tree is nested, without recursion."""
    level, depth = [tree], 0
    while level:
        level, depth = [child for node in level for child in ast.iter_child_nodes(node)], depth + 1
    return depth
