"""`kdiag explain`: the reference page of an optimization, a cause or a concept."""

import json
import sys

import click

from kdiag.errors import UsageError
from kdiag.rules.load_references import Page, find, load


@click.command("explain")
@click.argument("name", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (schema kdiag.explain/1).")
def command(name: tuple[str, ...], as_json: bool) -> None:
    """Print the reference page of an optimization, a cause or a concept; without NAME, what there is.

    \b
    kdiag explain H                  an optimization, as in `kdiag plan`
    kdiag explain register-spills    a cause, as in `kdiag profile`
    kdiag explain performance model  a concept
    """
    wanted = " ".join(name)
    pages = tuple(load().values())
    if wanted:
        pages = (_complete(_page(wanted)),)
    if as_json:
        from kdiag.reporters import json_explain

        click.echo(json.dumps(json_explain.to_json(pages, whole=bool(wanted)), indent=2))
        return
    from kdiag.reporters import terminal_explain

    if not wanted:
        terminal_explain.render_list(pages)
    elif sys.stdout.isatty():
        terminal_explain.render(pages[0])
    else:
        click.echo(pages[0].text.rstrip("\n"))


def _page(wanted: str) -> Page:
    """The page that is meant; what else it could be goes to stderr. Raises UsageError naming what is near."""
    page, others = find(wanted)
    names = ", ".join(other.name for other in others)
    if page is None:
        near = f"near are {names}; " if names else ""
        raise UsageError(f"There is no page {wanted!r}; {near}`kdiag explain` lists all.")
    if others:
        click.echo(f"note: {page.name}; see also {names}", err=True)
    return page


def _complete(page: Page) -> Page:
    """The page with the examples of its edit."""
    if page.kind != "optimization":
        return page
    from kdiag.executors.edits.reference_section import with_examples

    return with_examples(page)
