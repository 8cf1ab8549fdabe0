"""Gate 6, correctness: on the device, every configuration agrees with the reference."""

import math

from kdiag.isolate import Died
from kdiag.records import STAGES, ConfigurationCheck, GateRecord

from ..bench import Baseline, Trial

GATE = "correctness"


def correctness(trial: Trial | Baseline | Died | None) -> GateRecord:
    """What the bench's checks say, and what they do not say; None where there is no GPU."""
    if trial is None:
        return GateRecord(GATE, "could-not-run", "there is no GPU")
    if isinstance(trial, Died):
        return GateRecord(GATE, "could-not-run", trial.message)
    if not trial.checks:
        return GateRecord(GATE, "could-not-run", "nothing was checked")
    wrong = [check for check in trial.checks if not check.passed]
    if wrong:
        return GateRecord(GATE, "failed", describe(worst(wrong)))
    checks = f"{len(trial.checks)} check{'s' * (len(trial.checks) > 1)}"
    return GateRecord(GATE, "passed", f"{checks}: {_stages(trial)}")


def _stages(trial: Trial | Baseline) -> str:
    """How many checks of each stage there were, and what says nothing of candidates."""
    counts = [(stage, sum(check.stage == stage for check in trial.checks)) for stage in STAGES]
    words = [f"{count} {stage}" for stage, count in counts if count]
    left_out = [
        f"not evaluated, as the unedited kernel does not pass it: {one.stage}, {one.configuration} ({one.reason})"
        for one in trial.not_evaluated
    ]
    return "; ".join([", ".join(words), *left_out])


def worst(wrong: list[ConfigurationCheck]) -> ConfigurationCheck:
    """The check with the largest error; one whose error is unknown counts as infinitely wrong."""
    return max(wrong, key=lambda check: math.inf if check.error is None else check.error)


def describe(check: ConfigurationCheck) -> str:
    """A failed check in one sentence."""
    error = "" if check.error is None else f" with an error of {check.error:.3g}"
    limit = "" if check.tolerance is None else f" where {check.tolerance:.3g} is allowed"
    detail = f"; {check.reason}" if check.reason else ""
    return f"wrong in {check.configuration or 'the tests'}{error}{limit}{detail}"
