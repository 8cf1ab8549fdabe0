"""Gate 6, correctness: on the device, every configuration agrees with the reference."""

from __future__ import annotations

import math

from kdiag.executors.bench import Trial
from kdiag.isolate import Died
from kdiag.records import ConfigurationCheck, GateRecord

GATE = "correctness"


def correctness(trial: Trial | Died | None) -> GateRecord:
    """What the bench's checks say; None where there is no GPU."""
    if trial is None:
        return GateRecord(GATE, "could-not-run", "there is no GPU")
    if isinstance(trial, Died):
        return GateRecord(GATE, "could-not-run", trial.message)
    if not trial.checks:
        return GateRecord(GATE, "could-not-run", "nothing was checked")
    wrong = [check for check in trial.checks if not check.passed]
    if wrong:
        return GateRecord(GATE, "failed", describe(worst(wrong)))
    return GateRecord(GATE, "passed", f"{len(trial.checks)} checks")


def worst(wrong: list[ConfigurationCheck]) -> ConfigurationCheck:
    """The check with the largest error; one whose error is unknown counts as infinitely wrong."""
    return max(wrong, key=lambda check: math.inf if check.error is None else check.error)


def describe(check: ConfigurationCheck) -> str:
    """A failed check in one sentence."""
    error = "" if check.error is None else f" with an error of {check.error:.3g}"
    limit = "" if check.tolerance is None else f" where {check.tolerance:.3g} is allowed"
    detail = f"; {check.reason}" if check.reason else ""
    return f"wrong in {check.configuration or 'the tests'}{error}{limit}{detail}"
