"""Feeds damaged reports through `kdiag profile FILE --json` and says what came of them.

    python benchmarks/fuzz_reports.py [--count 1000] [REPORT ...]

Without reports it takes those of the examples, and prints each also as CSV in both forms. Every file goes through the
whole command in a process of its own, forked after the imports, so that a native crash is seen. It may be refused with
one sentence and exit code 1, or give figures; a traceback, exit code 70, a crash, more than 20 seconds, anything but one
line on stderr, or a figure that cannot be a measurement is a failure: it is listed with its seed and the exit code is 1.
"""

import json
import math
import os
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
from mutations import BINARY, TEXT

from kdiag import cli
from kdiag.rules.load_metrics import load_metrics

EXAMPLES = Path(__file__).parents[1] / "examples"
SECONDS = 20
DAY_US = 86_400e6


@click.command()
@click.option("--count", default=1000, show_default=True, help="How many damaged files.")
@click.option("--first", default=0, show_default=True, help="Seed of the first.")
@click.argument("reports", nargs=-1, type=click.Path(exists=True, path_type=Path))
def main(count: int, first: int, reports: tuple[Path, ...]) -> None:
    """Damage reports and read them."""
    with tempfile.TemporaryDirectory() as folder:
        sources = list(reports) or sorted(EXAMPLES.glob("*/*.ncu-rep"))
        sources += [each for source in sources for each in printed(source, Path(folder))]
        outcomes: Counter[str] = Counter()
        failures = []
        for seed in range(first, first + count):
            source = sources[seed % len(sources)]
            outcome = attempt(seed, source, Path(folder))
            outcomes[outcome.split(":")[0]] += 1
            if outcome.startswith("FAILED"):
                failures.append(f"seed {seed}, {source.name}: {outcome}")
    for outcome, number in outcomes.most_common():
        click.echo(f"{number:6} {outcome}")
    for failure in failures:
        click.echo(failure)
    sys.exit(1 if failures else 0)


def attempt(seed: int, source: Path, folder: Path) -> str:
    """Damage one report, read it in a child, and return what came of it."""
    chance = random.Random(seed)
    content = source.read_bytes()
    damage = chance.choice(BINARY if content.startswith(b"NVR") else TEXT)
    path = folder / f"damaged{source.suffix}"
    path.write_bytes(damage(chance, content))
    out, err = folder / "out", folder / "err"
    child = os.fork()
    if child == 0:
        run(path, out, err)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    problem = judge(status, out.read_text(errors="replace"), err.read_text(errors="replace"))
    if problem:
        return f"FAILED: {damage.__name__}: {problem}"
    return "refused with one sentence" if status else "read"


def run(path: Path, out: Path, err: Path) -> None:
    """Be the child: the whole command, with both streams in files; ends the process."""
    for descriptor, target in ((1, out), (2, err)):
        os.dup2(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    signal.alarm(SECONDS)
    status = cli.run(["profile", str(path), "--json"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def judge(status: int, out: str, err: str) -> str:
    """Say what is wrong with an outcome, nothing if it is one of the two allowed ones."""
    if status not in {0, 1}:
        return f"exit code {status}: {err[:200]}"
    if status == 1:
        ok = err.startswith("kdiag: ") and err.count("\n") == 1 and not out
        return "" if ok else f"not one sentence: {err[:200]!r}"
    if err:
        return f"said something on stderr: {err[:200]!r}"
    profile = json.loads(out, parse_constant=lambda name: math.nan)
    return next((f"{where} is {value}" for where, value, unit in figures(profile) if wrong(value, unit)), "")


def figures(node: object, where: str = "", unit: str = "") -> Iterator[tuple[str, float, str]]:
    """All numbers of a profile with the unit that their key or their evidence gives them."""
    if isinstance(node, dict):
        for key, value in node.items():
            own = str(node.get("unit", "")) if key == "value" else "%" if key.endswith("pct") else key
            yield from figures(value, f"{where}.{key}", own)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from figures(value, f"{where}[{index}]", unit)
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        yield where, node, unit


def wrong(value: float, unit: str) -> bool:
    """Whether a figure cannot be one."""
    if not math.isfinite(value) or value < 0:
        return True
    return value > {"%": 1000, "duration_us": DAY_US, "us": DAY_US}.get(unit, 1e22)


def printed(report: Path, folder: Path) -> list[Path]:
    """Print a report file as CSV, one row a launch and one row a metric, the way ncu does."""
    import ncu_report

    if not report.read_bytes().startswith(b"NVR"):
        return []
    context = ncu_report.load_report(str(report))
    names = [name for metric in load_metrics().values() for name in metric.names]
    head = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name"]
    units: dict[str, str] = {}
    wide, long = [], [quoted([*head, "Section Name", "Metric Name", "Metric Unit", "Metric Value"])]
    for index in range(context.range_by_idx(0).num_actions()):
        action = context.range_by_idx(0).action_by_idx(index)
        launch = [str(index), "7", "python3", "127.0.0.1", action.name()]
        metrics = {name: action.metric_by_name(name) for name in names}
        units |= {name: metric.unit() for name, metric in metrics.items() if metric is not None}
        texts = {name: f"{m.value():,.6f}" for name, m in metrics.items() if m is not None}
        wide.append((launch, texts))
        long += [quoted([*launch, "Metrics", name, units[name], text]) for name, text in texts.items()]
    rows = [quoted([*head, *units]), quoted([""] * len(head) + list(units.values()))]
    rows += [quoted([*launch, *(texts.get(name, "") for name in units)]) for launch, texts in wide]
    made = [folder / f"{report.stem}-wide.csv", folder / f"{report.stem}-long.csv"]
    made[0].write_text("==PROF== Connected to process 7\n" + "".join(rows))
    made[1].write_text("".join(long))
    return made


def quoted(cells: list[str]) -> str:
    """Return one line of CSV."""
    return ",".join(f'"{cell}"' for cell in cells) + "\n"


if __name__ == "__main__":
    main()
