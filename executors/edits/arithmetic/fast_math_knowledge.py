"""What the rewrites of H know of a kernel: the kinds of its expressions, and where rounding decides something."""

from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from ..syntax.bindings import Bindings, names_bound
from ..syntax.kernel_source import KernelSource, keyword, nodes, set_keyword
from .float32_kinds import ELEMENTWISE, REDUCTIONS, Kind, is_tile
from .float32_values import Values

STEPS = frozenset({"floor", "ceil", "round"})
STATEMENTS = (cst.SimpleStatementLine, cst.SimpleStatementSuite, cst.BaseCompoundStatement)


@dataclass(frozen=True, eq=False)
class Math:
    """What is known of one function: the kernel, or one that it calls."""

    kernel: KernelSource
    values: Values
    function: cst.FunctionDef

    @property
    def tile(self) -> str:
        """The name under which the file imports cuda.tile."""
        return min(self.kernel.names.modules)

    @cached_property
    def bindings(self) -> Bindings:
        return Bindings(self.function, self.kernel)

    def member(self, node: cst.CSTNode) -> str | None:
        """The cuda.tile function that a node calls."""
        return self.kernel.names.resolve(node.func) if isinstance(node, cst.Call) else None

    def kind(self, node: cst.BaseExpression) -> Kind | None:
        return self.values.kinds.get(node)

    def guard(self, node: cst.BaseExpression) -> str | None:
        """The test under which an original expression is a float32 tile: "" when it certainly is; None for no tile.

        A tile of unknown dtype is tested by the names it is computed from, two at the most.
        """
        if is_tile(self.kind(node)):
            return ""
        if self.kind(node) is not Kind.ANY or self._is_guarded(node):
            return None
        names = self._unknown(node)
        if not names or len(names) > 2:
            return None
        return " and ".join(f"{name}.dtype == {self.tile}.float32" for name in sorted(names))

    def _unknown(self, node: cst.BaseExpression) -> set[str] | None:
        """The names of unknown dtype that an expression is computed from; None if anything else in it is unknown."""
        if self.kind(node) in (Kind.NUMBER, Kind.TILE, Kind.ROW):
            return set()
        parts: list[cst.BaseExpression] = []
        match node:
            case cst.Name(value=name) if self.kind(node) is Kind.ANY:
                return {name}
            case cst.UnaryOperation(expression=part) | cst.Subscript(value=part):
                parts = [part]
            case cst.BinaryOperation(left=left, right=right):
                parts = [left, right]
            case cst.Call() if self.member(node) in ELEMENTWISE | REDUCTIONS | {"truediv", "pow"} and node.args:
                parts = [node.args[0].value, *(a.value for a in node.args[1:2] if a.keyword is None)]
        found = [self._unknown(part) for part in parts]
        known = [names for names in found if names is not None]
        return set().union(*known) if found and len(known) == len(found) else None

    def _is_guarded(self, node: cst.CSTNode) -> bool:
        """Whether it stands in a choice by dtype already."""
        while not isinstance(node, STATEMENTS):
            node = self.kernel.parents[node]
            if isinstance(node, cst.IfExp) and any(a.attr.value == "dtype" for a in nodes(node.test, cst.Attribute)):
                return True
        return False

    def decides(self, division: cst.CSTNode) -> cst.CSTNode | None:
        """The comparison, floor or ceil that sees the result of a division directly or through one name."""
        node = division
        while not isinstance(node, STATEMENTS):
            if isinstance(node, cst.Comparison) or self.member(node) in STEPS:
                return node
            statement, node = node, self.kernel.parents[node]
        if not isinstance(statement, cst.Assign | cst.AnnAssign | cst.AugAssign):
            return None
        bound = set(names_bound(statement))
        deciding: list[cst.CSTNode] = [
            *nodes(self.function, cst.Comparison),
            *(call for call in nodes(self.function, cst.Call) if self.member(call) in STEPS),
        ]
        return next((n for n in deciding if any(x.value in bound for x in nodes(n, cst.Name))), None)

    def written(self, expression: cst.BaseExpression, place: cst.CSTNode) -> cst.BaseExpression:
        """What a name stands for, where all names in that still mean the same at the place; else the expression."""
        if not isinstance(expression, cst.Name):
            return expression
        binding = self.bindings.reaching(expression.value, place)
        if binding is None or binding.value is None:
            return expression
        return binding.value if self.bindings.same(binding.value, binding.node, place) else expression

    def is_approximate(self, call: cst.Call) -> bool:
        given = keyword(call, "rounding_mode")
        return given is not None and self.kernel.names.resolve(given.value) == "RoundingMode.APPROX"

    def call(self, member: str, *arguments: cst.BaseExpression) -> cst.Call:
        """`ct.member(arguments, flush_to_zero=True)`."""
        made = cst.Call(cst.parse_expression(f"{self.tile}.{member}"), [cst.Arg(bare(a)) for a in arguments])
        return self.flushed(made)

    def flushed(self, call: cst.Call) -> cst.Call:
        return set_keyword(call, "flush_to_zero", "True")

    def approximate(self, call: cst.Call) -> cst.Call:
        return set_keyword(call, "rounding_mode", f"{self.tile}.RoundingMode.APPROX")

    def quotient(self, left: cst.BaseExpression, right: cst.BaseExpression) -> cst.Call:
        made = cst.Call(cst.parse_expression(f"{self.tile}.truediv"), [cst.Arg(bare(left)), cst.Arg(bare(right))])
        return self.flushed(self.approximate(made))


def bare(expression: cst.BaseExpression) -> cst.BaseExpression:
    """The expression without its outer parentheses, unless they hold a line break."""
    outer = expression.lpar[0].whitespace_after if expression.lpar else None
    if not isinstance(outer, cst.SimpleWhitespace):
        return expression
    return expression.with_changes(lpar=expression.lpar[1:], rpar=expression.rpar[:-1])
