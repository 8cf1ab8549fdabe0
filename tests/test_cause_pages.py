"""The reference pages of causes are written from the rules."""

from kdiag.rules.cause_page import render
from kdiag.rules.load_causes import load_causes
from kdiag.rules.load_references import load


def test_every_cause_has_its_page():
    pages = {name: page for name, page in load().items() if page.kind == "cause"}
    assert pages.keys() == load_causes().keys()
    for name, rule in load_causes().items():
        assert pages[name].title == rule.title
        assert list(pages[name].sections)[1:3] == ["What it is", "What to do"]


def test_page_says_what_counts_and_why():
    page = render(load_causes()["barrier"])
    assert "a cause of the class **latency**" in page
    assert "| `barrier_pct` | 20 | 45 | for it | Reductions of good kernels" in page
    assert "* **not this**: row softmax with two reductions" in page
