"""What an emulation found as one JSON object, schema `kdiag.emulate/1`; what is not known is null."""

from collections.abc import Sequence
from dataclasses import asdict

from kdiag.records import EmulatedConfiguration

from .json_number import finite

SCHEMA = "kdiag.emulate/1"


def to_json(kernel: str, target: str, found: Sequence[EmulatedConfiguration]) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "kernel": kernel,
        "target": target,
        "passed": all(one.passed for one in found),
        "configurations": [
            {
                "configuration": one.check.configuration,
                "correct": one.check.passed,
                "error": finite(one.check.error),
                "tolerance": one.check.tolerance,
                "reason": one.check.reason or None,
                "launches": one.launches,
                "seconds": round(one.seconds, 3),
                "faults": [{**asdict(fault), "warning": fault.warning} for fault in one.faults],
            }
            for one in found
        ],
    }
