"""E: the `latency` hint of memory accesses in loops, set or taken away.

With tileiras 13.4 for sm_90 and sm_100, a loop's load, gather or store with another latency gets another number of
buffers, which shows in the machine code and the shared memory; the compiler has no remark that says so, thus nothing is
promised. Tile loads and stores outside loops compile to the same machine code at every latency.
"""

from collections.abc import Iterator

import libcst as cst

from kdiag.records import Variant

from .accesses.conversion import Conversion, Refusal, convert
from .base import Outcome, Skipped, Subject
from .examples.latency import EXAMPLES
from .syntax.kernel_source import integer, keyword, remove_keyword, set_keyword, unpacks
from .syntax.kernel_view import KernelView, code, view_kernel
from .view_edit import ViewEdit

HINT = "latency"
NONE = "none"
ALL = "all"
READS, WRITES = ("load", "gather"), ("store", "scatter")
# Values that gave different machine code for matrix products, row sums, persistent rows and gathering loops. Between
# them lie values that often repeat a neighbour's; the no-op gate drops those that repeat the parent's.
READ_VALUES, WRITE_VALUES, COMMON_VALUES, SINGLE_VALUES = (4, 10, 2, 6, 8, 1), (3, 1, 10), (4, 10), (10, 2)
MOST_VARIANTS = 20


class Latency(ViewEdit):
    """Set `latency` on the accesses of one kind, on one access, or on all; or remove every hint."""

    id = "E"
    title = "Latency hints on loads and stores in loops"
    examples = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """Removal first where there are hints; then each kind of access in a loop, all of them, and single ones."""
        view = view_kernel(subject.source, subject.kernel)
        if isinstance(view, Skipped):
            return ()
        names = list(_settings(view))[: MOST_VARIANTS - 1]
        if any(keyword(call, HINT) for call in view.source.calls(*READS, *WRITES)):
            names.insert(0, NONE)
        return tuple(Variant(self.id, name) for name in names)

    def change(self, view: KernelView, subject: Subject, variant: Variant) -> Outcome:
        """Write the hint into the accesses that the variant names; skip where none of them is in a loop."""
        if variant.name == NONE:
            hinted = [call for call in view.source.calls(*READS, *WRITES) if keyword(call, HINT)]
            return convert(view, [_without(call) for call in hinted], "no access has a latency hint")
        which, _, value = variant.name.partition("=")
        calls = _named(view, which if variant.name else ALL)
        if isinstance(calls, Skipped):
            return calls
        if value not in map(str, range(1, 11)):
            return Skipped(f"{variant.name or 'the variant'} names no latency from 1 to 10")
        changes = [_with(view, call, int(value)) for call in calls]
        present = f"latency is {value} already on all of them"
        return convert(view, [change for change in changes if change is not None], present)


def _settings(view: KernelView) -> Iterator[str]:
    """What may be set: every kind of access in a loop, all kinds together, single accesses of a kind."""
    looped = {kind: [_in_loop(view, call) for call in view.source.calls(kind)] for kind in (*READS, *WRITES)}
    kinds = [kind for kind in looped if any(looped[kind])]
    for kind in kinds:
        yield from (f"{kind}s={value}" for value in (READ_VALUES if kind in READS else WRITE_VALUES))
    if len(kinds) > 1:
        yield from (f"{ALL}={value}" for value in COMMON_VALUES)
    for kind in kinds:
        if len(looped[kind]) > 1:
            numbers = [number for number, inside in enumerate(looped[kind], start=1) if inside]
            yield from (f"{kind}-{number}={value}" for number in numbers for value in SINGLE_VALUES)


def _named(view: KernelView, which: str) -> list[cst.Call] | Skipped:
    """The accesses in loops that a variant names: `all`, `loads`, `load-2`."""
    kind, _, number = which.partition("-")
    kinds = {ALL: (*READS, *WRITES), **{f"{name}s": (name,) for name in (*READS, *WRITES)}}
    calls = view.source.calls(*kinds.get(which, (kind,)))
    if which not in kinds:
        known = kind in (*READS, *WRITES) and number.isascii() and number.isdecimal()
        if not known or not 1 <= int(number) <= len(calls):
            return Skipped(f"the kernel has no access {which}")
        calls = [calls[int(number) - 1]]
    if not calls:
        return Skipped(f"the kernel has no {'memory access' if which == ALL else f'ct.{kind[:-1]}'}")
    looped = [call for call in calls if _in_loop(view, call)]
    if looped:
        return looped
    line = view.source.line(calls[0])
    return Skipped(f"line {line}: {code(calls[0].func)} is in no loop, and straight-line code ignores latency")


def _in_loop(view: KernelView, call: cst.Call) -> bool:
    return any(isinstance(node, cst.For | cst.While) for node in view.source.inside(call))


def _with(view: KernelView, call: cst.Call, value: int) -> Conversion | Refusal | None:
    """The hint written, a refusal where it must not be, None where it is there."""
    if unpacks(call):
        return Refusal(call, "its arguments are unpacked, they may hold latency already")
    present = keyword(call, HINT)
    if present is not None and integer(present.value) == value:
        return None
    return _chosen(call) or Conversion(call, lambda updated: set_keyword(updated, HINT, str(value)))


def _without(call: cst.Call) -> Conversion | Refusal:
    return _chosen(call) or Conversion(call, lambda updated: remove_keyword(updated, HINT))


def _chosen(call: cst.Call) -> Refusal | None:
    """The refusal where something else than a number or None is passed as the hint."""
    present = keyword(call, HINT)
    if present is None or integer(present.value) is not None or code(present.value) == "None":
        return None
    return Refusal(call, f"latency is chosen by `{code(present.value)}`")
