"""Whether a size stays where tiles are counted: on the host in grids, workspaces and what kernels are passed.

Whatever else is made of it, a padded input or a factor of a result, would change with the size.
"""

from collections.abc import Iterable

import libcst as cst

from ..syntax.bindings import bound_names, name_nodes, names_in
from ..syntax.kernel_source import KernelSource, argument, dotted, holds, method, nodes, positional
from .launch_site import LaunchSite
from .tile_constant import TileConstant
from .tile_visible import shows_size
from .wrapper import Wrapper

# What follows a size: a number, an array of such a shape, what an unknown call gives, which is good for a grid alone,
# and what such a call gives to a kernel.
NUMBER, SHAPED, MADE, LOST = range(4)
NUMBERS = ("ceil", "floor", "min", "max", "int", "bit_length", "range", "tuple", "stride", "size", "numel")
ARRAYS = ("empty", "zeros", "ones", "new_empty", "new_zeros", "new_ones")
VIEWS = ("view", "reshape", "contiguous", "transpose", "permute", "unsqueeze")
PRINTED = ("print", "debug", "info", "warning")
CARRIES = (
    *(cst.BinaryOperation, cst.UnaryOperation, cst.BooleanOperation, cst.Comparison, cst.ComparisonTarget, cst.IfExp),
    *(cst.Tuple, cst.List, cst.Element, cst.Arg, cst.Attribute, cst.Subscript, cst.Lambda, cst.Call),
    *(cst.FormattedString, cst.FormattedStringExpression),
)
SCOPES = (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Param, cst.Expr, cst.ClassDef, cst.SimpleStatementLine)


class Stray(Exception):
    """A use that leads elsewhere; the text says where."""


def strays(site: LaunchSite, sizes: set[str], constant: TileConstant) -> str | None:
    """Where the launch wrapper makes something of a size that another one would change; `sizes` are its names."""
    around = Wrapper.around(site.read, site.launch)
    if not isinstance(around, Wrapper):
        return None
    trail = _Trail(site.read, around.function)
    try:
        trail.follow(sizes, constant.repeats)
        _into_kernel(site, trail.kinds, constant.parameter)
    except Stray as reason:
        return str(reason)
    return None


class _Trail:
    """Follows names of a function to all that is made of them; `kinds` are those found, by name."""

    def __init__(self, read: KernelSource, function: cst.FunctionDef) -> None:
        self._read, self._function = read, function
        self.kinds: dict[str, int] = {}

    def follow(self, sizes: set[str], literals: Iterable[cst.Integer]) -> None:
        """Fill `kinds` from the names of a size and from literals that repeat it. Raises Stray."""
        found = dict.fromkeys(sizes, NUMBER) | dict(end for literal in literals for end in self._made_of(literal))
        while found:
            self.kinds |= found
            uses = [use for use in name_nodes(self._function.body) if use.value in found]
            made = sorted(end for use in uses for end in self._made_of(use))
            found = {name: kind for name, kind in made if kind > self.kinds.get(name, -1)}

    def _made_of(self, use: cst.Name | cst.Integer) -> list[tuple[str, int]]:
        """The names that get what is made of a use, with its kind."""
        kind: int | None = self.kinds.get(use.value, NUMBER)
        part: cst.CSTNode = use
        while kind is not None:
            part, below = self._read.parents[part], part
            if isinstance(part, cst.Call):
                kind = self._given(part, below, kind)
            elif isinstance(part, cst.IfExp) and part.test is below:
                kind = MADE
            elif (names := self._named(part, below)) is not None:
                return [(name, MADE if isinstance(part, cst.If | cst.While) else kind) for name in names]
            if kind == LOST or not isinstance(part, CARRIES):
                line = self._read.line(part)
                if isinstance(part, cst.Assert | cst.If):
                    raise Stray(f"line {line} demands something of {use.value}")
                raise Stray(f"line {line} makes more of {use.value}, which follows the size, than a number of tiles")
        return []

    def _named(self, part: cst.CSTNode, below: cst.CSTNode) -> list[str] | None:
        """The names that follow by a statement; None where it is none, or leads elsewhere."""
        targets: list[cst.CSTNode] = []
        match part:
            case cst.Raise() | cst.AssignTarget() | cst.FunctionDef():
                return []
            case cst.If() | cst.While() if not holds(part.body, cst.Raise):
                return [name.value for name in bound_names(part)]
            case cst.Return() if (inner := self._read.around(part, cst.FunctionDef)) is not self._function:
                return [] if inner is None else [inner.name.value]
            case cst.Assign():
                targets = [target.target for target in part.targets]
            case cst.Param():
                targets = [part.name] if part.default is below else []
            case cst.AnnAssign() | cst.AugAssign() | cst.For():
                targets = [] if part.target is below else [part.target]
            case _:
                return None
        kept = any(True for target in targets for _ in nodes(target, cst.Attribute))
        return None if kept else [name.value for target in targets for name in name_nodes(target)]

    def _given(self, call: cst.Call, below: cst.CSTNode, kind: int) -> int | None:
        """The kind of what a call gives; None where it ends there."""
        name = method(call) or dotted(call.func) or ""
        divides = "div" in name and name not in ("div", "div_")
        if name in PRINTED:
            return None
        if self._read.names.resolve(call.func) == "launch":
            return LOST if kind == MADE and below is not call.args[1] else None
        if name in NUMBERS or divides or ("pow" in name and "2" in name):
            return NUMBER
        if name in ARRAYS:
            return SHAPED
        return kind if name in VIEWS and below is call.func else MADE


