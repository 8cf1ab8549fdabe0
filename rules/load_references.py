"""The reference pages: of optimizations and concepts, and those of causes, written from their rules; found by name or
by what is near it.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from . import load_playbook
from .cause_page import render
from .load_causes import load_causes

PACKAGE = "kdiag.references"
INDEX = "README.md"
MOST_SUGGESTED = 6

Kind = Literal["optimization", "cause", "concept"]


@dataclass(frozen=True)
class Page:
    """A page. `name` is what one asks for: the id of an optimization or cause, the file's name of a concept."""

    name: str
    kind: Kind
    title: str
    text: str

    @property
    def sections(self) -> Mapping[str, str]:
        """The text below each heading of the second level, in order; "" is what stands above the first."""
        parts = re.split(r"^## +(.+?) *$", self.text, flags=re.MULTILINE)
        return {"": parts[0].strip()} | {
            head: body.strip() for head, body in zip(parts[1::2], parts[2::2], strict=True)
        }


@cache
def load() -> Mapping[str, Page]:
    """All pages by name: optimizations, then causes, then concepts."""
    folder = files(PACKAGE)
    optimizations = {entry.reference: entry.id for entry in load_playbook.load().values()}
    texts = {e.name: e.read_text() for e in folder.iterdir() if e.name.endswith(".md") and e.name != INDEX}
    pages = [_page(name, "optimization", texts[file]) for file, name in optimizations.items() if file in texts]
    pages += [_page(name, "cause", render(rule)) for name, rule in sorted(load_causes().items())]
    pages += [
        _page(file.removesuffix(".md"), "concept", texts[file]) for file in sorted(texts) if file not in optimizations
    ]
    return {page.name: page for page in pages}


def find(wanted: str) -> tuple[Page | None, tuple[Page, ...]]:
    """The page that is meant, and what else may be; None if that is not certain.

    A name is found in any case of letters and with spaces for dashes, or as the only one that contains what is wanted.
    """
    pages, plain = load(), _plain(wanted)
    if not plain:
        return None, ()
    exact = next((page for name, page in pages.items() if _plain(name) == plain), None)
    if exact is not None:
        return exact, ()
    containing = [page for name, page in pages.items() if len(plain) > 1 and plain in _plain(name)]
    titled = [page for page in pages.values() if len(plain) > 1 and plain in _plain(page.title)]
    close = difflib.get_close_matches(plain, [_plain(name) for name in pages], MOST_SUGGESTED)
    near = [page for name, page in pages.items() if _plain(name) in close]
    candidates = tuple({page.name: page for page in (*containing, *titled, *near)}.values())
    if len(containing) == 1 or (not containing and len(titled) == 1):
        return (containing or titled)[0], candidates[1:MOST_SUGGESTED]
    return None, candidates[:MOST_SUGGESTED]


def _page(name: str, kind: Kind, text: str) -> Page:
    title = next((line.removeprefix("# ").strip() for line in text.splitlines() if line.startswith("# ")), name)
    return Page(name, kind, title, text)


def _plain(name: str) -> str:
    """Letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
