"""Whether a result shows how large a tile is, otherwise than through which elements a tile holds.

The number of a tile and the place in a tile change with its size; the number of an element, `n * T + arange(T)`, does not.
So the first two may say where memory is read and written and what a mask hides, and nothing else.
"""

from collections.abc import Iterator

import libcst as cst

from ..syntax.bindings import names_in
from ..syntax.kernel_source import KernelSource, argument, dotted, entries, integer, nodes, positional
from .tile_reductions import MEMBERS as REDUCTIONS
from .tile_reductions import reduced_uncombined

ATOMIC = "atomic_"
VALUE = {"store": (2, "tile"), "scatter": (2, "value")}
TILES = ("load", "store")
ELEMENTS = ("gather", "scatter")


class TileNumbers:
    """The names of a kernel that hold numbers of tiles of the parameter's size, or places in such a tile."""

    def __init__(self, read: KernelSource, parameter: str) -> None:
        self._read, self._parameter = read, parameter
        self.assigned = list(_assigned_in(read.function.body))
        self.counters = {
            name for loop in nodes(read.function, cst.For) if self._counts(loop) for name in names_in(loop.target)
        }
        self.axes = self._block_axes()
        self.names = set(self.counters)
        while new := {name for name, value in self.assigned if self.shows(value)} - self.names:
            self.names |= new

    def shows(self, expression: cst.CSTNode) -> bool:
        """Whether the value of an expression depends on the tile's number, or on the place in the tile."""
        match expression:
            case cst.Name(value=name):
                return name in self.names
            case cst.Comparison() | cst.BooleanOperation():
                return False  # a mask
            case cst.Call():
                return self._call_shows(expression)
            case cst.Attribute() | cst.Arg() | cst.Element():
                return self.shows(expression.value)
            case cst.BinaryOperation():
                return self._computed_shows(expression)
        return any(self.shows(child) for child in expression.children)

    def _computed_shows(self, written: cst.BinaryOperation) -> bool:
        """Of a number of an element nothing shows; of the size itself, as an operand, it does."""
        if self.element_number(written):
            return False
        size = self._parameter in (dotted(written.left), dotted(written.right))
        return size or self.shows(written.left) or self.shows(written.right)

    def behind(self, part: cst.CSTNode) -> list[cst.CSTNode]:
        """An expression and all that is assigned to the names in it; loop counters are not followed."""
        waiting, seen = [part], set[str]()
        for written in waiting:
            new = names_in(written) - seen
            seen |= new
            waiting += [value for name, value in self.assigned if name in new]
        return waiting

    def element_number(self, sum_: cst.BinaryOperation) -> bool:
        """Whether it is `n * T + arange(T)`, in either order."""
        if not isinstance(sum_.operator, cst.Add):
            return False
        sides = (sum_.left, sum_.right)
        return any(self._is_start(a) and self._is_range(b) for a, b in (sides, sides[::-1]))

    def _is_start(self, part: cst.BaseExpression) -> bool:
        written = self._written(part)
        if not (isinstance(written, cst.BinaryOperation) and isinstance(written.operator, cst.Multiply)):
            return False
        return self._parameter in (dotted(written.left), dotted(written.right))

    def _is_range(self, part: cst.BaseExpression) -> bool:
        written = self._written(part)
        return (
            isinstance(written, cst.Call)
            and self._read.names.resolve(written.func) == "arange"
            and dotted(argument(written, 0, "size")) == self._parameter
        )

    def _written(self, part: cst.BaseExpression) -> cst.BaseExpression:
        values = [value for name, value in self.assigned if name == dotted(part)]
        return values[0] if len(values) == 1 else part

    def _call_shows(self, call: cst.Call) -> bool:
        member = self._read.names.resolve(call.func) or ""
        if member == "bid":
            axis = argument(call, 0, "axis")
            return not isinstance(axis, cst.Integer) or axis.evaluated_value in self.axes
        if member == "num_blocks":
            return True
        if member == "arange":
            return self._parameter in names_in(call)
        if member in (*TILES, *ELEMENTS, "num_tiles", "cdiv") or member.startswith(ATOMIC):
            return False
        owner = [call.func.value] if isinstance(call.func, cst.Attribute) and not member else []
        values = call.args[1:] if member == "where" else call.args
        return any(self.shows(part) for part in (*owner, *values))

    def _counts(self, loop: cst.For) -> bool:
        """Whether a loop goes over tiles of the size; of `num_tiles` the size along its axis decides."""
        counted = [loop.iter, *(value for name, value in self.assigned if name in names_in(loop.iter))]
        return any(self._counts_by(part) for part in counted)

    def _counts_by(self, part: cst.BaseExpression) -> bool:
        calls = [c for c in nodes(part, cst.Call) if self._read.names.resolve(c.func) == "num_tiles"]
        for call in calls:
            shape, axis = argument(call, 2, "shape"), argument(call, 1, "axis")
            if not (isinstance(shape, cst.Tuple) and isinstance(axis, cst.Integer)):
                return self._parameter in names_in(call)
            sizes = entries(shape)[axis.evaluated_value :][:1]
            if any(self._parameter in names_in(size) for size in sizes):
                return True
        return not calls and self._parameter in names_in(part)

    def _block_axes(self) -> set[int]:
        """The axes of the grid whose block numbers count tiles of this size."""
        found: set[int] = set()
        known = {
            name: axis
            for name, value in self.assigned
            if isinstance(value, cst.Call) and (axis := self._axis(value)) is not None
        }
        for used in self.uses():
            calls = [axis for call in nodes(used, cst.Call) if (axis := self._axis(call)) is not None]
            found |= {*calls, *(known[name] for name in names_in(used) if name in known)}
        return found

    def _axis(self, call: cst.Call) -> int | None:
        return integer(argument(call, 0, "axis")) if self._read.names.resolve(call.func) == "bid" else None

    def uses(self) -> Iterator[cst.CSTNode]:
        """What numbers tiles of the size: the index of a dimension that it sizes, and what it is multiplied with."""
        for index, size in tile_indices(self._read):
            if self._parameter in names_in(size):
                yield index
        for product in nodes(self._read.function, cst.BinaryOperation):
            if isinstance(product.operator, cst.Multiply):
                for one, other in ((product.left, product.right), (product.right, product.left)):
                    if dotted(one) == self._parameter:
                        yield other


