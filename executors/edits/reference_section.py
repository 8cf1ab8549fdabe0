"""Writes "Before and after" of an optimization's reference page from the examples that its tests are made of."""

import re
from collections.abc import Iterator
from dataclasses import replace

from kdiag.records import Variant
from kdiag.rules.load_references import Page

from .base import Edit, Example, Skipped
from .registry import EDITS, unified_diff

HEADING = "## Before and after\n"
_SECTION = re.compile(r"^## Before and after\n.*?(?=^## )", re.MULTILINE | re.DOTALL)


def with_examples(page: Page) -> Page:
    """The page of an edit with the section as the edit's examples give it, any other page as it is.

    Raises ValueError for the page of an edit without the heading.
    """
    edit = next((edit for edit in EDITS if edit.id == page.name), None)
    if edit is None:
        return page
    if not _SECTION.search(page.text):
        raise ValueError(f"the page of {edit.id} has no heading {HEADING.strip()!r} with another behind it")
    section = "\n".join((HEADING, *_parts(edit)))
    return replace(page, text=_SECTION.sub(lambda _: section + "\n", page.text, count=1))


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
        yield "\n".join(f"* {example.name} (`{example.variant}`): {_reason(edit, example)}" for example in refused)
        yield ""


def _changed(example: Example) -> str:
    """The hunks of the diff, without its two lines of file names."""
    assert example.after is not None
    lines = unified_diff(example.before, example.after, "kernel.py").splitlines(keepends=True)
    return "".join(lines[2:])


def _reason(edit: Edit, example: Example) -> str:
    outcome = edit.apply(example.subject, Variant(edit.id, example.variant, example.settings))
    return outcome.reason if isinstance(outcome, Skipped) else example.refused
