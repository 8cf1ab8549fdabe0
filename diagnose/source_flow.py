"""What kind of value each name of a kernel holds: a tile, something read from memory, the block's index.

The answer is for the whole function: a name that holds a tile anywhere counts as one everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

import libcst as cst

from kdiag.diagnose.source_names import Names, nodes_of, parameters


class Kind(Enum):
    """A property of a value. BLOCK is the block's index itself, FROM_BLOCK anything computed from it."""

    TILE = auto()
    LOADED = auto()
    BLOCK = auto()
    FROM_BLOCK = auto()
    BLOCK_COUNT = auto()


Kinds = frozenset[Kind]
NOTHING: Kinds = frozenset()
_MAKERS: dict[str, Kinds] = {
    "bid": frozenset({Kind.BLOCK, Kind.FROM_BLOCK}),
    "num_blocks": frozenset({Kind.BLOCK_COUNT}),
    **dict.fromkeys(("load", "gather", "load_advanced_indexing"), frozenset({Kind.TILE, Kind.LOADED})),
    **dict.fromkeys(("full", "zeros", "ones", "arange", "astile"), frozenset({Kind.TILE})),
}
_VIEW_LOADS = ("load", "load_offset")
_DESCRIPTIONS = frozenset({"shape", "dtype", "ndim", "strides"})


@dataclass(frozen=True)
class Call:
    """A function of the file as one place calls it, with the kinds of the arguments by parameter."""

    function: cst.FunctionDef
    arguments: tuple[tuple[str, Kinds], ...] = ()


@dataclass
class Flow:
    """The values of all functions of a file, worked out on demand and once for each way of calling them."""

    names: Names
    _values: dict[Call, dict[str, Kinds]] = field(default_factory=dict)
    _results: dict[Call, Kinds] = field(default_factory=dict)

    def values(self, call: Call) -> Mapping[str, Kinds]:
        """The kinds by variable in the called function; a recursive call is taken to return nothing."""
        if call not in self._values:
            values = self._values[call] = dict(call.arguments)
            nodes = list(nodes_of(call.function))
            while self._assign(nodes, values):
                pass
            returned = [n.value for n in nodes if isinstance(n, cst.Return) and n.value is not None]
            self._results[call] = frozenset().union(*(self.kinds(value, values) for value in returned))
        return self._values[call]

    def kinds(self, expression: cst.CSTNode, values: Mapping[str, Kinds]) -> Kinds:
        """The kinds of an expression's value."""
        match expression:
            case cst.Name(value=name):
                return values.get(name, NOTHING)
            case cst.Attribute(value=owner, attr=cst.Name(value=name)):
                return NOTHING if name in _DESCRIPTIONS else self._computed([owner], values)
            case cst.Call():
                return self._called(expression, values)
        return self._computed(expression.children, values)

    def local_call(self, call: cst.Call, values: Mapping[str, Kinds]) -> Call | None:
        """The function of the file that `call` runs with the kinds of its arguments, or None."""
        function = self.names.called(call)
        if function is None:
            return None
        names = [param.name.value for param in parameters(function)]
        bound: dict[str, Kinds] = {}
        for position, arg in enumerate(call.args):
            name = arg.keyword.value if arg.keyword else (names[position] if position < len(names) else "")
            if name in names:
                bound[name] = self.kinds(arg.value, values)
        return Call(function, tuple(sorted(bound.items(), key=lambda item: item[0])))

    def _called(self, call: cst.Call, values: Mapping[str, Kinds]) -> Kinds:
        name = self.names.tile_name(call.func)
        if name in _MAKERS:
            return _MAKERS[name]
        arguments = [arg.value for arg in call.args]
        if name is None and (local := self.local_call(call, values)) is not None:
            self.values(local)
            return self._results.get(local, NOTHING)
        if name is None and isinstance(call.func, cst.Attribute):
            owner = self._computed([call.func.value], values)
            match call.func.attr.value:
                case "item":
                    return owner - {Kind.TILE}
                case method if method in _VIEW_LOADS:
                    return _MAKERS["load"]
            return owner | self._computed(arguments, values)
        return self._computed(arguments, values)

    def _computed(self, parts: Sequence[cst.CSTNode], values: Mapping[str, Kinds]) -> Kinds:
        return frozenset().union(*(self.kinds(part, values) for part in parts)) - {Kind.BLOCK}

    def _assign(self, nodes: list[cst.CSTNode], values: dict[str, Kinds]) -> bool:
        """Run every assignment once; True if a name gained a kind."""
        gained = False
        for target, kinds in self._assignments(nodes, values):
            known = values.get(target, NOTHING)
            gained |= not kinds <= known
            values[target] = known | kinds
        return gained

    def _assignments(
        self, nodes: list[cst.CSTNode], values: Mapping[str, Kinds]
    ) -> Iterator[tuple[str, Kinds]]:
        for node in nodes:
            match node:
                case cst.Assign():
                    for target in node.targets:
                        yield from self._bind(target.target, node.value, values)
                case cst.AnnAssign(value=cst.BaseExpression() as value) | cst.NamedExpr(value=value):
                    yield from self._bind(node.target, value, values)
                case cst.AugAssign():
                    yield from self._bind_all(node.target, self._computed([node.value], values))
                case cst.For():
                    yield from self._bind_all(node.target, self._computed(_iterated(node), values))

    def _bind(
        self, target: cst.BaseExpression, value: cst.BaseExpression, values: Mapping[str, Kinds]
    ) -> Iterator[tuple[str, Kinds]]:
        """Take a tuple apart where both sides are tuples of the same length; else each name gets the whole."""
        if (
            isinstance(target, cst.Tuple)
            and isinstance(value, cst.Tuple)
            and len(target.elements) == len(value.elements)
        ):
            for left, right in zip(target.elements, value.elements, strict=True):
                yield from self._bind(left.value, right.value, values)
        else:
            yield from self._bind_all(target, self.kinds(value, values))

    def _bind_all(self, target: cst.BaseExpression, kinds: Kinds) -> Iterator[tuple[str, Kinds]]:
        if isinstance(target, cst.Name):
            yield target.value, kinds
        elif isinstance(target, cst.Tuple | cst.List):
            for element in target.elements:
                yield from self._bind_all(element.value, kinds)


def range_arguments(loop: cst.For) -> list[cst.BaseExpression] | None:
    """The arguments of the `range` that the loop goes over, None for any other loop."""
    match loop.iter:
        case cst.Call(func=cst.Name(value="range"), args=args):
            return [arg.value for arg in args]
    return None


def _iterated(loop: cst.For) -> list[cst.CSTNode]:
    """What the loop's variable is computed from: where a range starts, since its bounds only end it."""
    arguments = range_arguments(loop)
    if arguments is None:
        return [loop.iter]
    return list(arguments[:1]) if len(arguments) > 1 else []
