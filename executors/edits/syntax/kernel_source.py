"""What every edit needs of a kernel's syntax: parsing, the names of cuda.tile, the kernel function, keyword arguments.

Nothing here raises on source text. Nodes keep their identity from parsing to `replace`, so an edit finds nodes, builds
their replacements and hands both over in one mapping; all other text stays byte for byte.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import TypeVar

import libcst as cst

from kdiag.records import Place

from ..base import Skipped
from .appending import appended
from .parsing import parse
from .rewriting import Changed, rewrite, to
from .walking import Kind, Range, below, parents, positions

TILE_MODULE = "cuda.tile"
N = TypeVar("N", bound=cst.CSTNode)


@dataclass(frozen=True, eq=False)
class TileNames:
    """How a file names cuda.tile: `modules` such as "ct", and `members` such as {"ld": "load"}."""

    modules: frozenset[str]
    members: Mapping[str, str]

    def resolve(self, expression: cst.CSTNode | None) -> str | None:
        """The name below cuda.tile that a (dotted) name stands for: "load", "PaddingMode.ZERO", or None."""
        name = dotted(expression)
        if name is None:
            return None
        for module in self.modules:
            if name.startswith(f"{module}."):
                return name[len(module) + 1 :]
        head, dot, tail = name.partition(".")
        return self.members[head] + dot + tail if head in self.members else None


@dataclass(frozen=True, eq=False)
class KernelSource:
    """A parsed file and one kernel in it. `decorator` is its `@ct.kernel`."""

    module: cst.Module
    names: TileNames
    function: cst.FunctionDef
    decorator: cst.Decorator
    parents: Mapping[cst.CSTNode, cst.CSTNode]
    positions: Mapping[cst.CSTNode, Range]

    @property
    def name(self) -> str:
        return self.function.name.value

    @property
    def parameters(self) -> list[str]:
        """The names of the kernel's parameters, in order."""
        return [parameter.name.value for parameter in self.function.params.params]

    def place(self, node: cst.CSTNode) -> Place:
        """Where a node of the parsed file starts; the file's name is for the caller to fill in."""
        start = self.positions[node].start
        return Place("", start.line, start.column)

    def line(self, node: cst.CSTNode) -> int:
        return self.positions[node].start.line

    def first(self, found: Iterable[cst.CSTNode]) -> Place:
        """Where the first of some nodes starts."""
        return min(map(self.place, found), key=lambda place: (place.line, place.column))

    def refused(self, node: cst.CSTNode, what: str) -> Skipped:
        """The refusal that says in which line what stands."""
        return Skipped(f"line {self.line(node)} {what}")

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes that hold another, from the innermost to the module."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def inside(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes of the kernel that hold another, from the innermost."""
        return takewhile(lambda parent: parent is not self.function, self.above(node))

    def around(self, node: cst.CSTNode, *kinds: type[N]) -> N | None:
        """The innermost node of these kinds that holds another; at the level of the module there may be none."""
        return next((parent for parent in self.above(node) if isinstance(parent, kinds)), None)

    def statement(self, node: cst.CSTNode) -> cst.BaseStatement:
        """The statement of a block that holds a node, or that it is."""
        while not isinstance(node, cst.SimpleStatementLine | cst.BaseCompoundStatement):
            node = self.parents[node]
        return node

    def calls(self, *members: str, within: cst.CSTNode | None = None) -> list[cst.Call]:
        """The calls of these members of cuda.tile in the kernel (or in another node), in the order of the text."""
        found = nodes(within or self.function, cst.Call)
        return [call for call in found if self.names.resolve(call.func) in members]

    def text(self, node: cst.CSTNode) -> str:
        return self.module.code_for_node(node)


@lru_cache(maxsize=4)
def read_kernel(source: str, kernel: str) -> KernelSource | Skipped:
    """Parse a file and find the kernel of that name, or say why it cannot be edited."""
    if source.startswith("\ufeff"):
        return Skipped("the file begins with a byte order mark; save it as UTF-8 without one")
    module = parse(source)
    if module is None:
        return Skipped("the file does not parse as Python")
    names = tile_names(module)
    found = [
        (function, decorator)
        for function in nodes(module, cst.FunctionDef)
        if function.name.value == kernel
        for decorator in function.decorators
        if names.resolve(_called(decorator.decorator)) == "kernel"
    ]
    if len(found) != 1:
        many = "more than one function" if found else "no function"
        return Skipped(f"{many} in the file is a cuTile kernel named {kernel}")
    return KernelSource(module, names, *found[0], parents(module), positions(module))


def tile_names(module: cst.Module) -> TileNames:
    """How the imports of a file name cuda.tile and its members."""
    modules: set[str] = set()
    members: dict[str, str] = {}
    for statement in nodes(module, cst.Import):
        for alias in statement.names:
            imported = alias.evaluated_name
            if imported == TILE_MODULE and alias.asname is not None:
                modules.add(str(alias.evaluated_alias))
            elif alias.asname is None and f"{imported}.".startswith(f"{TILE_MODULE}."):
                modules.add(TILE_MODULE)
    for origin in nodes(module, cst.ImportFrom):
        package = "" if origin.relative else dotted(origin.module)
        if isinstance(origin.names, cst.ImportStar):
            continue
        for alias in origin.names:
            local = alias.evaluated_alias or alias.evaluated_name
            if package == "cuda" and alias.evaluated_name == "tile":
                modules.add(local)
            elif package == TILE_MODULE:
                members[local] = alias.evaluated_name
    return TileNames(frozenset(modules), members)


