"""`kdiag rules`: check the rules, or draw them."""

from __future__ import annotations

from pathlib import Path

import click

from kdiag.errors import KdiagError, UsageError
from kdiag.reporters.markdown import write_atomically


@click.group("rules")
def command() -> None:
    """Check the rules, or draw them as a graph."""


@command.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), required=False)
def check(folder: Path | None) -> None:
    """Check the rule files in FOLDER (playbook/*.toml and causes/*.toml), or those of kdiag itself.

    One line for each problem on stdout; the exit code is 1 when there is one.
    """
    from kdiag.executors.edits.registry import producible
    from kdiag.planner.check import bundled, problems

    texts = bundled() if folder is None else _texts(folder)
    found = problems(texts, producible())
    for problem in found:
        click.echo(problem)
    if found:
        raise KdiagError(
            f"{len(found)} problem(s) in {len(texts)} rule files; correct each as its line says."
        )
    click.echo(f"{len(texts)} rule files are right.")


@command.command()
@click.option(
    "--svg", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this SVG file."
)
@click.option("--dot", is_flag=True, help="Print it in the language of Graphviz.")
def graph(svg: Path | None, dot: bool) -> None:
    """Draw symptoms, causes by bottleneck, and the optimizations that treat them, with gains as tooltips."""
    from kdiag.planner.graph import bundled
    from kdiag.reporters import rules_drawing

    if svg is None and not dot:
        raise UsageError("Say where to draw: --svg FILE, or --dot for Graphviz.")
    if svg is not None:
        write_atomically(svg, rules_drawing.to_svg(bundled()))
        click.echo(f"note: {svg} shows the rules", err=True)
    if dot:
        click.echo(rules_drawing.to_dot(bundled()))


def _texts(folder: Path) -> dict[str, str]:
    """The rule files below a folder. Raises UsageError if it has none."""
    paths = sorted((*folder.glob("playbook/*.toml"), *folder.glob("causes/*.toml")))
    if not paths:
        raise UsageError(
            f"{folder} has neither playbook/*.toml nor causes/*.toml; name the folder above these."
        )
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}
