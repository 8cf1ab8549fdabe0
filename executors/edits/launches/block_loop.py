"""The kernel's side of persistent scheduling: its body inside a loop over the items that blocks were started for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from kdiag.executors.edits.base import Skipped
from kdiag.executors.edits.launches.blocks import BLOCK, BLOCKS, axis_calls, written_arrays
from kdiag.executors.edits.launches.host_values import grouped
from kdiag.executors.edits.launches.wrapper import fresh_name
from kdiag.executors.edits.syntax.bindings import names_in
from kdiag.executors.edits.syntax.kernel_source import argument, nodes
from kdiag.executors.edits.syntax.kernel_view import KernelView, code
from kdiag.executors.edits.syntax.rewriting import Change, statement, to

NAMES = ("blocks_x", "blocks_y", "blocks_z")
OPPOSITE: dict[type[cst.BaseCompOp], cst.BaseCompOp] = {
    cst.GreaterThanEqual: cst.LessThan(),
    cst.GreaterThan: cst.LessThanEqual(),
    cst.LessThan: cst.GreaterThanEqual(),
    cst.LessThanEqual: cst.GreaterThan(),
}


@dataclass(frozen=True, eq=False)
class BlockLoop:
    """The loop to be made. `counts` are the numbers of blocks by axis, of those axes that have more than one."""

    view: KernelView
    counts: Mapping[int, str]

    def changes(self) -> dict[cst.CSTNode, Change] | Skipped:
        """What changes in the kernel, or why its body cannot go into a loop."""
        bids, blocks = axis_calls(self.view, BLOCK), axis_calls(self.view, BLOCKS)
        if isinstance(bids, Skipped) or isinstance(blocks, Skipped):
            return bids if isinstance(bids, Skipped) else blocks
        statements = list(self.view.source.function.body.body)
        start = self._start(statements)
        reason = self._refusal(statements[start:])
        if reason is not None:
            return reason
        names = self._count_names(statements[:start])
        header = self._is_item(statements[start]) if start < len(statements) else None
        item = header or fresh_name(self.view.source, "item")
        changes: dict[cst.CSTNode, Change] = {}
        decoded = self._decoded(item, names)
        for call, axis in bids:
            if axis in decoded:
                changes[call] = to(self._operand(call, decoded[axis]))
        for call, axis in blocks:
            inside = any(call in nodes(s, cst.Call) for s in statements[start:])
            if axis in self.counts:
                text = names[axis] if inside and len(self.counts) > 1 else self.counts[axis]
                changes[call] = to(self._operand(call, text))
            elif axis == 0:
                changes[call] = to(cst.Integer("1"))
        for node in nodes(self.view.source.function.body, cst.BinaryOperation):
            if self._is_linear(node):
                changes[node] = to(cst.Name(item))
        raised = self._raised(statements[start:])
        if isinstance(raised, Skipped):
            return raised
        changes[self.view.source.function.body] = self._looped(start, item, names, header is not None, raised)
        return changes

    def _raised(self, statements: Sequence[cst.BaseStatement]) -> list[int] | Skipped:
        """Which statements change a parameter once for all items, and so have to stand before the loop."""
        raised: list[int] = []
        own = {p.name.value for p in nodes(self.view.source.function.params, cst.Param)}
        for name in sorted(own):
            if self.view.bindings.is_bound_once(name):
                continue
            at = [number for number, line in enumerate(statements) if name in names_in(line)]
            found = _assigned(statements[at[0]], name) if at else None
            once = sum(name in names_bound(line) for line in statements) == 1
            fixed = found is not None and all(
                other == name or self.view.bindings.is_global(other) or self._is_fixed(other, own)
                for other in names_in(found)
            )
            if found is None or not once or not fixed or any(True for _ in nodes(found, cst.Call)):
                return Skipped(f"the kernel gives its parameter {name} another value, which would last")
            raised.append(at[0])
        return sorted(raised)

    def _looped(
        self, start: int, item: str, names: Mapping[int, str], drop: bool, raised: Sequence[int]
    ) -> Change:
        """The kernel's body with everything from `start` on in the loop, but for the statements that are `raised`."""
        many = len(self.counts) > 1
        new = [axis for axis, name in names.items() if name == fresh_name(self.view.source, NAMES[axis])]
        lines = [f"{names[axis]} = {self.counts[axis]}" for axis in new if many]
        product = " * ".join(names.values()) if many else next(iter(self.counts.values()))
        tile = self.view.tile

        def change(updated: cst.CSTNode) -> cst.CSTNode:
            body = cst.ensure_type(updated, cst.IndentedBlock)
            before, rest = list(body.body[:start]), list(body.body[start:])
            before += [rest[number] for number in raised]
            rest = [line for number, line in enumerate(rest) if number not in raised]
            first = rest[0]
            header = body.header
            head = cst.TrailingWhitespace()
            above = getattr(first, "leading_lines", ())
            if drop:
                head = cst.ensure_type(first, cst.SimpleStatementLine).trailing_whitespace
                rest = rest[1:]
                rest[:1] = [_without_gap(rest[0])]
            else:
                rest[:1] = [first.with_changes(leading_lines=())]
            loop = cst.For(
                target=cst.Name(item),
                iter=cst.parse_expression(f"range({tile}.{BLOCK}(0), {product}, {tile}.{BLOCKS}(0))"),
                body=cst.IndentedBlock(body=guarded(rest), header=head, footer=body.footer),
                leading_lines=above if not lines else (),
            )
            added = [statement(line) for line in lines]
            if added:
                added[0] = added[0].with_changes(leading_lines=above)
            return body.with_changes(body=[*before, *added, loop], header=header, footer=())

        return change

    def _start(self, statements: Sequence[cst.BaseStatement]) -> int:
        """The first statement that belongs into the loop: all before it give every item the same values."""
        for number, line in enumerate(statements):
            if not (number == 0 and _is_text(line)) and not self._is_common(line):
                return number
        return len(statements)

    def _is_common(self, line: cst.BaseStatement) -> bool:
        """Whether a statement only names values that no item changes."""
        if not isinstance(line, cst.SimpleStatementLine):
            return False
        written = written_arrays(self.view.source)
        calls = self.view.source.calls(BLOCK, within=line)
        reads = [argument(call, 0, "array") for call in self.view.source.calls("load", "gather", within=line)]
        touched = any(names_in(a) & written for a in reads if a is not None)
        return not calls and not touched and all(self._names_once(small) for small in line.body)

    def _is_fixed(self, name: str, parameters: set[str]) -> bool:
        """Whether a name is a parameter that never changes."""
        return name in parameters and self.view.bindings.is_bound_once(name)

    def _names_once(self, small: cst.BaseSmallStatement) -> bool:
        if not isinstance(small, cst.Assign):
            return False
        targets = [node for target in small.targets for node in _parts(target.target)]
        return all(
            isinstance(node, cst.Name) and self.view.bindings.is_bound_once(node.value) for node in targets
        )

    def _refusal(self, statements: Sequence[cst.BaseStatement]) -> Skipped | None:
        """Why these statements cannot be run once for each item."""
        read = self.view.source
        if not statements or not read.calls(BLOCK):
            return Skipped("the kernel does not use its block number")
        early = [guard.body.body[0].body[0] for guard in map(_guard, statements[:-1]) if guard is not None]
        for found in nodes(read.function.body, cst.Return):
            if not any(found is known for known in early):
                return Skipped(f"line {read.place(found).line} returns from within the kernel")
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
                text += f" // {grouped(' * '.join(inner))}"
            if axis != list(self.counts)[-1]:
                text += f" % {names[axis]}"
            decoded[axis] = text
            inner.append(names[axis])
        return decoded

    def _is_item(self, line: cst.BaseStatement) -> str | None:
        """The name that a statement gives to the number of the item and nothing else."""
        match line:
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value)]
            ) if self.view.bindings.is_bound_once(name):
                alone = len(self.counts) == 1 and self.view.is_call(value, BLOCK)
                if self._is_linear(value) or (alone and code(value).endswith(f"({next(iter(self.counts))})")):
                    return name
        return None

    def _is_linear(self, node: cst.CSTNode) -> bool:
        """Whether it is `ct.bid(0) + ct.bid(1) * ct.num_blocks(0)`, with exactly these axes in the grid."""
        match node:
            case cst.BinaryOperation(
                left=low,
                operator=cst.Add(),
                right=cst.BinaryOperation(left=high, operator=cst.Multiply(), right=width),
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
        return cst.parse_expression(grouped(text) if inside or compared else text)


def guarded(statements: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """The statements with `if condition: return` turned into a condition on all that follows."""
    for number, line in enumerate(statements[:-1]):
        guard = _guard(line)
        if guard is not None:
            body = cst.IndentedBlock(body=guarded(statements[number + 1 :]))
            return [*statements[:number], guard.with_changes(test=_negated(guard.test), body=body)]
    return list(statements)


def _guard(line: cst.BaseStatement) -> cst.If | None:
    """`if condition: return` with nothing else to it, comments included."""
    match line:
        case cst.If(
            orelse=None, body=cst.BaseSuite(body=[cst.SimpleStatementLine(body=[cst.Return(value=None)])])
        ):
            return line if "#" not in code(line.body) else None
    return None


def _negated(test: cst.BaseExpression) -> cst.BaseExpression:
    match test:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator) as target]) if (
            type(operator) in OPPOSITE
        ):
            opposite = OPPOSITE[type(operator)]
            return cst.Comparison(left, [target.with_changes(operator=opposite)])
    return cst.parse_expression(f"not ({code(test)})")


def names_bound(line: cst.CSTNode) -> set[str]:
    """The names that a statement gives a value to."""
    targets = [
        a.target
        for kind in (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For)
        for a in nodes(line, kind)
    ]
    return {name for target in targets for name in names_in(target)}


def _assigned(line: cst.BaseStatement, name: str) -> cst.BaseExpression | None:
    """The value of a statement that is `name = value` and nothing else."""
    match line:
        case cst.SimpleStatementLine(
            body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=found))], value=value)]
        ) if found == name:
            return value
    return None


def _without_gap(line: cst.BaseStatement) -> cst.BaseStatement:
    """The statement without the empty lines above it, as the first of a block; comments stay."""
    above = list(getattr(line, "leading_lines", ()))
    while above and above[0].comment is None:
        above.pop(0)
    return line.with_changes(leading_lines=above)


def _parts(target: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [e.value for e in target.elements] if isinstance(target, cst.Tuple) else [target]


def _is_text(line: cst.BaseStatement) -> bool:
    """Whether a statement is a string on its own: the docstring."""
    match line:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString())]):
            return True
    return False
