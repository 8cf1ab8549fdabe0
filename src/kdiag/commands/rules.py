"""`kdiag rules`: check the rules, or draw them."""

from pathlib import Path

import click

from kdiag.errors import KdiagError, UsageError

from .files import writable


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
    from kdiag.planner.check import problems, rule_files

    texts = rule_files(folder)
    found = problems(texts, producible())
    click.echo("\n".join(found) or f"{len(texts)} rule files are right.")
    if found:
        raise KdiagError(f"{len(found)} problem(s) in {len(texts)} rule files; correct each as its line says.")


@command.command()
@click.option("--svg", "-o", type=click.Path(path_type=Path), callback=writable, help="Write it to this SVG file.")
@click.option("--dot", is_flag=True, help="Print it in the language of Graphviz.")
def graph(svg: Path | None, dot: bool) -> None:
    """Draw symptoms, causes by bottleneck, and the optimizations that treat them, with gains as tooltips."""
    from kdiag.planner.graph import bundled
    from kdiag.reporters import rules_drawing
    from kdiag.reporters.markdown import write_atomically

    if svg is None and not dot:
        raise UsageError("Say where to draw: --svg FILE, or --dot for Graphviz.")
    if svg is not None:
        write_atomically(svg, rules_drawing.to_svg(bundled()))
    if dot:
        click.echo(rules_drawing.to_dot(bundled()))
