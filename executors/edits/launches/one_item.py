"""The inverse of persistent scheduling: one block for each item, where no iteration leaves anything to the next."""

from collections.abc import Sequence

import libcst as cst

from ..base import Applied, Outcome, Skipped
from ..syntax.bindings import name_nodes, names_bound, names_in
from ..syntax.kernel_source import integer, nodes
from ..syntax.kernel_view import KernelView, assignment, code
from ..syntax.rewriting import Change, rewrite, statement, to
from .blocks import ATOMICS, BLOCK, BLOCKS, arrays, foreign_calls, independence, strided_loop
from .canonical import Canonical
from .grid import Site, launch_sites
from .host_values import HostValues
from .wrapper import Value


def one_item_per_block(view: KernelView) -> Outcome:
    """The kernel without its loop over items, and its launches with a block for each of them."""
    loop = strided_loop(view)
    if loop is None:
        return Skipped("the kernel has no loop over items in strides of the number of blocks")
    reason = _refusal(view, loop) or independence(view.source) or foreign_calls(view.source)
    if reason is not None:
        return reason
    sites = launch_sites(view.source)
    if isinstance(sites, Skipped):
        return sites
    changes: dict[cst.CSTNode, Change] = {view.source.function.body: _unrolled(view, loop)}
    for site in sites:
        items = _items(view, loop, site)
        if isinstance(items, Skipped):
            return items
        first, *others = site.grid.elements
        grid = site.grid.with_changes(elements=[first.with_changes(value=items), *others])
        changes[site.grid_slot] = to(grid)
    return Applied(rewrite(view.source.module, changes).code, view.source.place(loop))


def _refusal(view: KernelView, loop: cst.For) -> Skipped | None:
    """Why an iteration needs more than its item, or the kernel does more than its loop."""
    line = view.source.line(loop)
    block = isinstance(loop.body, cst.IndentedBlock)
    if not block or loop is not view.source.function.body.body[-1] or loop.orelse is not None:
        return Skipped(f"line {line}: the loop over items is not the last statement of the kernel")
    return _other_use(view, loop) or _connection(view, loop)


def _other_use(view: KernelView, loop: cst.For) -> Skipped | None:
    """Where the number of the block, or of all blocks, is used for more than the loop."""
    start, _, step = _range(loop)
    if not all(_is_of_x(view, view.resolve(e, loop)[0], m) for e, m in ((start, BLOCK), (step, BLOCKS))):
        line = view.source.line(loop)
        return Skipped(f"line {line}: the loop does not go from ct.bid(0) in strides of ct.num_blocks(0)")
    if len(view.source.calls(BLOCK, BLOCKS)) != 2:
        return Skipped("the kernel uses the number of its block, or of all blocks, for more than the loop")
    for expression in (start, step):
        uses = [n for n in name_nodes(view.source.function) if code(n) == code(expression)]
        if isinstance(expression, cst.Name) and len(uses) != 2:
            return Skipped(f"the kernel uses {expression.value} for more than the loop over items")
    return None


def _connection(view: KernelView, loop: cst.For) -> Skipped | None:
    """What goes from one iteration to the next, or happens once for each block."""
    read = view.source
    before = {p.name.value for p in nodes(read.function.params, cst.Param)}
    for other in read.function.body.body[:-1]:
        before |= names_bound(other)
        for call in read.calls("store", "scatter", *ATOMICS, within=other):
            return read.refused(call, "writes once for each block")
    carried = sorted(before & names_bound(loop))
    if carried:
        return Skipped(f"line {read.line(loop)}: {carried[0]} goes from one item to the next")
    for jump in (*nodes(loop, cst.Break), *nodes(loop, cst.Continue), *nodes(loop, cst.Return)):
        return read.refused(jump, "leaves an iteration early")
    return None


def _items(view: KernelView, loop: cst.For, site: Site) -> cst.BaseExpression | Skipped:
    """The host's number of items: what the grid takes the least of besides the blocks that run at once."""
    line = view.source.line(site.call)
    first, *others = site.axes
    if any(integer(axis) != 1 for axis in others):
        return Skipped(f"line {line}: the grid has more than one axis")
    form = Canonical(view, HostValues(view.source, site, view.tile, arrays(view.source)))
    wanted = form.of_kernel(_range(loop)[1], loop)
    for expression, place in _smallest(site.wrapper.resolve(first, site.grid)):
        usable = site.wrapper.same((expression, place), (expression, site.grid_slot))
        if wanted is not None and usable and form.of_host(expression, place) == wanted:
            return expression
    return Skipped(f"line {line}: the grid is not the smaller of the kernel's number of items and another number")


def _smallest(value: Value) -> list[Value]:
    """What a `min` chooses from."""
    match value[0]:
        case cst.Call(func=cst.Name(value="min"), args=[cst.Arg(value=one), cst.Arg(value=other)]):
            return [(one, value[1]), (other, value[1])]
    return []


def _unrolled(view: KernelView, loop: cst.For) -> Change:
    """The kernel's body with the loop's body in place of the loop."""
    start, _, step = _range(loop)
    unused = [e.value for e in (start, step) if isinstance(e, cst.Name)]

    def change(updated: cst.CSTNode) -> cst.CSTNode:
        body = cst.ensure_type(updated, cst.IndentedBlock)
        *front, last = body.body
        changed = cst.ensure_type(last, cst.For)
        inner = cst.ensure_type(changed.body, cst.IndentedBlock)
        front = [line for line in front if not _is_for(view, line, unused)]
        named = isinstance(start, cst.Name) and any(start.value in names_bound(line) for line in front)
        block = code(start) if named else f"{view.tile}.{BLOCK}(0)"
        item = statement(f"{code(changed.target)} = {block}").with_changes(leading_lines=changed.leading_lines)
        item = item.with_changes(trailing_whitespace=inner.header)
        return body.with_changes(body=[*front, item, *inner.body], footer=[*inner.footer, *body.footer])

    return change


def _is_for(view: KernelView, line: cst.BaseStatement, unused: Sequence[str]) -> bool:
    """Whether a statement, without any comment, only names what the loop alone used."""
    name, value = assignment(line) or ("", line)
    return name in unused and view.is_call(value, BLOCK, BLOCKS) and "#" not in code(line)


def _is_of_x(view: KernelView, expression: cst.BaseExpression, member: str) -> bool:
    return (
        view.is_call(expression, member)
        and code(expression).endswith("(0)")
        and not names_in(cst.ensure_type(expression, cst.Call).args[0])
    )


def _range(loop: cst.For) -> tuple[cst.BaseExpression, cst.BaseExpression, cst.BaseExpression]:
    start, stop, step = (arg.value for arg in cst.ensure_type(loop.iter, cst.Call).args)
    return start, stop, step