def dotted(expression: cst.CSTNode | None) -> str | None:
    """`a.b.c` as text; None for anything but names joined by dots."""
    if isinstance(expression, cst.Name):
        return expression.value
    if isinstance(expression, cst.Attribute):
        head = dotted(expression.value)
        return None if head is None else f"{head}.{expression.attr.value}"
    return None


def last_name(expression: cst.CSTNode) -> str:
    """`c` of `a.b.c`; "" for anything but names joined by dots."""
    return (dotted(expression) or "").rpartition(".")[2]


def nodes(root: cst.CSTNode, kind: Kind[N]) -> Iterator[N]:
    """All nodes of one kind, or of several, below a node, itself included, in the order of the text."""
    return below(root, kind)


def holds(root: cst.CSTNode, *kinds: type) -> bool:
    """Whether a node of one of these kinds stands below a node, itself included."""
    return any(True for kind in kinds for _ in nodes(root, kind))


def entries(expression: cst.BaseExpression) -> list[cst.BaseExpression]:
    """What stands in a tuple; anything else stands for itself."""
    return [each.value for each in expression.elements] if isinstance(expression, cst.Tuple) else [expression]


def integer(expression: cst.CSTNode | None) -> int | None:
    """The value of an integer literal, else None."""
    return expression.evaluated_value if isinstance(expression, cst.Integer) else None


def method(call: cst.Call) -> str | None:
    """The attribute that is called, as `astype` in `tile.astype(...)`; None where no attribute is."""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else None


def unpacks(call: cst.Call) -> bool:
    """Whether arguments are unpacked with stars."""
    return any(argument.star for argument in call.args)


def positional(call: cst.Call) -> list[cst.BaseExpression]:
    """The positional arguments in front of the first star or keyword."""
    values: list[cst.BaseExpression] = []
    for argument in call.args:
        if argument.star or argument.keyword is not None:
            break
        values.append(argument.value)
    return values


def keyword(call: cst.Call, name: str) -> cst.Arg | None:
    return next((a for a in call.args if a.keyword is not None and a.keyword.value == name), None)


def argument(call: cst.Call, position: int, name: str) -> cst.BaseExpression | None:
    """The value passed at a position or, failing that, by keyword."""
    values = positional(call)
    if position < len(values):
        return values[position]
    by_name = keyword(call, name)
    return None if by_name is None else by_name.value


def set_keyword(call: cst.Call, name: str, value: str) -> cst.Call:
    """The call with `name=value`: in the place of the present value, else last and laid out like its neighbours."""
    expression = cst.parse_expression(value)
    present = keyword(call, name)
    if present is not None:
        args = [a.with_changes(value=expression) if a is present else a for a in call.args]
        return call.with_changes(args=args)
    added = named(cst.Arg(expression), name)
    if not call.args:
        return call.with_changes(args=[added])
    return call.with_changes(args=appended(call.args, added, call.whitespace_before_args))


def named(argument: cst.Arg, name: str) -> cst.Arg:
    """The argument passed by keyword."""
    tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return argument.with_changes(keyword=cst.Name(name), equal=tight)


def remove_keyword(call: cst.Call, name: str) -> cst.Call:
    """The call without that keyword argument; the layout of what stays is kept."""
    present = keyword(call, name)
    if present is None:
        return call
    args = list(call.args)
    at = args.index(present)
    if at == len(args) - 1 and at > 0:
        comma = present.comma
        before = args[at - 1].comma
        if isinstance(before, cst.Comma) and isinstance(comma, cst.Comma):
            kept, closing = before.whitespace_after, comma.whitespace_after
            if isinstance(kept, cst.ParenthesizedWhitespace) and kept.first_line.comment is not None:
                closing = _with_comment_of(closing, kept)
            comma = comma.with_changes(whitespace_after=closing)
        args[at - 1] = args[at - 1].with_changes(comma=comma, whitespace_after_arg=present.whitespace_after_arg)
    return call.with_changes(args=[a for a in args if a is not present])


def replace(module: cst.Module, replacements: Mapping[cst.CSTNode, Changed]) -> str:
    """The file's text with nodes exchanged; a replaced node must not lie inside another one."""
    return rewrite(module, {node: to(new) for node, new in replacements.items()}).code


def _with_comment_of(
    closing: cst.BaseParenthesizableWhitespace, kept: cst.ParenthesizedWhitespace
) -> cst.BaseParenthesizableWhitespace:
    """The white space that ends the arguments, with the comment that stood behind the last argument that stays."""
    if isinstance(closing, cst.ParenthesizedWhitespace) and closing.first_line.comment is None:
        return closing.with_changes(first_line=kept.first_line)
    return closing


def _called(expression: cst.BaseExpression) -> cst.BaseExpression:
    return expression.func if isinstance(expression, cst.Call) else expression
