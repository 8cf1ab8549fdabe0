"""How far the emulator is from what was recorded, for each stated tolerance: python distances.py

Needs no GPU. The last column is the largest distance seen, in units in the last place of the output's type.
"""

from collections import defaultdict
from math import inf
from pathlib import Path

import numpy as np
from agreement import distance, restored
from bits import storage
from case import Case
from catalogue import all_cases
from launch import run
from recording import load

from kdiag.executors.emulator import emulate

FILE = Path(__file__).parents[2] / "tests" / "recordings" / "conformance.zip"


def farthest(case: Case, expected: tuple[bytes, ...]) -> float:
    """The largest distance between the emulator's outputs and the recorded ones; infinite where those are far."""
    with emulate():
        got = run(case, "cpu", None)
    most = 0.0
    for data, want, have in zip(case.outputs(), expected, got, strict=True):
        whole = want if len(want) == len(have) else restored(data, want, have, case.tolerance)
        if whole is None:
            return inf
        a, b = (np.frombuffer(part, storage(data.dtype)) for part in (whole, have))
        most = max(most, float(distance(data.dtype, a, b, case.tolerance).max(initial=0.0)))
    return most


def main() -> None:
    cases = all_cases()
    recorded = load(FILE, cases).results
    rows: dict[tuple[int, str], list[float]] = defaultdict(list)
    for name, case in cases.items():
        if recorded[name].status == "recorded" and case.tolerance.kind != "unspecified":
            key = (case.tolerance.ulps, case.tolerance.reason or "exact")
            rows[key].append(farthest(case, recorded[name].outputs))
    print("| cases | allowed, ulps | because | largest seen, ulps |")
    print("|---|---|---|---|")
    for (allowed, reason), seen in sorted(rows.items()):
        print(f"| {len(seen)} | {allowed} | {reason} | {max(seen):g} |")


if __name__ == "__main__":
    main()
