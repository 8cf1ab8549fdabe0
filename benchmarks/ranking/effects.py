"""What `measure.py` measured, by optimization: the tables behind that of docs/edit-effects.md, which a second file renews.

PYTHONPATH=src:benchmarks python benchmarks/ranking/effects.py benchmarks/ranking/steps.json.xz [docs/edit-effects.md]
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median

from ranking.records import Measurements, Step, read

# What the playbook published with TileGym (NVIDIA/TileGym, commit 75a1430) says of each, for any card.
CLAIMS = {
    "A": "2 to 78 times",
    "B": "1.5 to 4 times",
    "C": "1.1 to 1.5 times",
    "D": "about 2 times",
    "E": "1.02 to 1.05 times",
    "F": "1.1 to 1.3 times",
    "G": "1.05 to 1.5 times",
    "H": "1.01 to 1.05 times",
    "I": "1.05 to 1.15 times",
    "J": "variable",
    "K": "1.1 to 1.7 times",
}
UNSURE = 0.005
Row = tuple[str, Step]


def overview(rows: Sequence[Row]) -> Iterator[str]:
    """One table: what the best variant of each optimization did on the kernels on which one was timed."""
    best: dict[str, dict[str, float]] = {}
    for kernel, step in rows:
        if step.speedup is not None:
            of = best.setdefault(step.optimization, {})
            of[kernel] = max(step.speedup, of.get(kernel, 0.0))
    yield f"|edit|playbook|kernels|faster by 2 %|least|median|most|\n{'|---' * 7}|"
    for name in sorted(best, key=lambda name: (name not in CLAIMS, name)):
        found = best[name].values()
        most, kernel = max((speedup, kernel) for kernel, speedup in best[name].items())
        figures = f"{min(found):.2f}|{median(found):.2f}|{most:.2f} ({kernel})"
        claim = CLAIMS.get(name, "").removesuffix(" times")
        yield f"|{name}|{claim}|{len(found)}|{sum(each > 1.02 for each in found)}|{figures}|"


def sections(rows: Sequence[Row]) -> Iterator[str]:
    """A table for each optimization, in the order of the playbook; a line for each kernel."""
    ordered = sorted(rows, key=lambda row: (row[1].optimization not in CLAIMS, row[1].optimization, row[0]))
    for name, own in groupby(ordered, key=lambda row: row[1].optimization):
        claim = f"playbook: {CLAIMS[name]}" if name in CLAIMS else "not in the playbook"
        yield f"\n## {name} ({claim})\n"
        kernels = {kernel: [step for _, step in steps] for kernel, steps in groupby(own, key=lambda row: row[0])}
        idle = [kernel for kernel, steps in kernels.items() if _idle(steps)]
        if idle:
            yield f"No variant that compiles to other code changes the time of these by 2 %: {', '.join(idle)}.\n"
        if len(idle) == len(kernels):
            continue
        yield "| kernel | best | worst | not timed |\n|---|---|---|---|"
        yield from (_line(kernel, steps) for kernel, steps in kernels.items() if kernel not in idle)


def _idle(steps: list[Step]) -> bool:
    """Whether no variant makes a difference, as far as it was timed."""
    ratios = [each for step in steps for each in step.speedups]
    return all(0.98 < ratio < 1.02 for ratio in ratios) and {_fate(s) for s in steps if not s.speedups} <= {"same"}


def _line(kernel: str, steps: list[Step]) -> str:
    timed = sorted((step for step in steps if step.speedup is not None), key=lambda step: -(step.speedup or 0))
    others = Counter(_fate(step) for step in steps if step.speedup is None)
    left = ", ".join(f"{count} {fate}" for fate, count in others.items())
    worst = f"{timed[-1].variant} {timed[-1].speedup:.2f}" if len(timed) > 1 else ""
    return f"| {kernel} | {_told(timed[0]) if timed else '-'} | {worst} | {left} |"


def _told(step: Step) -> str:
    return f"{step.variant} {step.speedup:.2f}" + (f" ± {step.spread:.1%}" if step.spread > UNSURE else "")


def _fate(step: Step) -> str:
    fates = {"no-op": "same", "wrong": "wrong", "crash": "no answer"}
    return fates[step.outcome.partition(":")[0]]


def summary(rows: Sequence[Row]) -> str:
    """How many were timed, and how many of those were faster or slower in every configuration."""
    timed = [step for _, step in rows if step.speedups]
    faster = sum(min(step.speedups) > 1.02 * (1 + step.spread) for step in timed)
    slower = sum(max(step.speedups) < 0.98 * (1 - step.spread) for step in timed)
    return (
        f"{len(rows)} candidates, {len(timed)} timed: {faster} were more than 2 % faster in every configuration, "
        f"{slower} more than 2 % slower in every one."
    )


def main(measured: Measurements, page: Path | None) -> None:
    """Renew card and date, the counts and the table of the page, or print the tables."""
    rows = [(Path(kernel.folder).name, step) for kernel in measured.kernels for step in kernel.steps]
    if page is None:
        print(*sections(rows), sep="\n")
        return
    text = page.read_text()
    for old, new in (
        (r"^.*(?=, clocks free)", f"{measured.gpu}, {measured.date}"),
        (r"(?<=alone, on )\d+", str(len(measured.kernels))),
        (r"^\d+ candidates, .*", summary(rows)),
        (r"^(\|.*\n)+", "\n".join(overview(rows)) + "\n"),
    ):
        text = re.sub(old, new, text, count=1, flags=re.MULTILINE)
    page.write_text(text)


if __name__ == "__main__":
    main(read(Path(sys.argv[1])), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
