"""The reference pages: what `kdiag explain` writes of examples is what they say, and the code compiles."""

import ast
import re

import pytest

from edit_compilation import compile_to_cubin
from kdiag.executors.edits.reference_section import with_examples
from kdiag.executors.edits.registry import EDITS, EXECUTORS
from kdiag.rules.load_references import Page, load

BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
BLOCKS = [
    pytest.param(block, id=f"{name}-{number}")
    for name, page in load().items()
    if page.kind != "cause"
    for number, block in enumerate(BLOCK.findall(with_examples(page).text))
]


@pytest.mark.parametrize("edit", EDITS, ids=EXECUTORS)
def test_before_and_after_is_what_the_examples_say(edit):
    page = load()[edit.id]
    written = with_examples(page).sections
    section = written["Before and after"]
    assert {**written, "Before and after": page.sections["Before and after"]} == page.sections
    made = [example for example in edit.examples if example.after is not None]
    for first in made[:1]:
        assert f"```python\n{first.before}```\n\n```diff\n@@" in section
        added = {line[1:] for line in section.splitlines() if line.startswith("+")}
        assert added >= set(str(first.after).splitlines()) - set(first.before.splitlines())
    assert all(f"{example.name} (`{example.variant}`)" in section for example in made[1:])
    for example in edit.examples:
        assert not example.refused or re.search(
            rf"^\* {re.escape(example.name)} \(.*\): .*{re.escape(example.refused)}", section, re.MULTILINE
        )


def test_a_page_without_the_heading_is_refused():
    with pytest.raises(ValueError, match="no heading"):
        with_examples(Page("A", "optimization", "A", "# A\n\n## Sources\n"))


def kernels(block):
    """The functions of a block that a decorator makes kernels."""
    return [
        node.name
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.FunctionDef) and any("kernel" in ast.unparse(d) for d in node.decorator_list)
    ]


@pytest.mark.compiler
@pytest.mark.parametrize("block", BLOCKS)
def test_code_on_a_page_compiles(block):
    names = kernels(block)
    assert names, "a block of code on a page is a kernel, with what launches it"
    for name in names:
        assert compile_to_cubin(block, name).startswith(b"\x7fELF")
