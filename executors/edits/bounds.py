"""bounds: accesses without bounds checks, for launches of which the host has found that every tile lies inside its array.

The kernel gets a constant CHECK_BOUNDS, which each launch computes from its grid, its tile sizes and the extents of its
arrays. Launches that do not divide evenly get the kernel as it was: both are compiled from the same source. A tile load
that is not checked is not padded either, and tileiras 13.4 refuses one that names a padding; without a padding other than
zero it can be a TMA load.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import libcst as cst

from kdiag.records import Variant

from .accesses.conversion import Conversion, convert
from .accesses.inside_array import fits
from .base import Applied, Outcome, Skipped, Subject
from .examples.bounds import EXAMPLES
from .launches.extra_argument import ELSEWHERE, Addition, clash, launch_calls, with_argument
from .launches.host_guard import Fits, violated
from .syntax.kernel_source import read_kernel, set_keyword
from .syntax.kernel_view import KernelView, code, keyword_text
from .view_edit import ViewEdit

FLAG = Addition("CHECK_BOUNDS", "Constant[bool]", "check_bounds")
VARIANTS: Mapping[str, tuple[str, ...]] = {
    "all": ("load", "gather", "store", "scatter"),
    "reads": ("load", "gather"),
    "writes": ("store", "scatter"),
}
Conditions = dict[cst.Call, tuple[Fits, ...]]


class Bounds(ViewEdit):
    """Leave out the bounds checks of reads, of writes, or of both, where the host has found them needless."""

    id = "bounds"
    title = "No bounds checks where the tiles divide the arrays"
    examples = EXAMPLES
    names = VARIANTS

    def change(self, view: KernelView, subject: Subject, variant: Variant) -> Outcome:
        """Add the flag to kernel and launches, and to every access whose reach is certain; skip where there is none."""
        chosen = _useful(_conditions(view, VARIANTS[variant.name]), subject)
        taken = clash(view.source, FLAG)
        if isinstance(chosen, Skipped):
            return chosen
        return taken or _applied(view, chosen)


def _applied(view: KernelView, chosen: Conditions) -> Outcome:
    """The chosen accesses with the flag, and the flag in kernel and launches."""
    changes = [Conversion(call, lambda each: _unchecked(each, view.tile)) for call in chosen]
    unchecked = convert(view, changes, "")
    if not isinstance(unchecked, Applied):
        return unchecked
    function = view.source.function
    source = _with_flag(unchecked.source, function.name.value, view.tile, list(chosen.values()))
    if isinstance(source, Skipped):
        return source
    where = view.source.place(function.params.params[-1])
    return Applied(source, where, warnings=(ELSEWHERE.format(name=FLAG.parameter),))


def _conditions(view: KernelView, members: Sequence[str]) -> Conditions | Skipped:
    """The accesses that are checked now and need not be, with their conditions; or why there is none."""
    calls = view.source.calls(*members)
    if not calls:
        return Skipped("the kernel has no " + " or ".join(f"ct.{member}" for member in members))
    checked = [call for call in calls if keyword_text(call, "check_bounds") in (None, "True")]
    if not checked:
        return Skipped("check_bounds is decided already on every access")
    reasons, found = [], Conditions()
    for call in checked:
        conditions = fits(view, call)
        if isinstance(conditions, str):
            reasons.append(f"line {view.source.line(call)}, {code(call.func)}: {conditions}")
        else:
            found[call] = conditions
    return found or Skipped(reasons[0])


def _useful(found: Conditions | Skipped, subject: Subject) -> Conditions | Skipped:
    """The accesses that lie inside their arrays in the captured launch with most of these; all where none is captured."""
    if isinstance(found, Skipped) or not subject.launches:
        return found
    inside = [
        Conditions({call: each for call, each in found.items() if all(one.holds(launch) for one in each)})
        for launch in subject.launches
    ]
    most = max(inside, key=len)
    return most or Skipped("in every captured launch each access leaves its array somewhere and needs its checks")


def _unchecked(call: cst.Call, tile: str) -> cst.Call:
    """The access, checked only if the flag says so; a tile load is padded only then."""
    padding = keyword_text(call, "padding_mode")
    if padding is not None and not padding.endswith("PaddingMode.UNDETERMINED"):
        text = f"{padding} if {FLAG.parameter} else {tile}.PaddingMode.UNDETERMINED"
        call = set_keyword(call, "padding_mode", text)
    return set_keyword(call, "check_bounds", FLAG.parameter)


def _with_flag(source: str, kernel: str, tile: str, conditions: Sequence[tuple[Fits, ...]]) -> str | Skipped:
    """The source with the flag in the kernel's parameters and in its launches."""
    read = read_kernel(source, kernel)
    if isinstance(read, Skipped):
        return read
    launches = launch_calls(read)
    if isinstance(launches, Skipped):
        return launches
    needed = [condition for each in conditions for condition in each]
    flag = replace(FLAG, kind=f"{tile}.{FLAG.kind}")
    return with_argument(launches, flag, lambda launch: violated(launch, tile, needed))
