"""Writes docs/edit-effects.md from what `measure.py` wrote: `python table.py OUT.md MEASURED.json ...`"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]

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
HEAD = """# What each edit does to the time

{gpu}, {date}, clocks free, cold L2. Each row is one edit alone, beside the unedited kernel in one process: correct on poisoned buffers and fresh
inputs, then the median of interleaved pairs with its 95 % interval, for each timed configuration. "Compiler" is what gate 4 found, beside that no
register is spilled anew; where it is the same for all that passed, it stands above the table. What spills (bytes of stack frame) is stopped before it is
timed. The kernels are those of `examples/` and `benchmarks/edit_effects/`, from naive starting points. "Playbook" is the gain that the playbook published
with TileGym names, on no particular card.

    python benchmarks/edit_effects/predict.py PREDICTED.json
    python benchmarks/edit_effects/measure.py PREDICTED.json MEASURED.json
    python benchmarks/edit_effects/table.py docs/edit-effects.md MEASURED.json

{summary}
"""
ORDER = "ABCDEFGHIJK"
NO_SPILLS = ("no new spills", "no registers are spilled")  # what most rows would say


def rows_of(paths: list[Path]) -> tuple[Row, list[Row]]:
    """The head of the first file, and of each candidate its first row that holds a measurement or a verdict."""
    files = [json.loads(path.read_text()) for path in paths]
    found: dict[tuple[str, str, str], Row] = {}
    for row in (row for file in files for row in file["rows"]):
        key = (row["workload"], row["optimization"], row["variant"])
        if key not in found or not _decided(found[key]):
            found[key] = row
    return files[0], [row for row in found.values() if _decided(row)]


def _decided(row: Row) -> bool:
    return "the time was over" not in row.get("died", "")


def stopped(row: Row) -> Row | None:
    """The gate that failed, before anything was timed."""
    return next((gate for gate in row["gates"] if gate["outcome"] == "failed"), None)


def sections(rows: list[Row]) -> Iterator[str]:
    """A table for each optimization, in the order of the playbook."""
    names = sorted({row["optimization"] for row in rows}, key=lambda n: (ORDER.find(n) % 99, n))
    for name in names:
        claim = f" (playbook: {CLAIMS[name]})" if name in CLAIMS else " (not in the playbook)"
        yield f"\n## {name}{claim}\n"
        own = [row for row in rows if row["optimization"] == name and not _no_op(row)]
        found = {_compiler(row) for row in own if stopped(row) is None}
        common = found.pop() if len(found) == 1 else ""
        if common:
            yield f"Compiler: {common}.\n"
        yield "| kernel | variant | speed-up [95 %] | compiler |"
        yield "|---|---|---|---|"
        for row in sorted(own, key=lambda r: r["workload"].split("/")[-1]):
            kernel, said = row["workload"].rpartition("/")[2], _compiler(row)
            yield f"| {kernel} | {row['variant']} | {_measured(row)} | {said if said != common else ''} |"


def _no_op(row: Row) -> bool:
    """Whether there is nothing to say of it: the machine code is the parent's."""
    return (gate := stopped(row)) is not None and gate["gate"] == "no-op"


def _compiler(row: Row) -> str:
    gate = stopped(row) or next((g for g in row["gates"] if g["gate"] == "effect"), row["gates"][-1])
    said = str(gate["reason"]).replace("nothing was promised, and there are ", "")
    return "" if said in NO_SPILLS else said.replace("it spills registers: a stack frame of", "spills")


def _measured(row: Row) -> str:
    if stopped(row) is not None:
        return "stopped"
    if row.get("died"):
        return str(row["died"])
    if row.get("wrong"):
        return f"wrong: {row['wrong']['reason']}"
    return ", ".join(f"{t['speedup']:.3f} [{t['low']:.3f}, {t['high']:.3f}]" for t in row["timings"])


def summary(rows: list[Row]) -> str:
    """How many were stopped, by which gate, and what became of the others."""
    gates = Counter(gate["gate"] for row in rows if (gate := stopped(row)) is not None)
    timed = [row for row in rows if row.get("timings")]
    wrong = sum(bool(row.get("wrong")) for row in rows)
    died = sum(bool(row.get("died")) for row in rows)
    least = [min(t["low"] for t in row["timings"]) for row in timed]
    most = [max(t["high"] for t in row["timings"]) for row in timed]
    faster, slower = sum(low > 1.02 for low in least), sum(high < 0.98 for high in most)
    by_gate = ", ".join(f"{count} by {gate}" for gate, count in gates.most_common())
    return (
        f"{len(rows)} candidates: {sum(gates.values())} stopped before the GPU ({by_gate}), {len(timed)} timed, {wrong} wrong on the GPU, "
        f"{died} without an answer. Of those timed, {faster} were more than 2 % faster in every configuration and {slower} more than 2 % slower in every one."
    )


def main(out: Path, paths: list[Path]) -> None:
    """See the module's text."""
    head, rows = rows_of(paths)
    text = HEAD.format(gpu=head["gpu"], date=head["date"], summary=summary(rows))
    out.write_text(text + "\n".join(sections(rows)) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
