"""Which values a figure can have at all, by its unit: what lies outside was damaged and counts as unavailable.

The bounds are wide on purpose: they are orders of magnitude beyond any card or launch, so that they only catch what
is no measurement (a flipped bit, a text read as a number), never a surprising one.
"""

_DAY_US = 86_400e6

# The least and the most, both included.
_BOUNDS: dict[str, tuple[float, float]] = {
    "us": (1e-3, _DAY_US),  # a launch lasts at least one nanosecond; the driver's watchdog ends most after seconds
    "%": (0, 1000),  # percentages of a peak pass 100 when the profiler's passes differ, by far less than tenfold
    "Hz": (1e6, 1e11),  # idle memory clocks are 405 MHz, the fastest counted ones 14 GHz
    "SMs": (1, 1024),
    "threads": (1, 1024),  # of a block, CUDA's limit
    "registers": (0, 255),  # of a thread, the encoding's limit
    "blocks": (0, 2.0**31 * 2.0**32),  # of a grid, CUDA's limit
    "waves": (0, 2.0**31 * 2.0**32),
    "byte/cycle": (0, 1e9),
    "inst/cycle": (0, 1e9),
    "byte/s": (0, 1e17),
    "FLOP/s": (0, 1e19),
    "OP/s": (0, 1e19),
    "cycles": (0, _DAY_US * 1e5),  # a day at 100 GHz
    "": (0, 1e9),
}
_COUNTED = (0, 1e22)  # instructions, bytes, operations of one launch: a day at the rates above


def plausible(value: float, unit: str) -> bool:
    """Whether a figure in one of kdiag's units can be a measurement. NaN and infinities cannot."""
    least, most = _BOUNDS.get(unit, _COUNTED)
    return least <= value <= most
