"""How often a run on a noisy machine keeps a kernel that is not faster, and one that is by 5 %: simulated times.

    python benchmarks/false_keeps.py [TRIALS]

The times are drawn from `tests/noisy_machines.py`; everything after them is what `kdiag auto` does.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from kdiag.rules.load_policies import load
from noisy_machines import MACHINES, kept


def main(trials: int) -> None:
    """Print a table, one row a machine and size of a block of rounds."""
    policy = load("adaptive")
    print("| machine | rounds in a block | kept of equal kernels | kept of those 5 % faster |")
    print("|---|---:|---:|---:|")
    for machine in MACHINES:
        for rounds in (15, 100):
            rng = np.random.default_rng(1)
            count = [
                sum(kept(machine, rng, policy, rounds=rounds, speedup=speedup) for _ in range(trials))
                for speedup in (1.0, 1.05)
            ]
            name = machine.__name__.replace("_", " ")
            print(f"| {name} | {rounds} | {count[0]} of {trials} | {count[1] / trials:.1%} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
