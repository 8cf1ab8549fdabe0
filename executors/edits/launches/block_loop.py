"""The kernel's side of persistent scheduling: its body inside a loop over the items that blocks were started for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from ..base import Skipped
from ..syntax.bindings import names_in
from ..syntax.kernel_source import nodes
from ..syntax.kernel_view import KernelView, assignment, code
from ..syntax.operands import operand
from ..syntax.rewriting import Change, statement, to
from .block_helpers import block_calls, told
from .blocks import BLOCK, BLOCKS, axis_calls
from .common_statements import loop_start, raised
from .early_returns import early_returns, guarded
from .wrapper import fresh_name

NAMES = ("blocks_x", "blocks_y", "blocks_z")


@dataclass(frozen=True, eq=False)
class BlockLoop:
    """The loop to be made. `counts` are the numbers of blocks by axis, of those axes that have more than one."""

    view: KernelView
    counts: Mapping[int, str]

    def changes(self) -> dict[cst.CSTNode, Change] | Skipped:
        """What changes in the kernel, or why its body cannot go into a loop."""
        read, body = self.view.source, self.view.source.function.body
        if not isinstance(body, cst.IndentedBlock):
            return Skipped("the kernel stands on one line")
        statements = list(body.body)
        start = loop_start(self.view, statements)
        repeated = statements[start:]
        reason = self._refusal(repeated)
        if reason is not None:
            return reason
        needed = {name for text in self.counts.values() for name in names_in(cst.parse_expression(text))}
        above = raised(self.view, repeated, needed)
        if isinstance(above, Skipped):
            return above
        names = self._count_names(statements[:start])
        named = self._is_item(repeated[0])
        if len(repeated) - len(above) - (named is not None) < 1:
            return Skipped("the kernel does nothing with its block number")
        item = named or fresh_name(read, "item")
        loop = self._looped(start, item, names, named is not None, above)
        numbers = self._numbers(item, names, repeated)
        return numbers if isinstance(numbers, Skipped) else {**numbers, body: loop}

    def _numbers(
        self, item: str, names: Mapping[int, str], repeated: Sequence[cst.BaseStatement]
    ) -> dict[cst.CSTNode, Change] | Skipped:
        """The numbers of the block and of all blocks by those of the item and of all items."""
        bids, blocks = axis_calls(self.view, BLOCK), axis_calls(self.view, BLOCKS)
        if isinstance(bids, Skipped):
            return bids
        if isinstance(blocks, Skipped):
            return blocks
        changes = told(self.view.source, block_calls(self.view.source), item)
        decoded = self._decoded(item, names)
        for call, axis in bids:
            if axis in decoded:
                changes[call] = to(self._operand(call, decoded[axis]))
        for call, axis in blocks:
            inside = any(call in nodes(line, cst.Call) for line in repeated)
            if axis in self.counts:
                text = names[axis] if inside and len(self.counts) > 1 else self.counts[axis]
                changes[call] = to(self._operand(call, text))
            elif axis == 0:
                changes[call] = to(cst.Integer("1"))
        for node in nodes(self.view.source.function.body, cst.BinaryOperation):
            if self._is_linear(node):
                changes[node] = to(cst.Name(item))
        return changes

    def _looped(self, start: int, item: str, names: Mapping[int, str], drop: bool, above: Sequence[int]) -> Change:
        """The kernel's body with everything from `start` on in the loop, but for the statements `above` it."""
        many, tile = len(self.counts) > 1, self.view.tile
        new = [axis for axis, name in names.items() if name == fresh_name(self.view.source, NAMES[axis])]
        added = [statement(f"{names[axis]} = {self.counts[axis]}") for axis in new if many]
        product = " * ".join(names.values()) if many else next(iter(self.counts.values()))
        items = cst.parse_expression(f"range({tile}.{BLOCK}(0), {product}, {tile}.{BLOCKS}(0))")

        def change(updated: cst.CSTNode) -> cst.CSTNode:
            body = cst.ensure_type(updated, cst.IndentedBlock)
            before, rest = list(body.body[:start]), list(body.body[start:])
            before += [rest[number] for number in above]
            rest = [line for number, line in enumerate(rest) if number not in above]
            lines = getattr(rest[0], "leading_lines", ())
            header = getattr(rest[0], "trailing_whitespace", None) if drop else None
            rest = [_without_gap(rest[1]), *rest[2:]] if drop else [_without_lines(rest[0]), *rest[1:]]
            block = cst.IndentedBlock(body=guarded(rest), header=header or cst.TrailingWhitespace(), footer=body.footer)
            loop = cst.For(target=cst.Name(item), iter=items, body=block)
            first, *others = [*added, loop]
            together = [*before, first.with_changes(leading_lines=lines), *others]
            return body.with_changes(body=together, footer=())

        return change

    def _refusal(self, statements: Sequence[cst.BaseStatement]) -> Skipped | None:
        """Why these statements cannot be run once for each item."""
        read = self.view.source
        helped = block_calls(read)
        if helped and list(self.counts) != [0]:
            name = helped[0][1].name.value
            return Skipped(f"{name}, which the kernel calls, asks for the block along one of several axes")
        if not statements or not (helped or read.calls(BLOCK)):
            return Skipped("the kernel does not use its block number")
        early = early_returns(statements)
        for found in nodes(read.function.body, cst.Return):
            if not any(found is known for known in early):
                return read.refused(found, "returns from within the kernel")
        return None

    def _count_names(self, statements: Sequence[cst.BaseStatement]) -> dict[int, str]:
        """What holds the number of items along an axis: a name that the kernel has for it already, or a new one."""
        names = {
            axis: text if text.isidentifier() else fresh_name(self.view.source, NAMES[axis])
            for axis, text in self.counts.items()
        }
        for line in statements:
            for name in sorted(names_in(line)):
                binding = self.view.bindings.reaching(name, self.view.source.function.body.body[-1])
                value = binding.value if binding is not None else None
                if value is not None and self.view.is_call(value, BLOCKS):
                    axis = code(cst.ensure_type(value, cst.Call).args[0].value)
                    names |= {known: name for known in names if str(known) == axis}
        return names

    def _decoded(self, item: str, names: Mapping[int, str]) -> dict[int, str]:
        """The block number along each axis, of the item's number; x runs fastest, as blocks are started."""
        decoded, inner = {} if 0 in self.counts else {0: "0"}, list[str]()
        for axis in self.counts:
            text = item
            if inner:
                text += f" // {operand(' * '.join(inner))}"
            if axis != list(self.counts)[-1]:
                text += f" % {names[axis]}"
            decoded[axis] = text
            inner.append(names[axis])
        return decoded

    def _is_item(self, line: cst.BaseStatement) -> str | None:
        """The name that a statement gives to the number of the item and nothing else."""
        name, value = assignment(line) or ("", line)
        alone = len(self.counts) == 1 and self.view.is_call(value, BLOCK)
        item = self._is_linear(value) or (alone and code(value).endswith(f"({next(iter(self.counts))})"))
        return name if item and self.view.bindings.is_bound_once(name) else None

    def _is_linear(self, node: cst.CSTNode) -> bool:
        """Whether it is `ct.bid(0) + ct.bid(1) * ct.num_blocks(0)`, with exactly these axes in the grid."""
        match node:
            case cst.BinaryOperation(
                left=low, operator=cst.Add(), right=cst.BinaryOperation(left=high, operator=cst.Multiply(), right=width)
            ):
                width, _ = self.view.resolve(width, node)
                called = [self._axis(low, BLOCK), self._axis(high, BLOCK)]
                return called == list(self.counts) and self._axis(width, BLOCKS) == called[0]
        return False

    def _axis(self, node: cst.BaseExpression, member: str) -> int | None:
        calls = axis_calls(self.view, member)
        found = [] if isinstance(calls, Skipped) else [axis for call, axis in calls if call is node]
        return found[0] if found else None

    def _operand(self, call: cst.Call, text: str) -> cst.BaseExpression:
        """The text as an expression, in parentheses where it stands in an operation."""
        parent = self.view.source.parents[call]
        inside = isinstance(parent, cst.BinaryOperation | cst.Comparison | cst.UnaryOperation | cst.Attribute)
        compared = isinstance(parent, cst.ComparisonTarget)
        return cst.parse_expression(operand(text) if inside or compared else text)


def _without_lines(line: cst.BaseStatement) -> cst.BaseStatement:
    """The statement without the lines above it, which stand above the loop now."""
    return line.with_changes(leading_lines=())


def _without_gap(line: cst.BaseStatement) -> cst.BaseStatement:
    """The statement without the empty lines above it, as the first of a block; comments stay."""
    above = list(getattr(line, "leading_lines", ()))
    while above and above[0].comment is None:
        above.pop(0)
    return line.with_changes(leading_lines=above)
