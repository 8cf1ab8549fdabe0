"""The host's side of persistent scheduling: as many blocks as the card runs at once, and no more than there are items."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from ..base import Skipped
from ..syntax.appending import with_element, with_parameter
from ..syntax.kernel_source import KernelSource, dotted, integer, nodes
from ..syntax.kernel_view import code
from ..syntax.operands import operand
from ..syntax.rewriting import Change, before, to
from .grid import Site
from .wrapper import Wrapper, fresh_name

SM_COUNT = "multi_processor_count"
KEEP_DEVICE = ("view", "reshape", "flatten", "contiguous", "detach", "clone", "transpose", "unsqueeze", "squeeze")


@dataclass(frozen=True, eq=False)
class ResidentGrid:
    """The change of a kernel's launches. `counts` are the axes with more than one block; `added` those that the kernel
    cannot count itself, with the parameter that tells it.
    """

    read: KernelSource
    sites: Sequence[Site]
    arrays: Sequence[str]
    counts: Sequence[int]
    added: Mapping[int, str]

    def changes(self, blocks_per_sm: int) -> dict[cst.CSTNode, Change] | Skipped:
        """What changes at the launches, or why one of them cannot."""
        torch = _torch(self.read)
        if torch is None:
            return Skipped("the file does not import torch, which knows the number of SMs")
        changes: dict[cst.CSTNode, Change] = {}
        lines: dict[cst.CSTNode, list[str]] = {}
        for site in self.sites:
            tensor = self._tensor(site)
            if tensor is None:
                return self.read.refused(site.call, "passes no tensor by a name that tells the device of the launch")
            place = self.read.statement(site.grid_slot)
            if not isinstance(self.read.parents[place], cst.IndentedBlock):
                return self.read.refused(place, "shares its line with the block around it")
            query = f"{torch}.cuda.get_device_properties({tensor}).{SM_COUNT}"
            asked = _asked_before(site.wrapper, query, site.grid_slot)
            sm_count = asked or fresh_name(self.read, "sm_count")
            names = self._added(site)
            if isinstance(names, Skipped):
                return names
            needed = [f"{name} = {code(site.axes[axis])}" for axis, name in names.items()]
            needed += [] if asked else [f"{sm_count} = {query}"]
            new = [line for line in needed if line not in lines.get(place, [])]
            lines[place] = [*lines.get(place, []), *new]
            many = sm_count if blocks_per_sm == 1 else f"{blocks_per_sm} * {sm_count}"
            changes[site.grid_slot] = to(self._grid(site, names, many))
            for name in names.values():
                changes[site.arguments] = _then(changes.get(site.arguments), name)
        return changes | {place: before(added) for place, added in lines.items() if added}

    def parameters(self) -> Change:
        """The change of the kernel's parameters that adds the numbers of items."""

        def change(updated: cst.CSTNode) -> cst.CSTNode:
            for name in self.added.values():
                updated = with_parameter(updated, name, "int")
            return updated

        return change

    def _added(self, site: Site) -> dict[int, str] | Skipped:
        """The names of the numbers that the launch has to pass."""
        if not self.added:
            return {}
        where = self.read.statement(site.grid_slot), self.read.statement(site.arguments)
        line = self.read.line(site.call)
        if not site.own_arguments:
            return Skipped(f"line {line}: the kernel cannot count its items, and its arguments are used elsewhere")
        if site.wrapper.closure(site.grid) or site.wrapper.closure(site.arguments):
            return Skipped(f"line {line}: the kernel cannot count its items, and the launch is one of a search")
        if self.read.positions[where[0]].start.line > self.read.positions[where[1]].start.line:
            return Skipped(f"line {line}: the kernel cannot count its items, and its arguments come before the grid")
        return dict(self.added)

    def _grid(self, site: Site, names: Mapping[int, str], many: str) -> cst.Tuple:
        """The grid with its blocks along x."""
        factors = [names.get(axis) or code(site.axes[axis]) for axis in self.counts if axis < len(site.axes)]
        product = " * ".join(operand(f) for f in factors) if len(factors) > 1 else factors[0]
        elements = list(site.grid.elements)
        for axis, element in enumerate(elements):
            value = f"min({product}, {many})" if axis == 0 else "1"
            if axis == 0 or integer(element.value) != 1:
                elements[axis] = element.with_changes(value=cst.parse_expression(value))
        return site.grid.with_changes(elements=elements)

    def _tensor(self, site: Site) -> str | None:
        """The device of an argument that is an array and has one value at the grid and at the arguments."""
        parameters = self.read.parameters
        here = self.read.statement(site.grid_slot)
        for name, value in zip(parameters, site.passed, strict=False):
            if name in self.arrays:
                for tensor, where in _same_device(site.wrapper, value, site.arguments):
                    if site.wrapper.same((tensor, here), (tensor, where)):
                        return f"{tensor.value}.device"
        return None


def _asked_before(wrapper: Wrapper, query: str, place: cst.CSTNode) -> str | None:
    """The name that certainly holds the query's answer at a place: the inverse edit leaves it there."""
    for assigned in nodes(wrapper.function, cst.Assign):
        name = dotted(assigned.targets[0].target)
        if name is None or "." in name or code(assigned.value) != query:
            continue
        binding = wrapper.reaching(name, place)
        reaches = binding is not None and binding.node is assigned
        if reaches and wrapper.same((assigned.value, assigned), (assigned.value, place)):
            return name
    return None


def _same_device(
    wrapper: Wrapper, expression: cst.BaseExpression, place: cst.CSTNode
) -> Iterator[tuple[cst.Name, cst.CSTNode]]:
    """The names of tensors on the device of a tensor: itself, and what it is a view, a copy or the like of."""
    while True:
        match expression:
            case cst.Name(value=name):
                yield expression, place
                binding = wrapper.reaching(name, place)
                if binding is None or binding.value is None:
                    return
                expression, place = binding.value, binding.node
            case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=method))) if method in KEEP_DEVICE:
                expression = inner
            case cst.Call(args=[cst.Arg(value=inner), *_]) if (dotted(expression.func) or "").endswith("_like"):
                expression = inner
            case _:
                return


def counts_sms(wrapper: Wrapper, expression: cst.BaseExpression, place: cst.CSTNode, steps: int = 0) -> bool:
    """Whether a grid follows the number of SMs already."""
    if steps > 12:
        return False
    match expression:
        case cst.Attribute(attr=cst.Name(value=name)):
            return name == SM_COUNT
        case cst.Name():
            value, where = wrapper.resolve(expression, place)
            return value is not expression and counts_sms(wrapper, value, where, steps + 1)
        case cst.BinaryOperation(left=left, right=right):
            return any(counts_sms(wrapper, part, place, steps + 1) for part in (left, right))
        case cst.Call(func=cst.Name(value="min" | "max")):
            return any(counts_sms(wrapper, part.value, place, steps + 1) for part in expression.args)
    return False


def _then(change: Change | None, name: str) -> Change:
    """The change that also appends a name to a tuple."""
    return lambda updated: with_element(updated if change is None else change(updated), name)  # type: ignore[arg-type]


def _torch(read: KernelSource) -> str | None:
    """The name by which the module imports torch."""
    inner = [line for function in nodes(read.module, cst.FunctionDef) for line in nodes(function, cst.Import)]
    for line in nodes(read.module, cst.Import):
        for alias in line.names if line not in inner else ():
            if alias.evaluated_name == "torch":
                return alias.evaluated_alias or "torch"
    return None
