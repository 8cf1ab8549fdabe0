"""Tile sizes as the arguments of a search: what of a launch wrapper follows them, written as functions of them."""

from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst

from kdiag.records import Safety, Scalar

from ..base import Applied, Skipped, Subject
from ..syntax.bindings import Bindings, name_nodes, names_in
from ..syntax.kernel_source import KernelSource, dotted, nodes, positional
from ..syntax.kernel_view import assigns_only
from ..syntax.operands import as_operand
from ..syntax.rewriting import rewrite, to
from ..tile_sizes import TileSizes
from .tile_constant import TileConstant
from .tile_constants import tile_constants

# Calls that give the same value whenever they are made.
PURE = ("cdiv", "ceil", "min", "max", "int", "len", "numel", "size", "dim", "prod", "triton.cdiv")


@dataclass(frozen=True, eq=False)
class Sizes:
    """Tile sizes by the name that a wrapper has for them; each row is a configuration, the present one first."""

    constants: Mapping[str, TileConstant]
    rows: tuple[Mapping[str, Scalar], ...]
    safety: Safety

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of the kernel's parameters."""
        return tuple(self.constants)


@dataclass(frozen=True, eq=False)
class Followed:
    """The grid and the arguments of a launch as functions of the tile sizes; `unused` statements go."""

    grid: cst.Lambda
    arguments: cst.Lambda
    unused: tuple[cst.CSTNode, ...]


def sizes(subject: Subject, read: KernelSource) -> Sizes | Skipped:
    """The sizes that G would try, one after the other, or why it can try none."""
    found = tile_constants(read)
    if isinstance(found, Skipped):
        return found
    by_setting = {c.setting: c for c in found.values() if isinstance(c, TileConstant)}
    edit, safety = TileSizes(), "safe"
    rows: list[dict[str, Scalar]] = [{}]
    reason = next((c.reason for c in found.values() if isinstance(c, Skipped)), "no tile size can be edited")
    for variant in edit.variants(subject):
        outcome = edit.apply(subject, variant)
        if isinstance(outcome, Applied):
            safety = "safe" if safety == outcome.safety == "safe" else "changes-rounding"
            rows.append(dict(variant.settings))
        elif isinstance(outcome, Skipped):
            reason = outcome.reason
    if len(rows) < 2:
        return Skipped(reason)
    default = next((c for c in by_setting.values() if isinstance(c.assignment, cst.Param)), None)
    if default is not None:
        return Skipped(f"{default.name} is an argument of the launch wrapper, so its caller chooses it")
    following = next((c for c in by_setting.values() if c.value is None), None)
    if following is not None:
        return Skipped(f"{following.name} follows the data, so the search would have no present size to begin with")
    constants = {c.name: c for c in by_setting.values()}
    named = tuple(
        {c.name: row.get(c.setting, c.value) for c in constants.values()}
        | {name: value for name, value in row.items() if name not in by_setting}
        for row in rows
    )
    return Sizes(constants, named, "safe" if safety == "safe" else "changes-rounding")


def followed(read: KernelSource, launch: cst.Call, found: Sizes) -> Followed | Skipped:
    """Grid and arguments as functions of the sizes, provided that nothing else in the wrapper follows them."""
    wrapper = read.around(launch, cst.FunctionDef)
    assert wrapper is not None  # the caller has refused launches outside functions
    bindings = Bindings(wrapper, read)
    trail = _Trail(read, launch, bindings, set(found.names))
    values = positional(launch)
    grid, arguments = trail.written_out(values[1]), trail.written_out(values[3])
    if isinstance(grid, Skipped):
        return grid
    if isinstance(arguments, Skipped):
        return arguments
    unused = trail.unused(wrapper)
    if isinstance(unused, Skipped):
        return unused
    return Followed(_function(found.names, grid), _function(found.names, arguments), unused)


