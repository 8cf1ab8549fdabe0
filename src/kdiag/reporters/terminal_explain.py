"""A reference page, and the list of them, for the terminal."""

from collections.abc import Sequence
from itertools import groupby

from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from kdiag.rules.load_references import Page

from .stdout import stdout_console


def render(page: Page) -> None:
    """Print the page with headings, tables and code set as such."""
    stdout_console().print(Markdown(page.text))


def render_list(pages: Sequence[Page]) -> None:
    """Print the name and title of each page, by kind."""
    console = stdout_console()
    for kind, group in groupby(pages, key=lambda page: page.kind):
        console.print(Text(f"{kind}s", "bold"))
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
        table.add_column(no_wrap=True, style="cyan")
        table.add_column(overflow="fold")
        for page in group:
            table.add_row(f"  {page.name}", _without_name(page))
        console.print(table)


def _without_name(page: Page) -> str:
    """The title without the name in front, which stands beside it."""
    return page.title.removeprefix(f"{page.name}: ")
