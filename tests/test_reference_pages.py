"""The reference pages: their sections written from examples are up to date, and their code compiles."""

import ast
import re
from importlib.resources import files
from pathlib import Path

import pytest

from edit_compilation import compile_to_cubin
from kdiag.executors.edits.base import Edit
from kdiag.executors.edits.reference_section import with_section
from kdiag.executors.edits.registry import EDITS, EXECUTORS
from kdiag.rules.load_playbook import load

REFERENCES = files("kdiag.references")
PAGES = sorted(page.name for page in REFERENCES.iterdir() if page.name.endswith(".md"))
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
BLOCKS = [
    pytest.param(block, id=f"{name}-{number}")
    for name in PAGES
    for number, block in enumerate(BLOCK.findall(REFERENCES.joinpath(name).read_text()))
]


@pytest.mark.parametrize("edit", EDITS, ids=EXECUTORS)
def test_before_and_after_is_what_the_examples_say(edit: Edit) -> None:
    page = REFERENCES.joinpath(load()[edit.id].reference).read_text()
    again = "run python -m kdiag.executors.edits.reference_section references"
    assert page == with_section(page, edit), again


def test_a_page_without_the_heading_is_refused() -> None:
    with pytest.raises(ValueError, match="no heading"):
        with_section("# A\n\n## Sources\n", EDITS[0])


def kernels(block: str) -> list[str]:
    """The functions of a block that a decorator makes kernels."""
    return [
        node.name
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.FunctionDef) and any("kernel" in ast.unparse(d) for d in node.decorator_list)
    ]


@pytest.mark.compiler
@pytest.mark.parametrize("block", BLOCKS)
def test_code_on_a_page_compiles(block: str, tmp_path: Path) -> None:
    pytest.importorskip("cuda.tile")
    pytest.importorskip("torch")
    names = kernels(block)
    assert names, "a block of code on a page is a kernel, with what launches it"
    for name in names:
        assert compile_to_cubin(block, name, tmp_path).startswith(b"\x7fELF")
