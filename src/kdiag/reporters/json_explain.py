"""Reference pages as one JSON object, schema `kdiag.explain/1`."""

from collections.abc import Sequence

from kdiag.rules.load_references import Page

SCHEMA = "kdiag.explain/1"


def to_json(pages: Sequence[Page], *, whole: bool) -> dict[str, object]:
    """A page with its text in Markdown and by section, or all pages by name, kind and title."""
    if whole:
        page = pages[0]
        sections = [{"heading": heading, "text": text} for heading, text in page.sections.items()]
        return {"schema": SCHEMA, **_named(page), "text": page.text, "sections": sections}
    return {"schema": SCHEMA, "pages": [_named(page) for page in pages]}


def _named(page: Page) -> dict[str, object]:
    return {"name": page.name, "kind": page.kind, "title": page.title}