def tile_indices(read: KernelSource) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """Index and size of every dimension of a `ct.load` that writes both as tuples."""
    for call in read.calls("load"):
        index, shape = argument(call, 1, "index"), argument(call, 2, "shape")
        if isinstance(index, cst.Tuple) and isinstance(shape, cst.Tuple):
            for one, size in zip(index.elements, shape.elements, strict=False):
                yield one.value, size.value


def shows_size(read: KernelSource, parameter: str) -> str | None:
    """Why another tile size could give another result, with the line; None if nothing of that kind is seen."""
    numbers = TileNumbers(read, parameter)
    for call in nodes(read.function, cst.Call):
        member, line = read.names.resolve(call.func) or "", read.line(call)
        value = argument(call, *VALUE[member]) if member in VALUE else None
        values = positional(call)[2:] if member.startswith(ATOMIC) else [value] if value is not None else []
        if any(numbers.shows(part) for part in values):
            return f"line {line} writes the size {parameter} of a tile, its number or a place in it"
        index = argument(call, 1, "indices") if member in ELEMENTS else None
        if index is not None and any(_is_number(numbers, part) for part in entries(index)):
            return f"line {line} finds elements by the number of a tile of {parameter}"
    for index, size in tile_indices(read):
        if parameter not in names_in(size) and _is_number(numbers, index):
            return f"line {read.line(index)} finds another tile by the number of a tile of {parameter}"
    if numbers.axes and reduced_uncombined(read, parameter) and not _combines_atomically(read):
        return f"blocks reduce one tile of {parameter} each, so its size is part of the result"
    return _reversed(read, numbers, parameter) or _partial(read, numbers, parameter)


