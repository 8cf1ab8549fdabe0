"""How often a run on a machine with 3 % jitter keeps a kernel that is not faster, and one that is: by 5 %, or by 20 % where commands measure.

    python benchmarks/false_keeps.py [TRIALS]

The times are simulated; everything after them is what `kdiag auto` does.
"""

import sys
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kdiag.executors.command_bench import RUNS, plain, timings_of
from kdiag.executors.command_output import Measured
from kdiag.executors.decide import CandidateOutcome, confirmation, decide, needs_confirmation
from kdiag.executors.paired_statistics import noise_floor, paired_ratio, until_settled
from kdiag.records import ConfigurationCheck, ConfigurationTiming
from kdiag.rules.load_policies import Policy, load

JITTER = 0.03
Logs = npt.NDArray[np.float64]


def noise(rng: np.random.Generator, rounds: int) -> Logs:
    """Logarithms of the relative times of one block by round and arm: parent, the parent again, candidate."""
    return rng.normal(0, JITTER, (rounds, 3))


def in_time(rng: np.random.Generator, steps: Logs) -> Logs:
    """What adds up from launch to launch, for arms that take turns in another order each round."""
    return rng.permuted(np.cumsum(steps).reshape(steps.shape), axis=1)


def remembering(logs: Logs) -> Logs:
    """Each arm remembers half of what it was a round ago."""
    for row in range(1, len(logs)):
        logs[row] = 0.5 * logs[row - 1] + 0.75**0.5 * logs[row]
    return logs


Machine = Callable[[np.random.Generator, int], Logs]
MACHINES: dict[str, Machine] = {
    "Gaussian": noise,
    "heavy tails (t, 3 degrees of freedom)": lambda rng, n: JITTER * rng.standard_t(3, (n, 3)),
    "clock drifts by 1 % a launch": lambda rng, n: in_time(rng, rng.normal(0, 0.01, (n, 3))) + noise(rng, n),
    "two clocks, 15 % apart": lambda rng, n: 0.14 * (in_time(rng, rng.random((n, 3)) < 0.05) % 2) + noise(rng, n),
    "autocorrelated, 0.5": lambda rng, n: remembering(noise(rng, n)),
    "0.3 % by place in memory": lambda rng, n: noise(rng, n) + rng.normal(0, 0.003, 3),
}


def measured(machine: Machine, rng: np.random.Generator, rounds: int, speedup: float) -> ConfigurationTiming:
    """One process's timing of a candidate that is faster by `speedup`; `rounds` in a block."""
    parent, twin, candidate = until_settled(
        lambda: list((np.exp(machine(rng, rounds)) / (1.0, 1.0, speedup)).T.tolist())
    )
    ratio, floor = paired_ratio(parent, candidate), noise_floor(parent, twin)
    return ConfigurationTiming("n", 1, 1, ratio.median, ratio.low, ratio.high, floor, len(parent))


def by_commands(machine: Machine, rng: np.random.Generator, speedup: float) -> ConfigurationTiming:
    """The same by runs of a benchmark command, as many as it takes."""
    times = np.exp(machine(rng, RUNS)[:, 0])
    times[1::2] /= speedup
    looks = (timings_of([{"n": Measured(ms)} for ms in times[:end].tolist()]) for end in range(3, RUNS + 1, 2))
    timings = next(timings for timings in looks if plain(timings) or timings[0].samples == RUNS // 2)
    return timings[0]


def kept(machine: Machine, rng: np.random.Generator, policy: Policy, rounds: int | None, speedup: float) -> bool:
    """Whether a run keeps such a candidate: measured, and once more in a fresh process where that is asked for.

    `rounds` is the size of a block; None measures by commands.
    """

    def once() -> ConfigurationTiming:
        return by_commands(machine, rng, speedup) if rounds is None else measured(machine, rng, rounds, speedup)

    check = (ConfigurationCheck("n", True, 0.0, 1.0),)
    timings = (once(),)
    verdict = decide(CandidateOutcome(checks=check, timings=timings), policy)
    if verdict.name == "keep" and needs_confirmation(timings, policy):
        again = confirmation(timings, (once(),))
        verdict = decide(CandidateOutcome(checks=check, timings=again), policy)
    return verdict.name == "keep"


def main(trials: int) -> None:
    """Print a table, one row a machine and size of a block of rounds."""
    policy = load("adaptive")
    print("| machine | rounds in a block | kept of equal kernels | kept of those that gain | % |")
    print("|---|---:|---:|---:|---:|")
    for name, machine in MACHINES.items():
        for rounds, count, gain in ((15, trials, 1.05), (100, trials // 10, 1.05), (None, trials // 10, 1.2)):
            rng = np.random.default_rng(1)
            false, true = (sum(kept(machine, rng, policy, rounds, g) for _ in range(count)) for g in (1.0, gain))
            size = rounds or "commands"
            print(f"| {name} | {size} | {false} of {count} | {true / count:.1%} | {gain - 1:.0%} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
