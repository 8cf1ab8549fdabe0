"""Prints what `run.py` measured as Markdown: python benchmarks/reached/table.py REACHED.json ..."""

import json
import sys
from pathlib import Path

from reached.beside_job import Beside
from reached.run import Reached

from kdiag.codec import decode

HEAD = (
    "| kernel | before | after | speed-up | kept | of copy or matrix rate | sweep's best / ours | library / ours | auto | sweep |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def lines(found: Reached) -> list[str]:
    """A line for each configuration; what concerns the whole kernel stands in the first."""
    whole = [found.kernel, ", ".join(found.auto.steps) or "-", f"{found.auto.seconds:.0f} s", _sweep(found)]
    rows = []
    for number, row in enumerate(found.rows):
        name, kept, auto, sweep = whole if number == 0 else [""] * 4
        before, ours, swept = row.ms
        library = f"{row.library_ms / ours:.2f}" if row.library_ms else "-"
        spread = f"± {100 * row.spread[1]:.1f} %"
        cells = [name, f"{before:.4f} ms", f"{ours:.4f} ms {spread}", f"{before / ours:.2f}x", kept, _share(row)]
        rows.append(f"| {' | '.join([*cells, f'{swept / ours:.2f}', library, auto, sweep])} |")
    return rows


def _sweep(found: Reached) -> str:
    """Its seconds and steps."""
    return f"{found.sweep.seconds:.0f} s, {found.sweep.tried} {'of one or two edits' if found.pairs else 'steps'}"


def _share(row: Beside) -> str:
    """The share of what was measured in the same process, by whichever of the two takes longer."""
    copy = row.moved / row.copy_gbs / 1e6
    matrix = row.operations / row.matrix_tflops / 1e9 if row.matrix_tflops else 0.0
    return f"{100 * max(copy, matrix) / row.ms[1]:.0f} % of {'copy' if copy >= matrix else 'matrix'}"


def main() -> None:
    print(HEAD)
    for name in sys.argv[1:]:
        for kernel in json.loads(Path(name).read_text())["kernels"]:
            print("\n".join(lines(decode(Reached, kernel))))


if __name__ == "__main__":
    main()
