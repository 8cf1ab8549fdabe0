"""How long kdiag takes beside the least that could do the same, as ratios of whole processes.

    python benchmarks/startup.py [--rounds 15] [--report FILE]

`kdiag profile REPORT --json` against a process that only imports ncu_report and reads the same metrics of the same
launches: at most 2 times as long. `kdiag --help` against importing click: at most 3 times. The processes run in turns, so
that both meet the same load; the medians are compared. The exit code is 1 when a ratio is above its goal.
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import click

from kdiag.rules.load_metrics import load_metrics

REPORT = Path(__file__).parents[1] / "examples" / "softmax" / "softmax.ncu-repz"

READ = """
import json, sys
import ncu_report
context = ncu_report.load_report(sys.argv[1])
names = json.loads(sys.argv[2])
for one in range(context.num_ranges()):
    actions = context.range_by_idx(one)
    for index in range(actions.num_actions()):
        action = actions.action_by_idx(index)
        action.name()
        for name in names:
            metric = action.metric_by_name(name)
            if metric is not None:
                metric.value()
"""


@click.command()
@click.option("--rounds", default=15, show_default=True, help="How often each process runs.")
@click.option("--report", default=REPORT, type=click.Path(exists=True, path_type=Path), help="The report to read.")
def main(rounds: int, report: Path) -> None:
    """Measure both ratios."""
    names = json.dumps([name for metric in load_metrics().values() for name in metric.names])
    python = sys.executable
    pairs = (
        (
            "profile --json / ncu_report alone",
            2.0,
            [python, "-m", "kdiag", "profile", str(report), "--json"],
            [python, "-c", READ, str(report), names],
        ),
        ("--help / import click", 3.0, [python, "-m", "kdiag", "--help"], [python, "-c", "import click"]),
    )
    click.echo(f"{'':36}{'kdiag':>8}{'least':>8}{'ratio':>8}{'goal':>6}")
    missed = False
    for title, goal, kdiag, least in pairs:
        ours, theirs = medians(rounds, kdiag, least)
        missed |= ours > goal * theirs
        click.echo(f"{title:36}{ours * 1e3:6.0f}ms{theirs * 1e3:6.0f}ms{ours / theirs:8.2f}{goal:6.0f}")
    sys.exit(missed)


def medians(rounds: int, *commands: list[str]) -> list[float]:
    """Return the median seconds of each command, run in turns after one round that is not counted."""
    seconds = [[measure(command) for command in commands] for _ in range(rounds + 1)][1:]
    return [statistics.median(column) for column in zip(*seconds, strict=True)]


def measure(command: list[str]) -> float:
    """Return the seconds that a process takes from start to end. Raises CalledProcessError if it fails."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
