"""What a kernel says of itself: assumptions, assertions and prints."""

import re
from typing import Any

import numpy as np
from cuda.tile._ir.core_ops import TilePrintf
from cuda.tile._ir.ops import AssumeBounded, AssumeDivBy, TileAssert

from .frame import Frame
from .shapes import NO_TOKEN

_CONVERSION = re.compile(r"%(?P<flags>[-+ #0]*\d*(?:\.\d+)?)(?:hh|h|ll|l|L)?(?P<type>[diouxXeEfFgGaAcs%])")


def assume_divisible(frame: Frame, operation: AssumeDivBy) -> None:
    """What the compiler is told to believe of a value, checked."""
    value = frame[operation.x]
    wrong = value % operation.divisor != 0
    if wrong.any():
        text = f"the kernel says that {int(value[wrong][0])} is divisible by {operation.divisor}, and it is not"
        block = int(frame.blocks[int(np.flatnonzero(wrong)[0])])
        frame.run.report("assumption", operation.loc, text, block=block)
    frame.set(operation.result_var, value, frame.origins(operation.x))


def assume_bounded(frame: Frame, operation: AssumeBounded) -> None:
    """Bounds that the compiler is told to believe, checked."""
    value = frame[operation.x]
    low, high = operation.lower_bound, operation.upper_bound
    wrong = np.zeros(value.shape, np.bool_) if low is None else value < low
    wrong = wrong if high is None else wrong | (value > high)
    if wrong.any():
        text = f"an extent or a stride is {int(value[wrong][0])}" if high is None else "a bound does not hold"
        block = int(frame.blocks[int(np.flatnonzero(wrong)[0])])
        frame.run.report("assumption", operation.loc, text, block=block)
    frame.set(operation.result_var, value, frame.origins(operation.x))


def check_assertion(frame: Frame, operation: TileAssert) -> None:
    """ct.assert_: every element of the condition must be true."""
    frame.run.use(frame.origins(operation.cond), operation.loc, "an assertion", frame.blocks)
    condition = frame[operation.cond]
    if not condition.all():
        where = np.argwhere(~condition)[0]
        lane = int(where[0]) if condition.shape[0] == frame.count else 0
        text = operation.message or "the assertion failed"
        block = int(frame.blocks[lane])
        frame.run.report("assertion", operation.loc, text, block=block, count=int((~condition).sum()))


def print_formatted(frame: Frame, operation: TilePrintf) -> None:
    """ct.printf and print, for one block after the other."""
    for lane in range(frame.count):
        values = [frame.spread(frame[argument])[lane] for argument in operation.args]
        print(formatted(operation.format, values), end="", flush=True)  # noqa: T201 - what the kernel prints
    frame.set(operation.result_vars[0], NO_TOKEN)


def formatted(text: str, values: list[Any]) -> str:
    """The text with its C conversions replaced by the values, a tile as its elements in brackets."""
    rest = iter(values)

    def replace(match: re.Match[str]) -> str:
        if match["type"] == "%":
            return "%"
        conversion = f"%{match['flags']}{'d' if match['type'] in 'iu' else match['type']}"
        return _tile(np.asarray(next(rest)), conversion)

    return _CONVERSION.sub(replace, text)


def _tile(value: Any, conversion: str) -> str:
    if value.ndim == 0:
        number = value.item()
        return conversion % (int(number) if conversion[-1] in "doxXc" else float(number))
    return "[" + ", ".join(_tile(part, conversion) for part in value) + "]"


HANDLERS = {
    AssumeDivBy: assume_divisible,
    AssumeBounded: assume_bounded,
    TileAssert: check_assertion,
    TilePrintf: print_formatted,
}
