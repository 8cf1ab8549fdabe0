"""Every edit on every kernel of TileGym: what applies, what the gates stop, and whether anything wrong gets past them.

    TILEGYM_DIR=/path/to/TileGym PYTHONPATH=src python benchmarks/tilegym_edits.py

TILEGYM_DIR is a checkout of TileGym; of it `src/tilegym/ops/cutile` alone is used. Kernels are compiled for sm_90 and
sm_100 at the sizes of models and emulated at small ragged ones. No GPU is needed. What was compiled and emulated is
remembered beside the cache of compilations. The table of docs/tilegym-edits.md is what it prints; `--json FILE` has each kernel and edit.
"""

import argparse
import os
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from tilegym_table.judging import judge
from tilegym_table.originals import kernels_of, originals
from tilegym_table.proposing import ProposeJob, propose
from tilegym_table.records import TARGETS, Checkout, Kernel, Offer, Original
from tilegym_table.remembering import folder_for
from tilegym_table.report import Table, as_json, summary
from tilegym_table.workers import Workers

from kdiag.executors.edits.base import Subject
from kdiag.isolate import Died
from kdiag.loop.compiler import launches_of

PROPOSE_S = 300.0


def main() -> None:
    arguments = parser().parse_args()
    root = Path(arguments.checkout or sys.exit("name a checkout of TileGym: TILEGYM_DIR or --checkout"))
    began, folder = time.monotonic(), folder_for(root)
    checkout, workers = Checkout(root.resolve(), folder), Workers(arguments.jobs, folder)
    chosen = tuple(one for one in kernels_of(checkout) if re.search(arguments.kernels, str(one)))
    known = originals(checkout, chosen, workers)
    edits = tuple(filter(None, arguments.edits.split(",")))
    offers = offered(checkout, known, (edits, arguments.variants), workers)
    judged = judge(checkout, offers, known, workers)
    table = Table(known, tuple(offers), tuple(judged), time.monotonic() - began)
    if arguments.json:
        arguments.json.write_text(as_json(table), "utf-8")
    print(summary(table))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    made.add_argument("--checkout", default=os.environ.get("TILEGYM_DIR"), help="a checkout of TileGym")
    made.add_argument("--kernels", default="", help="a regular expression on file:kernel")
    made.add_argument("--edits", default="", help="ids of edits, separated by commas; all if left out")
    made.add_argument("--variants", type=int, default=2, help="of each edit at most this many, the most promising")
    made.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="children at a time")
    made.add_argument("--json", type=Path, help="the file for everything")
    return made


def offered(
    checkout: Checkout, known: dict[Kernel, Original], wanted: tuple[tuple[str, ...], int], workers: Workers
) -> list[Offer]:
    """What every edit makes of every kernel on each target; `wanted` are ids of edits and how many variants of each."""
    jobs = [
        ProposeJob(kernel, tuple(subject(checkout, original, target) for target in TARGETS), *wanted)
        for kernel, original in known.items()
    ]
    found: list[Offer] = []
    for job, answer in zip(jobs, workers.each(propose, jobs, PROPOSE_S), strict=True):
        if isinstance(answer, Died):
            found.append(Offer(job.kernel, TARGETS[0], "?", "", "crashed", answer.message))
        else:
            found += answer
    return found


def subject(checkout: Checkout, original: Original, target: str) -> Subject:
    """The kernel with its captured launches."""
    text = (checkout.operators / original.kernel.file).read_bytes().decode()
    return Subject(text, original.kernel.name, target, launches_of(original.compiled[target]))


if __name__ == "__main__":
    main()
