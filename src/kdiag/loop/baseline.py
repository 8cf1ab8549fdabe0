"""The unedited kernel: measured before anything is tried, and beside the best version at the end."""

from collections.abc import Callable, Sequence
from statistics import fmean

from kdiag.errors import KdiagError
from kdiag.executors.bench import Baseline, Counters, Trial
from kdiag.executors.gates.correctness import correctness
from kdiag.isolate import Died
from kdiag.records import ConfigurationTiming, EmulatedSource, Iteration, Observations
from kdiag.workload import CommandWorkload

from .attempt import Arena
from .spent import waiting

CURE = "correct the kernel, the reference or the tolerance first"


@waiting("baseline")
def measure(arena: Arena, original: str) -> Baseline:
    """Check and time the unedited kernel. Raises KdiagError if it fails or is wrong."""
    assert arena.bench is not None
    arena.on_gate("baseline")
    answer = arena.bench.baseline(arena.compiler.path(original))
    if isinstance(answer, Died):
        reason, problem = answer.message, f"does not run: {answer.message}; repair it before tuning it."
    elif answer.passed:
        return answer
    else:
        wrong = next(check for check in answer.checks if not check.passed)
        reason, problem = wrong.reason, f"is wrong in {wrong.configuration} ({wrong.reason}); {CURE}."
    if isinstance(arena.compiler.workload, CommandWorkload) and arena.bench.gpu() is None:
        raise KdiagError(f"torch finds no GPU here, which the commands probably need; they say: {reason}.")
    raise KdiagError(f"The unedited kernel {problem}")


def emulate(arena: Arena, original: str) -> None:
    """Without a GPU: raise KdiagError if the unedited kernel is wrong on the CPU, and not by a fault that a GPU lets pass."""
    (found,) = arena.emulator.emulate([original])
    for case, ran in found.ran.items() if isinstance(found, EmulatedSource) else ():
        if not case.perturbation and not ran.check.passed and not ran.faults:
            raise KdiagError(f"The unedited kernel is wrong on the CPU in {case} ({ran.check.reason}); {CURE}.")


def row(answer: Baseline) -> Iteration:
    """Row 0 of a run; its time is the mean over configurations."""
    return Iteration(
        n=0,
        optimization="baseline",
        variant="",
        title="baseline",
        correctness="PASS",
        latency_ms=fmean(each.ms for each in answer.configurations),
        speedup=None,
        verdict="keep",
        reason="",
        gates=(correctness(answer),),
        checks=answer.checks,
        clocks=tuple(each.clocks for each in answer.configurations if each.clocks),
    )


@waiting("counters")
def counters(arena: Arena, source: str, on_note: Callable[[str], None]) -> Observations:
    """What a profiler says of a version; nothing where there is none."""
    if arena.bench is None:
        return {}
    arena.on_gate("profile")
    answer = arena.bench.counters(arena.compiler.path(source), arena.kernel)
    if isinstance(answer, Counters):
        return answer.observations
    on_note(f"no profiler counters: {answer.message}")
    return {}


def trial_of_best(rows: Sequence[Iteration], first: int) -> tuple[ConfigurationTiming, ...]:
    """The times of the only edit that is kept, where this process took them: its iterations begin with `first`.

    Its parent was the original, and one process timed both in turn: to measure them once more would tell nothing new.
    """
    kept = [row for row in rows if row.n > 0 and row.verdict == "keep"]
    return kept[0].timings if len(kept) == 1 and kept[0].n >= first else ()


def beside_best(arena: Arena, original: str, best: str) -> tuple[ConfigurationTiming, ...]:
    """The original against the best, interleaved in one process; nothing if that did not succeed."""
    assert arena.bench is not None
    arena.on_gate("original against best")
    answer = arena.bench.trial(arena.compiler.path(original), arena.compiler.path(best))
    return answer.timings if isinstance(answer, Trial) and answer.passed else ()