def _into_kernel(site: LaunchSite, kinds: dict[str, int], parameter: str) -> None:
    """Raises Stray where a launch passes something else that follows the size, and the kernel does not only count by it."""
    given = positional(site.launch)
    passed = site.value(given[3])
    if not isinstance(passed, cst.Tuple):
        return
    arrays = {dotted(argument(call, 0, "array")) for call in nodes(site.read.function, cst.Call)}
    names = site.read.parameters
    same = {site.read.text(e.value) for name, e in zip(names, passed.elements, strict=False) if name == parameter}
    for name, element in zip(names, passed.elements, strict=False):
        following = [kinds[one] for one in names_in(element) if one in kinds]
        if not following or site.read.text(element.value) in same:
            continue
        if name in arrays and NUMBER in following:
            raise Stray(f"what is passed for {name} is computed from the size of {parameter}")
        if name not in arrays and (reason := shows_size(site.read, name)) is not None:
            raise Stray(reason)


def outside_functions(read: KernelSource, names: set[str], chain: tuple[str, ...]) -> str | None:
    """Where the module uses one of these names otherwise than by assigning it to others, which are among them."""
    bodies = [*(f.body for f in nodes(read.module, cst.FunctionDef)), *(f.body for f in nodes(read.module, cst.Lambda))]
    inside = {*bound_names(read.module), *(use for body in bodies for use in name_nodes(body))}
    for use in name_nodes(read.module):
        if use.value not in names or use in inside:
            continue
        part = read.around(use, *SCOPES)
        passes_on = isinstance(part, cst.Param) and part.name.value in chain
        if not passes_on and not (part and _assigns_plainly(read, part)):
            return f"line {read.line(use)} uses {use.value} outside of every function, and not only to assign it"
    return None


def _assigns_plainly(read: KernelSource, part: cst.CSTNode) -> bool:
    """Whether it is an assignment to names of the module."""
    targets = [t.target for t in part.targets] if isinstance(part, cst.Assign) else []
    if isinstance(part, cst.AnnAssign | cst.AugAssign):
        targets = [part.target]
    return (
        bool(targets)
        and read.around(part, cst.ClassDef) is None
        and all(isinstance(t, cst.Name | cst.Tuple) for t in targets)
    )
