"""Every kernel of a TileGym checkout, against an independent count by Python's own parser."""

import ast
from pathlib import Path

import pytest

from bundled import TILEGYM, needs_tilegym
from kdiag.diagnose.source.observe import from_source
from kdiag.diagnose.source.read import read_source
from kdiag.diagnose.source.text import beside

OPERATORS = TILEGYM / "src" / "tilegym" / "ops" / "cutile"
FILES = sorted(OPERATORS.rglob("*.py"))
pytestmark = needs_tilegym


def decorated(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = [ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list]
            if any(name in ("ct.kernel", "kernel") for name in names):
                yield node.name, node.lineno


def calls(tree, *names):
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return sorted(call.lineno for call in found if ast.unparse(call.func) in names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(OPERATORS)))
def test_everything_in_the_file_is_listed(path):
    text = path.read_text("utf-8")
    tree, facts = ast.parse(text), read_source(text, path.name, beside(path))
    assert sorted((kernel.name, kernel.where.line) for kernel in facts.kernels) == sorted(decorated(tree))
    assert not any(kernel.unresolved for kernel in facts.kernels)
    for kernel in facts.kernels:
        assert kernel.accesses
        assert all(seen.value is not None for seen in from_source(facts, kernel.name).values())


def test_every_access_written_in_a_kernel_is_found():
    """The lines of all loads, stores, gathers and scatters of the folder, whatever function they stand in."""
    found = set()
    written = set()
    for path in FILES:
        text = path.read_text("utf-8")
        for kernel in read_source(text, path.name, beside(path)).kernels:
            found |= {(Path(access.where.file).name, access.where.line) for access in kernel.accesses}
        lines = calls(ast.parse(text), "ct.load", "ct.store", "ct.gather", "ct.scatter")
        written |= {(path.name, line) for line in lines}
    assert written == found


def test_what_is_known_of_some_kernels():
    facts = {
        kernel.name: kernel
        for path in FILES
        for kernel in read_source(path.read_text("utf-8"), path.name, beside(path)).kernels
    }
    assert facts["_matmul_kernel"].swizzles
    assert facts["_static_persistent_matmul_kernel"].persistent
    assert {a.padding_mode for a in facts["_softmax_kernel_tma"].accesses} == {"NEG_INF", None}
    assert [a.form for a in facts["_softmax_kernel"].accesses] == ["affine", "affine"]
    assert {a.form for a in facts["_fused_moe_kernel"].accesses} >= {"indirect", "tile-index", "affine"}
