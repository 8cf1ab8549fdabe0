"""I: a grouped order of the tiles of a matrix product, so that blocks that run together share both operands.

The block numbers are renamed, one to one, and nothing else changes: with two axes of blocks from what `ct.num_blocks`
says of the grid itself, so that no launch has to change; with one from the decoding of the number that the kernel does.
"""

from collections.abc import Mapping

import libcst as cst

from kdiag.records import Scalar, Variant

from .base import Applied, Outcome, Skipped, Subject
from .examples.swizzle import EXAMPLES
from .hints import multiplies_matrices
from .launches.blocks import independence
from .launches.tile_order import Decoding, decoding
from .launches.wrapper import fresh_name, hidden_builtin
from .syntax.kernel_source import nodes
from .syntax.kernel_view import KernelView
from .syntax.rewriting import Change, before, rewrite, to
from .view_edit import ViewEdit, no_variant

GROUP = "group_size_m"
CHOICES = (8, 4, 16)


class Swizzle(ViewEdit):
    """Give the tiles of a result to the blocks in groups of rows."""

    id = "I"
    title = "Grouped tile order (GROUP_SIZE_M swizzle)"
    examples = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """Three sizes of a group, in rows of tiles."""
        return tuple(Variant(self.id, f"{GROUP}={size}", {GROUP: size}) for size in CHOICES)

    def change(self, view: KernelView, subject: Subject, variant: Variant) -> Outcome:
        """Rename the blocks; skip where the order is grouped already or cannot be told."""
        size = _size(variant.settings)
        if size is None:
            return no_variant(variant)
        if not any(multiplies_matrices(view.source, loop) for loop in nodes(view.source.function, cst.For)):
            return Skipped("the kernel has no matrix product in a loop")
        reason = independence(view.source) or hidden_builtin(view.source, "min")
        if reason is not None:
            return reason
        found = decoding(view)
        return found if isinstance(found, Skipped) else _grouped(view, found, size)


def _size(settings: Mapping[str, Scalar]) -> int | None:
    size = settings.get(GROUP)
    return size if isinstance(size, int) and 2 <= size <= 1024 else None


def _grouped(view: KernelView, found: Decoding, size: int) -> Outcome:
    """The kernel with its rows and columns of tiles taken from the renamed number."""
    read = view.source
    name = {wanted: fresh_name(read, wanted) for wanted in ("GROUP_SIZE_M", "in_group", "first_row", "height")}
    known = dict(found.names(lambda wanted: fresh_name(read, wanted)))
    rows, columns, block = known["rows"], known["columns"], known["block"]
    group, in_group, first, height = name.values()
    lines = [
        *found.lines(known),
        f"{group} = {size}",
        f"{in_group} = {group} * {columns}",
        f"{first} = {block} // {in_group} * {group}",
        f"{height} = min({rows} - {first}, {group})",
    ]
    changes: dict[cst.CSTNode, Change] = {
        found.row: to(_expression(read.parents[found.row], f"{first} + {block} % {in_group} % {height}")),
        found.column: to(_expression(read.parents[found.column], f"{block} % {in_group} // {height}")),
        found.statement: before(lines),
    }
    return Applied(rewrite(read.module, changes).code, read.place(found.statement))


def _expression(parent: cst.CSTNode, text: str) -> cst.BaseExpression:
    """The text as an expression, in parentheses where it stands in an operation."""
    plain = isinstance(parent, cst.Assign | cst.Element | cst.Arg)
    return cst.parse_expression(text if plain else f"({text})")
