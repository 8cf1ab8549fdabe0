"""B: persistent scheduling, as many blocks as the card runs at once and each looping over items, or the inverse.

Nothing is promised of the machine code: a loop that spills registers is for the effect gate to see.
"""

from collections.abc import Mapping, Sequence

import libcst as cst

from kdiag.records import Scalar, Variant

from .base import Applied, Outcome, Skipped, Subject
from .examples.persistent import EXAMPLES
from .hints import OCCUPANCY, hinted, present_value
from .launches.block_helpers import block_calls
from .launches.block_loop import BlockLoop
from .launches.blocks import arrays, foreign_calls, independence, strided_loop
from .launches.grid import Site, launch_sites
from .launches.host_values import HostValues
from .launches.one_item import one_item_per_block
from .launches.resident_grid import ResidentGrid, counts_sms
from .launches.wrapper import fresh_name, hidden_builtin
from .syntax.kernel_source import KernelSource, integer
from .syntax.kernel_view import KernelView, view_kernel
from .syntax.rewriting import Change, rewrite, to
from .view_edit import ViewEdit, no_variant

BLOCKS_PER_SM = "blocks-per-sm"
CHOICES = (1, 2, 4)
INVERSE = "one-item-per-block"
PASSED = "the kernel has a new parameter: launches of it in other files have to pass the number of items"
TOLD = "{} has a new parameter: calls of it in other files have to pass the number of the block"


class Persistent(ViewEdit):
    """Put a kernel's body into a loop over items and start only as many blocks as run at once, or undo that."""

    id = "B"
    title = "Persistent scheduling, or one item per block"
    examples = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """The number of blocks per SM that the decorator asks for first; the inverse alone for a persistent kernel."""
        view = view_kernel(subject.source, subject.kernel)
        if isinstance(view, Skipped) or strided_loop(view) is not None:
            return (Variant(self.id, INVERSE),)
        present = integer(present_value(view.source, OCCUPANCY))
        counts = sorted(CHOICES, key=lambda count: count != present)
        return tuple(Variant(self.id, f"{BLOCKS_PER_SM}={n}", {BLOCKS_PER_SM: n}) for n in counts)

    def change(self, view: KernelView, subject: Subject, variant: Variant) -> Outcome:
        """Edit the kernel and all of its launches together; skip where one of them cannot be edited."""
        if variant.name == INVERSE:
            return one_item_per_block(view)
        blocks = _blocks_per_sm(variant.settings)
        if blocks is None:
            return no_variant(variant)
        return _persistent(view, blocks)


def _blocks_per_sm(settings: Mapping[str, Scalar]) -> int | None:
    blocks = settings.get(BLOCKS_PER_SM)
    return blocks if isinstance(blocks, int) and 1 <= blocks <= 32 else None


def _persistent(view: KernelView, blocks_per_sm: int) -> Outcome:
    """The kernel in a loop and its launches with few blocks."""
    read = view.source
    sites = launch_sites(read)
    reason = _refusal(view, sites)
    if reason is not None or isinstance(sites, Skipped):
        return reason or Skipped("the kernel is not launched")
    counts = _counts(view, sites)
    if isinstance(counts, Skipped):
        return counts
    added = {axis: fresh_name(read, name) for axis, name in _missing(counts).items()}
    if added and not _takes_more(read):
        return Skipped("the kernel's last parameters leave no place for the number of items")
    grid = ResidentGrid(read, sites, arrays(read), tuple(counts), added)
    told = {axis: text or added[axis] for axis, text in counts.items()}
    changes: dict[cst.CSTNode, Change] = {}
    for part in (BlockLoop(view, told).changes(), grid.changes(blocks_per_sm)):
        if isinstance(part, Skipped):
            return part
        changes |= part
    changes |= _decorator(read, blocks_per_sm)
    if added:
        changes[read.function.params] = grid.parameters()
    source = rewrite(read.module, changes).code
    helpers = {helper.name.value for _, helper in block_calls(read)}
    warnings = [TOLD.format(name) for name in sorted(helpers)] + ([PASSED] if added else [])
    first = read.first(node for node in changes if node is not read.function.body)
    return Applied(source, first, warnings=tuple(warnings))


def _refusal(view: KernelView, sites: Sequence[Site] | Skipped) -> Skipped | None:
    """Why the kernel or a launch of it has no independent items."""
    read, loop = view.source, strided_loop(view)
    if loop is not None:
        return Skipped(f"line {read.line(loop)}: the kernel loops over its items already")
    if isinstance(sites, Skipped):
        return sites
    for site in sites:
        if any(counts_sms(site.wrapper, axis, site.grid) for axis in site.axes):
            return read.refused(site.call, "starts a number of blocks that follows the number of SMs already")
    return (
        independence(read)
        or foreign_calls(read, [helper for _, helper in block_calls(read)])
        or hidden_builtin(read, "min", "range")
    )


def _counts(view: KernelView, sites: Sequence[Site]) -> dict[int, str | None] | Skipped:
    """For each axis of more than one block, the number of blocks in the kernel's words; None if it has to be told."""
    read = view.source
    known = arrays(read)
    values = [HostValues(read, site, view.tile, known) for site in sites]
    counts: dict[int, str | None] = {}
    for axis in range(max(len(site.axes) for site in sites)):
        if all(axis >= len(site.axes) or integer(site.axes[axis]) == 1 for site in sites):
            continue
        if any(axis >= len(site.axes) for site in sites):
            return Skipped("the launches of the kernel have grids of different ranks")
        found = {value.in_kernel(site.axes[axis], site.grid) for value, site in zip(values, sites, strict=True)}
        counts[axis] = found.pop() if len(found) == 1 else None
    return counts or Skipped("every launch starts a single block")


def _missing(counts: Mapping[int, str | None]) -> dict[int, str]:
    """Names for the numbers that the kernel has to be told."""
    if len(counts) == 1:
        return {axis: "n_items" for axis, text in counts.items() if text is None}
    return {axis: f"n_items_{'xyz'[axis]}" for axis, text in counts.items() if text is None}


def _takes_more(read: KernelSource) -> bool:
    """Whether a parameter can be added at the end."""
    params = read.function.params
    plain = params.params and params.params[-1].default is None
    others = params.kwonly_params or params.star_kwarg or isinstance(params.star_arg, cst.Param | cst.ParamStar)
    return bool(plain) and not others and not params.posonly_params


def _decorator(read: KernelSource, blocks_per_sm: int) -> dict[cst.CSTNode, Change]:
    """The hint that lets this many blocks fit on an SM; left alone where it is chosen elsewhere."""
    expression = read.decorator.decorator
    if blocks_per_sm == 1 and present_value(read, OCCUPANCY) is None:
        return {}
    changed = hinted(read, expression, OCCUPANCY, blocks_per_sm)
    return {} if isinstance(changed, Skipped) else {expression: to(changed)}