def _combines_atomically(read: KernelSource) -> bool:
    """Whether the kernel writes by atomic operations alone, which put the blocks' tiles together."""
    atomics = [c for c in nodes(read.function, cst.Call) if (read.names.resolve(c.func) or "").startswith(ATOMIC)]
    return bool(atomics) and not read.calls(*VALUE)


def _is_number(numbers: TileNumbers, part: cst.BaseExpression) -> bool:
    """Whether an index is the bare number of a tile."""
    bare = isinstance(part, cst.Name | cst.Call)
    return bare and numbers.shows(part) and not _ranges(numbers, part)


def _ranges(numbers: TileNumbers, part: cst.BaseExpression) -> bool:
    """Whether the places in a tile are part of an index, directly or by names."""
    calls = [call for written in numbers.behind(part) for call in nodes(written, cst.Call)]
    return any("arange" in (dotted(call.func) or "") for call in calls)


def _reversed(read: KernelSource, numbers: TileNumbers, parameter: str) -> str | None:
    """Tiles that are read in another order than they are written: the number of blocks in an index."""
    for index, size in tile_indices(read):
        inside = any(read.names.resolve(call.func) == "num_blocks" for call in nodes(index, cst.Call))
        if inside and parameter in names_in(size) and numbers.shows(index):
            return f"line {read.line(index)} numbers tiles of {parameter} by the number of blocks"
    return None


def _partial(read: KernelSource, numbers: TileNumbers, parameter: str) -> str | None:
    """A tile of the size that a loop over such tiles adds to, and that is written without being reduced."""
    sized = {name for name, value in numbers.assigned if _makes(read, value, parameter)}
    added: set[str] = set()
    for loop in nodes(read.function, cst.For):
        if names_in(loop.target) & numbers.counters:
            added |= {n for a in nodes(loop.body, cst.AugAssign) for n in names_in(a.target)}
            added |= {n for n, value in _assigned_in(loop.body) if n in names_in(value)}
    held = added & sized
    while new := {name for name, value in numbers.assigned if _holds(read, value, held)} - held:
        held |= new
    for call in read.calls("store", "scatter"):
        value = argument(call, *VALUE[read.names.resolve(call.func) or "store"])
        if value is not None and _holds(read, value, held):
            return f"line {read.line(call)} writes a tile of {parameter} into which others were added"
    return None


def _makes(read: KernelSource, value: cst.CSTNode, parameter: str) -> bool:
    member = read.names.resolve(value.func) if isinstance(value, cst.Call) else None
    return member in ("full", "zeros", "ones") and parameter in names_in(value)


def _holds(read: KernelSource, value: cst.CSTNode, held: set[str]) -> bool:
    """Whether a value is made of one of the names outside of a reduction, a product or a mask."""
    if isinstance(value, cst.Name):
        return value.value in held
    if isinstance(value, cst.Call):
        member = read.names.resolve(value.func) or dotted(value.func) or ""
        if member.rpartition(".")[2] in (*REDUCTIONS, "mma", "matmul", *TILES, *ELEMENTS):
            return False
    return any(_holds(read, child, held) for child in value.children)


def _assigned_in(body: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression]]:
    """Every name with what is assigned to it; tuples are taken apart where both sides are."""
    for statement in nodes(body, cst.Assign):
        for target in statement.targets:
            sides: list[tuple[cst.BaseExpression, cst.BaseExpression]] = [(target.target, statement.value)]
            if isinstance(target.target, cst.Tuple) and isinstance(statement.value, cst.Tuple):
                pairs = zip(target.target.elements, statement.value.elements, strict=False)
                sides = [(one.value, other.value) for one, other in pairs]
            yield from ((name, value) for one, value in sides for name in sorted(names_in(one)))
