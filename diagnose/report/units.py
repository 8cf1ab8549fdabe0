"""Figures as profilers print them: numbers with separators, units with prefixes, and what they are in kdiag's units.

A figure is used only when it is certain what it means: an unknown unit, a unit of another quantity, or a number whose
separator may be a decimal point or a thousands separator makes it unavailable, never a wrong number.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

Mark = Literal[".", ","]  # the character before the fraction

# Nsight Compute scales by powers of ten, bytes too: 1040 bytes of shared memory are "1.04 Kbyte/block".
_PREFIXES = {"": 0, "k": 3, "m": 6, "g": 9, "t": 12, "p": 15}
_SECONDS = {"n": -9, "u": -6, "m": -3, "": 0}
_TIME = re.compile(r"(?P<prefix>[num]?)(s|sec|second|seconds)")
_BYTES = re.compile(r"(?P<prefix>[kmgtp]?)bytes?")
_COUNT = re.compile(
    r"(?P<prefix>[kmgtp]?)(hz|cycle|inst|instruction|sector|request|warp|thread|block|register|cluster|wave"
    r"|sm|pass|flop|op|sample|branch|tag|access|wavefront)(e?s)?"
)
# Denominators that say what a figure is counted for, and do not change its value.
_PER = {"cycle", "cycles", "inst", "warp", "thread", "block", "register", "sector", "request", "sm"}

_PLAIN = re.compile(r"-?\d+([eE][+-]?\d+)?")
_PATTERNS: dict[Mark, re.Pattern[str]] = {
    ".": re.compile(r"-?(\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d+([eE][+-]?\d+)?)?"),
    ",": re.compile(r"-?(\d+|[1-9]\d{0,2}(\.\d{3})+)(,\d+([eE][+-]?\d+)?)?"),
}
_NAN = re.compile(r"(\(!\) *)?-?nan", re.IGNORECASE)


@dataclass(frozen=True)
class Unit:
    """What a figure measures, and the power of ten that leads from it to seconds, bytes, counts or percent."""

    quantity: Literal["time", "byte", "count", "%"]
    per_second: bool
    exponent: int


@cache
def parse_unit(text: str) -> Unit | None:
    """Return what a unit means ("usecond", "Gbyte/s", "cycle/nsecond", "register/thread"), None for an unknown one.

    The empty unit is a count.
    """
    numerator, *denominators = text.strip().lower().split("/")
    unit = _numerator(numerator)
    for denominator in denominators:
        time = _TIME.fullmatch(denominator)
        if unit is None or (time is None and denominator not in _PER) or (time and unit.per_second):
            return None
        if time:
            unit = Unit(unit.quantity, True, unit.exponent - _SECONDS[time["prefix"]])
    return unit


def _numerator(text: str) -> Unit | None:
    if text == "%":
        return Unit("%", False, 0)
    if time := _TIME.fullmatch(text):
        return Unit("time", False, _SECONDS[time["prefix"]])
    if size := _BYTES.fullmatch(text):
        return Unit("byte", False, _PREFIXES[size["prefix"]])
    if text == "":
        return Unit("count", False, 0)
    if count := _COUNT.fullmatch(text):
        return Unit("count", count[2] == "hz", _PREFIXES[count["prefix"]])
    return None


def convert(value: float, unit: str, wanted: str) -> float | None:
    """Return `value`, given in `unit`, in the unit `wanted`, or None when the two do not measure the same."""
    given, target = parse_unit(unit), parse_unit(wanted)
    if given is None or target is None:
        return None
    if (given.quantity, given.per_second) != (target.quantity, target.per_second):
        return None
    return _scaled(value, given.exponent - target.exponent)


def _scaled(value: float, exponent: int) -> float:
    """The value times a power of ten, rounded once: 0.268461 Gbyte is 268461000 byte, not ...000.00000006."""
    if exponent == 0 or not math.isfinite(value):
        return value
    mantissa, _, power = repr(value).partition("e")
    return float(f"{mantissa}e{int(power or 0) + exponent}")


def decimal_mark(texts: Iterable[str]) -> Mark | None:
    """Return the decimal point of the numbers in one file, or None if nothing in it proves which it is.

    "1,234" alone is 1234 in one locale and 1.234 in another; "12.5" or "1,234,567" next to it decides.
    """
    proven = {mark for text in set(texts) if (mark := _proves(text)) is not None}
    return proven.pop() if len(proven) == 1 else None


def _proves(text: str) -> Mark | None:
    fits = [mark for mark, pattern in _PATTERNS.items() if pattern.fullmatch(text)]
    return fits[0] if len(fits) == 1 else None


def parse_number(text: str, mark: Mark | None) -> float | None:
    """Return a printed number, NaN if NaN was printed, None for text and for what is ambiguous without a `mark`."""
    text = text.strip()
    if _NAN.fullmatch(text):
        return math.nan
    if _PLAIN.fullmatch(text):
        return float(text)
    known = mark or _proves(text)
    if known is None or not _PATTERNS[known].fullmatch(text):
        return None
    return float(text.replace("," if known == "." else ".", "").replace(",", "."))
