"""Fixed tile sizes and hints become a search: `ct.launch` becomes a launch function that searches and remembers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import libcst as cst

from kdiag.records import Safety, Scalar

from ..base import Applied, Outcome, Skipped, Subject
from ..hints import Hints, multiplies_matrices, present_value
from ..syntax.kernel_source import KernelSource, holds, integer, nodes, positional, read_kernel
from .accumulators import accumulator_fits
from .search import constants, is_tuned, not_read_only, on_current_stream, plain_launches, top_statement
from .search_template import Tuned, insert, missing, text
from .search_tiles import Sizes, followed, sizes

HINTS, TILES, BOTH = "hints", "tiles", "tiles-and-hints"
MOST = 24
MOST_PRODUCTS = 16  # of a matrix product, which compiles in 0.2 to 7 s a row, one after the other
# With every tile size, only the hints that changed most where they were measured.
FEW_HINTS = (("occupancy", 2), ("occupancy", 4), ("num_worker_warps", 8))


@dataclass(frozen=True)
class _Space:
    """The columns of a search space and its rows; the first row is what the file had."""

    sizes: Sizes | None
    tiles: tuple[str, ...]
    hints: tuple[str, ...]
    rows: tuple[tuple[Scalar, ...], ...]

    @property
    def safety(self) -> Safety:
        """Hints change no result."""
        return "safe" if self.sizes is None else self.sizes.safety


def search_instead(subject: Subject, variant: str) -> Outcome:
    """Launch through a function that searches; the arrays of the caller stay as the plain launch leaves them."""
    read = read_kernel(subject.source, subject.kernel)
    if isinstance(read, Skipped):
        return read
    launches = plain_launches(read)
    reason = next(_reasons(read, launches), None)
    space = Skipped(reason) if reason is not None else _space(subject, read, variant)
    if isinstance(space, Skipped):
        return space
    module = min(read.names.modules, default="")
    tuned = Tuned(subject.kernel, module, space.tiles, space.hints, space.rows, not_read_only(read), constants(read))
    changes = missing(read, tuned.names) or _changes(read, launches, tuned, space.sizes)
    if isinstance(changes, Skipped):
        return changes
    first = min(launches, key=read.line)
    source = insert(read.module, top_statement(read, first), text(tuned), changes)
    return Applied(source, read.place(first), safety=space.safety, warnings=_warnings(read, len(space.rows)))


def _warnings(read: KernelSource, count: int) -> tuple[str, ...]:
    others = [d for d in read.function.decorators if d is not read.decorator]
    lost = "what the decorator above ct.kernel sets on the kernel object is not on the tuned one"
    cost = f"the first launch with new shapes or constants compiles and times {count} configurations"
    return (cost, *([lost] if others else []))


def _reasons(read: KernelSource, launches: list[cst.Call]) -> Iterator[str]:
    """Why the kernel cannot be searched, whatever the space; the first reason is the one to give."""
    kernel = read.name
    if is_tuned(read):
        yield f"the launch of {kernel} is tuned already"
    if not isinstance(read.parents[read.function], cst.Module):
        yield f"{kernel} is not a function of the module"
    if not launches:
        yield f"the file has no ct.launch of {kernel} by name"
    for call in launches:
        line = f"line {read.line(call)}:"
        if not isinstance(read.parents[call], cst.Expr) or not len(positional(call)) == len(call.args) == 4:
            yield f"{line} ct.launch is not a statement of its own with four plain arguments"
        if not on_current_stream(read, call):
            yield f"{line} not certainly on torch.cuda.current_stream(), where the search makes its copies"
        if read.around(call, cst.FunctionDef) is None:
            yield f"{line} the launch stands outside every function"
    if any("foreign" in node.attr.value for node in nodes(read.function, cst.Attribute)):
        yield "the kernel reads memory that is no array, which a search cannot copy"
    if _waits(read):
        yield "blocks of the kernel may wait for one another, and hints decide how many run at once"


def _waits(read: KernelSource) -> bool:
    """Whether a `while` loop of the kernel looks at memory that other blocks change."""
    atomic = [call for call in nodes(read.module, cst.Call) if "atomic_" in (read.names.resolve(call.func) or "")]
    return bool(atomic) and holds(read.module, cst.While)


def _space(subject: Subject, read: KernelSource, variant: str) -> _Space | Skipped:
    """The configurations of a variant, the present one first."""
    found = sizes(subject, read) if variant != HINTS else None
    if isinstance(found, Skipped):
        return found
    names = tuple(found.names) if found is not None else ()
    rows = found.rows if found is not None else ({},)
    hints = _hints(subject, read) if variant != TILES else []
    if isinstance(hints, Skipped):
        return hints
    if variant == BOTH:
        hints = [hint for hint in hints if hint in FEW_HINTS]
    present: dict[str, Scalar] = {name: integer(present_value(read, name)) for name, _ in hints}
    columns = tuple(present)
    matrices = multiplies_matrices(read)
    entries: dict[tuple[Scalar, ...], None] = {}
    for hint, row in product([None, *hints], rows):  # of what is too much the hints are left out, not the tiles
        chosen = present | ({} if hint is None else dict([hint]))
        if variant == TILES and "num_worker_warps" in row:
            continue
        chosen |= {name: value for name, value in row.items() if name in columns and hint is None}
        if found is not None and entries and matrices and not accumulator_fits(read, found, {**row, **chosen}):
            continue
        entries.setdefault((*(row[name] for name in names), *(chosen[name] for name in columns)))
    if len(entries) < 2:
        return Skipped("the search would have one configuration")
    return _Space(found, names, columns, tuple(entries)[: MOST_PRODUCTS if matrices else MOST])


def _hints(subject: Subject, read: KernelSource) -> list[tuple[str, Scalar]] | Skipped:
    """The hints that the decorator edit would set, the refused ones left out."""
    edit, reason = Hints(), f"no hint means anything for {subject.target}"
    allowed: list[tuple[str, Scalar]] = []
    for variant in edit.variants(subject):
        outcome = edit.apply(subject, variant)
        if isinstance(outcome, Applied):
            allowed += variant.settings.items()
        elif isinstance(outcome, Skipped):
            reason = outcome.reason
    return allowed or Skipped(reason)


def _changes(
    read: KernelSource, launches: list[cst.Call], tuned: Tuned, found: Sizes | None
) -> Mapping[cst.CSTNode, cst.CSTNode | None] | Skipped:
    """Each launch through the launch function, and without what then decides nothing."""
    changes: dict[cst.CSTNode, cst.CSTNode | None] = {}
    for call in launches:
        stream, grid, kernel, arguments = call.args
        if isinstance(kernel.comma, cst.Comma) and "#" in read.text(kernel.comma):
            return Skipped(f"line {read.line(kernel)}: a comment stands behind the kernel's name")
        if found is not None:
            parts = followed(read, call, found)
            if isinstance(parts, Skipped):
                return parts
            grid = grid.with_changes(value=parts.grid)
            arguments = arguments.with_changes(value=parts.arguments)
            changes.update(dict.fromkeys(parts.unused))
        changes[call] = call.with_changes(func=cst.Name(tuned.function), args=[stream, grid, arguments])
    return changes