class _Trail:
    """Follows names that depend on the tile sizes to what they are computed from."""

    def __init__(self, read: KernelSource, launch: cst.Call, bindings: Bindings, sizes: set[str]) -> None:
        self._read, self._launch, self._bindings, self._sizes = read, launch, bindings, sizes
        self._inlined: dict[str, cst.CSTNode] = {}

    def written_out(self, expression: cst.BaseExpression, depth: int = 0) -> cst.BaseExpression | Skipped:
        """The expression with every local name that depends on a size replaced by what it stands for."""
        changes: dict[cst.CSTNode, cst.CSTNode] = {}
        for name in name_nodes(expression):
            if name.value in self._sizes or not self._depends(name.value, 0):
                continue
            binding = self._bindings.reaching(name.value, self._launch)
            value = binding.value if binding is not None else None
            if binding is None or value is None or depth > 4 or not _is_pure(value):
                line = self._read.line(name)
                return Skipped(f"line {line}: {name.value} follows the tile size in a way that cannot be repeated")
            inner = self.written_out(value, depth + 1)
            if isinstance(inner, Skipped):
                return inner
            self._inlined[name.value] = binding.node
            changes[name] = as_operand(inner) if name is not expression else inner
        return rewrite(expression, {node: to(new) for node, new in changes.items()})

    def unused(self, wrapper: cst.FunctionDef) -> tuple[cst.CSTNode, ...] | Skipped:
        """The statements that nothing reads any more; a size or what follows it must not be read elsewhere."""
        gone: list[cst.CSTNode] = []
        parts = [*positional(self._launch), *self._inlined.values()]
        for name in (*self._sizes, *self._inlined):
            inside = {use for part in parts for use in name_nodes(part)}
            uses = [use for use in name_nodes(wrapper.body) if use.value == name]
            outer = next((use for use in uses if use not in inside and not self._binds(use, name)), None)
            if outer is not None:
                line = self._read.line(outer)
                return Skipped(f"line {line}: {name} decides more than the grid and the arguments of the launch")
            if not self._bindings.is_global(name):
                binding = self._bindings.reaching(name, self._launch)
                gone.append(self._read.parents[binding.node] if binding is not None else self._launch)
        plain = [line for line in gone if isinstance(line, cst.SimpleStatementLine) and assigns_only(line)]
        return tuple(plain)

    def _binds(self, use: cst.Name, name: str) -> bool:
        return isinstance(self._read.parents[use], cst.AssignTarget)

    def _depends(self, name: str, depth: int) -> bool:
        if name in self._sizes:
            return True
        binding = self._bindings.reaching(name, self._launch)
        if depth > 6 or self._bindings.is_global(name):
            return False
        if binding is None:
            return any(self._mentions(name))
        value = binding.value if binding.value is not None else binding.node
        return any(self._depends(part, depth + 1) for part in names_in(value) - {name})

    def _mentions(self, name: str) -> list[bool]:
        """For a name that is bound several times: whether one of these statements names a size."""
        wrapper = self._read.around(self._launch, cst.FunctionDef)
        assert wrapper is not None
        lines = [line for line in nodes(wrapper, cst.SimpleStatementLine) if name in names_in(line)]
        return [bool(names_in(line) & self._sizes) for line in lines if self._launch not in _below(line)]


def _below(node: cst.CSTNode) -> set[cst.CSTNode]:
    return set(nodes(node, cst.Call))


def _is_pure(expression: cst.BaseExpression) -> bool:
    calls = [dotted(call.func) or "" for call in nodes(expression, cst.Call)]
    effects = (cst.NamedExpr, cst.Await, cst.Yield, cst.Lambda)
    return all(name.rpartition(".")[2] in PURE for name in calls) and not any(
        True for kind in effects for _ in nodes(expression, kind)
    )


def _function(names: tuple[str, ...], body: cst.BaseExpression) -> cst.Lambda:
    parameters = [cst.Param(cst.Name(name)) for name in names]
    return cst.Lambda(cst.Parameters(parameters), body, whitespace_after_lambda=cst.SimpleWhitespace(" "))
