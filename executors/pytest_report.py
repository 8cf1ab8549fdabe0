"""What pytest itself says of a run: how many tests passed, the figures that they recorded, the calls that they made.

Any pytest that a command starts writes a JUnit file, because `PYTEST_ADDOPTS` asks it to; the command need not know.
Two things are read there that neither exit code nor output tell. Pytest ends with 0 when it skipped every test, as
TileGym's do when their package cannot import the kernel file. And TileGym's public test suite takes `--print-record`
but prints nothing: its figures are in `record_property("benchmark", ...)`.
"""

import json
import os
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kdiag.workload import Call

from .command_output import Measured, of_record

PLUGIN = Path(__file__).parent / "recorded_calls/kdiag_recorded_calls.py"
PROPERTY = "benchmark"
NOT_PASSED = ("skipped", "failure", "error")


@dataclass(frozen=True)
class PytestReport:
    """The tests that passed, the reasons why others were skipped, and the recorded times by test and direction."""

    passed: int
    skipped: tuple[str, ...]
    recorded: Mapping[str, Measured]


def asking_for(path: Path, options: str) -> str:
    """The value of `PYTEST_ADDOPTS` that adds a report at `path` to the user's own `options`."""
    return f"{options} --junitxml={shlex.quote(str(path))}".strip()


def listening(environment: Mapping[str, str], kernel_file: Path, calls: Path) -> dict[str, str]:
    """The environment in which pytest also loads the plugin, which writes the calls of the kernel file's functions to `calls`."""
    paths = filter(None, [environment.get("PYTHONPATH"), str(PLUGIN.parent)])
    return {
        **environment,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTEST_ADDOPTS": f"{environment.get('PYTEST_ADDOPTS', '')} -p {PLUGIN.stem}".strip(),
        "KDIAG_CALLS_OF": str(kernel_file),
        "KDIAG_CALLS": str(calls),
    }


def heard(calls: Path) -> tuple[Call, ...]:
    """The calls that were written there, each once; none if no pytest was listened to, or a line is torn."""
    try:
        rows = [json.loads(line) for line in calls.read_text().splitlines()]
    except (FileNotFoundError, ValueError):
        return ()
    found = {(function, json.dumps(told)): test for test, function, told in reversed(rows)}
    return tuple(Call(test, function, told) for (function, told), test in reversed(found.items()))


def read(path: Path) -> PytestReport | None:
    """The report at `path`; None if no pytest wrote one there or it is damaged."""
    try:
        cases = list(ET.parse(path).iter("testcase"))  # noqa: S314 - see the import
    except (OSError, ET.ParseError):
        return None
    passed = [case for case in cases if not any(case.find(tag) is not None for tag in NOT_PASSED)]
    skipped = [entry.get("message", "") for case in cases for entry in case.findall("skipped")]
    recorded = {
        label: measured
        for case in passed
        for entry in case.iter("property")
        if entry.get("name") == PROPERTY
        for label, measured in of_record(case.get("name", ""), entry.get("value", ""))
    }
    return PytestReport(len(passed), tuple(dict.fromkeys(skipped)), recorded)
