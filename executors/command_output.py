"""Figures that a project's own benchmark prints: TileGym's records, or JSON lines."""

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

RECORD = re.compile(r"^(?P<name>[\w .+-]+): (?P<record>\{.*\}) ms\s*$")
TEST_ID = re.compile(r"^(?P<id>\S+::\S+)")
NOT_A_NUMBER = re.compile(r"\b(nan|inf)\b")  # as Python prints them, which is no Python
MIDDLE = ("median", "mean")


@dataclass(frozen=True)
class Measured:
    """One configuration: milliseconds, and the rates in GB/s and TFLOP/s that the benchmark gave, if it did."""

    ms: float
    gbs: float | None = None
    tflops: float | None = None


def printed(output: str) -> dict[str, Measured]:
    """What each configuration took, from TileGym's record lines or JSON lines; empty if there are none.

    A record is `Name: {'forward': {'median': 3.79, ...}, ...} ms` and belongs to the test named before it; a JSON
    line has `latency_ms` and may have `configuration`, `gbps` and `tflops`.
    """
    found: dict[str, Measured] = {}
    test = ""
    for line in output.splitlines():
        if match := TEST_ID.match(line):
            test = match["id"].rpartition("::")[2]
        for name, measured in _of_line(line):
            label = " ".join(filter(None, [test, name]))
            found[label if label not in found else f"{label} #{len(found)}"] = measured
    return found


def of_record(name: str, text: str) -> Iterator[tuple[str, Measured]]:
    """The times in a record, a dictionary as Python prints it: one for each direction, however deep it lies."""
    try:
        record = ast.literal_eval(NOT_A_NUMBER.sub("None", text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return
    yield from _directions(name, record)


def _directions(name: str, record: object) -> Iterator[tuple[str, Measured]]:
    if not isinstance(record, Mapping):
        return
    if (ms := _positive(record, *MIDDLE)) is not None:
        yield name, Measured(ms)
        return
    for key, value in record.items():
        yield from _directions(f"{name} {key}".strip(), value)


def _of_line(line: str) -> Iterator[tuple[str, Measured]]:
    if match := RECORD.match(line.strip()):
        yield from of_record(match["name"], match["record"])
    elif line.lstrip().startswith("{"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return
        if (ms := _positive(record, "latency_ms")) is not None:
            rates = _positive(record, "gbps"), _positive(record, "tflops")
            yield str(record.get("configuration", "benchmark")), Measured(ms, *rates)


def _positive(figures: Mapping[str, object], *names: str) -> float | None:
    values = (figures.get(name) for name in names)
    numbers = (float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool))
    return next((number for number in numbers if 0 < number < math.inf), None)
