"""How a kernel counts the tiles of one size, and whether it relies on more than its masks where the last one ends."""

from collections.abc import Collection, Iterator

import libcst as cst

from ..base import Skipped
from ..syntax.bindings import Bindings, names_in
from ..syntax.kernel_source import KernelSource, dotted, nodes
from ..syntax.kernel_view import keyword_text
from .launch_site import LaunchSite
from .tile_origin import follows_data

EXTENTS = (".shape", ".size(", ".numel(", "len(")


def counted_in_kernel(read: KernelSource, parameter: str) -> bool:
    """Whether the kernel counts tiles by the parameter."""
    return any(True for _ in counts(read, parameter))


def relies_on_multiples(site: LaunchSite, parameter: str) -> bool:
    """Whether a larger tile could reach past what the kernel works on.

    So it is where accesses are not checked, and where a loop ends at a number that is not known to be the extent of an
    array: a part of one, say, that the next block goes on with.
    """
    read = site.read
    unchecked = any(keyword_text(call, "check_bounds") == "False" for call in nodes(read.function, cst.Call))
    return unchecked or any(not _is_extent(site, counted) for counted in counts(read, parameter))


def rounded_down(grid: list[cst.BaseExpression], sizes: set[str], repeats: Collection[cst.Integer]) -> bool:
    """Whether a grid counts whole tiles only: with a larger size it could count none, or leave out more."""

    def has_size(part: cst.BaseExpression) -> bool:
        return bool(sizes & names_in(part)) or any(literal in repeats for literal in nodes(part, cst.Integer))

    return any(
        isinstance(division.operator, cst.FloorDivide)
        and has_size(division.right)
        and not (
            has_size(division.left) or isinstance(division.left, cst.UnaryOperation) or follows_data(division.left)
        )
        for part in grid
        for division in nodes(part, cst.BinaryOperation)
    )


def counts(read: KernelSource, parameter: str) -> Iterator[cst.CSTNode | None]:
    """What is counted in tiles of the parameter: an expression, or None for an array's own extent."""
    for call in read.calls("num_tiles"):
        if parameter in names_in(call):
            yield None
    for call in read.calls("cdiv"):
        if len(call.args) > 1 and parameter in names_in(call.args[1].value):
            yield call.args[0].value
    for operation in nodes(read.function, cst.BinaryOperation):
        divides = isinstance(operation.operator, cst.Divide | cst.FloorDivide)
        if divides and parameter in names_in(operation.right):
            yield operation.left
    for call in nodes(read.function, cst.Call):
        if dotted(call.func) == "range" and len(call.args) > 2 and parameter in names_in(call.args[2]):
            yield call.args[1].value


def _is_extent(site: LaunchSite, counted: cst.CSTNode | None) -> bool:
    """Whether all that an expression is made of are numbers, tile sizes and extents of arrays."""
    if counted is None:
        return True
    bindings = Bindings(site.read.function, site.read)
    parameters = set(site.read.parameters)
    waiting, known = list(names_in(counted)), set[str]()
    if ".shape" in site.read.text(counted):
        return True
    while waiting:
        name = waiting.pop()
        if name in known:
            continue
        known.add(name)
        if name in parameters:
            if not _passes_extent(site, name):
                return False
            continue
        bound = bindings.reaching(name, counted)
        if bound is not None and bound.value is not None and ".shape" not in site.read.text(bound.value):
            waiting += names_in(bound.value)
    return True


def _passes_extent(site: LaunchSite, parameter: str) -> bool:
    """Whether the launch passes a literal, a tile size or an array's extent."""
    passed = site.passed(parameter)
    if isinstance(passed, Skipped) or site.bindings is None:
        return False
    waiting, known = [passed], set[str]()
    while waiting:
        expression = waiting.pop()
        if any(extent in site.read.text(expression) for extent in EXTENTS):
            continue
        for name in names_in(expression) - known:
            known.add(name)
            bound = site.bindings.reaching(name, site.launch)
            if bound is None or isinstance(bound.node, cst.Param):
                return False
            source = bound.value or (bound.node.value if isinstance(bound.node, cst.Assign) else None)
            if source is None:
                return False
            waiting.append(source)
    return True
