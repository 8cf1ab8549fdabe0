"""The reference pages of causes are written from the rules; what is committed is what the rules say."""

from __future__ import annotations

from importlib.resources import files

import pytest

from kdiag.reporters.cause_page import INDEX, index, render
from kdiag.rules.load_causes import load_causes

RULES = load_causes()
PAGES = files("kdiag.references").joinpath("causes")


@pytest.mark.parametrize("name", RULES)
def test_page_is_current(name: str) -> None:
    written = PAGES.joinpath(f"{name}.md").read_text(encoding="utf-8")
    assert written == render(RULES[name]), "run: python -m kdiag.reporters.cause_page references/causes"


def test_no_page_is_left_over() -> None:
    assert {page.name.removesuffix(".md") for page in PAGES.iterdir()} == set(RULES) | {
        INDEX.removesuffix(".md")
    }
    assert PAGES.joinpath(INDEX).read_text(encoding="utf-8") == index()


def test_page_says_what_counts_and_why() -> None:
    page = render(RULES["barrier"])
    assert "a cause of the class **latency**" in page
    assert "| `barrier_pct` | 20 | 45 | for it | Reductions of good kernels" in page
    assert "* **not this**: row softmax with two reductions" in page
