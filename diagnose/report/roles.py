"""Which launches of a report are to be diagnosed, and what part of the time each has.

A profiler records all that a process launches: the fills that make the inputs, copies, kernels of libraries. They can
have most of the time and still are not what is asked about.
"""

from collections.abc import Sequence
from functools import cache

from kdiag.records import LaunchRole
from kdiag.rules.load_launch_roles import load_launch_roles

from .symbol import decode


@cache
def role_of(symbol: str) -> LaunchRole:
    """Return what a launch is, by its symbol: "fill", "copy", "library" where a rule says so, else "kernel"."""
    if decode(symbol) is not None:
        return "kernel"
    for rule in load_launch_roles():
        if rule.pattern.search(symbol):
            return rule.role
    return "kernel"


def shares(durations: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return the percent of all time that each launch took; all None when the time of one is unavailable or all is 0."""
    known = [duration for duration in durations if duration is not None]
    total = sum(known)
    if len(known) < len(durations) or total <= 0:
        return (None,) * len(durations)
    return tuple(100 * duration / total for duration in known)
