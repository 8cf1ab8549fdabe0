"""Writes "Before and after" of an optimization's reference page from the examples that its tests are made of.

python -m kdiag.executors.edits.reference_section references
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from kdiag.executors.edits.base import Edit, Example, Skipped
from kdiag.executors.edits.registry import EDITS, unified_diff
from kdiag.records import Variant
from kdiag.rules.load_playbook import load

HEADING = "## Before and after\n"
_SECTION = re.compile(r"^## Before and after\n.*?(?=^## )", re.MULTILINE | re.DOTALL)


def with_section(page: str, edit: Edit) -> str:
    """The page with the section as the edit's examples give it. Raises ValueError for a page without the heading."""
    if not _SECTION.search(page):
        raise ValueError(f"the page of {edit.id} has no heading {HEADING.strip()!r} with another behind it")
    section = "\n".join((HEADING, *_parts(edit)))
    return _SECTION.sub(lambda _: section + "\n", page, count=1)


def _parts(edit: Edit) -> Iterator[str]:
    """The first example and its diff, the names of the others, and what is refused with the reason."""
    applied = [example for example in edit.examples if example.after is not None]
    for example in applied[:1]:
        yield f"`{example.variant}`, {example.name}:\n\n```python\n{example.before}```\n"
        yield f"```diff\n{_changed(example)}```\n"
    if applied[1:]:
        yield "Also: " + "; ".join(f"{example.name} (`{example.variant}`)" for example in applied[1:]) + ".\n"
    refused = [example for example in edit.examples if example.after is None]
    if refused:
        yield "Left alone, with the reason that `kdiag apply` gives:\n"
        yield "\n".join(
            f"* {example.name} (`{example.variant}`): {_reason(edit, example)}" for example in refused
        )
        yield ""


def _changed(example: Example) -> str:
    """The hunks of the diff, without its two lines of file names."""
    assert example.after is not None
    lines = unified_diff(example.before, example.after, "kernel.py").splitlines(keepends=True)
    return "".join(lines[2:])


def _reason(edit: Edit, example: Example) -> str:
    outcome = edit.apply(example.subject, Variant(edit.id, example.variant, example.settings))
    return outcome.reason if isinstance(outcome, Skipped) else example.refused


def main(folder: Path) -> None:
    """Rewrite the section on the page of every edit in `folder`."""
    playbook = load()
    for edit in EDITS:
        page = folder / playbook[edit.id].reference
        page.write_text(with_section(page.read_text(), edit))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
