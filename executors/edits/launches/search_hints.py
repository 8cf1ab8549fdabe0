"""Which hints a launch wrapper takes from the configurations of a search."""

from dataclasses import dataclass

import libcst as cst

from ..hints import OCCUPANCY
from ..syntax.kernel_source import KernelSource, argument, dotted, keyword, nodes
from .search_configurations import Space


@dataclass(frozen=True, eq=False)
class Uses:
    """Where a wrapper takes hints from a configuration.

    `searched` are the hints of the search, `dictionary` the literal that holds them and `parameter` what it calls the
    configuration; `launched` are the calls that make the launched kernel, each with its name for the configuration;
    `elsewhere` is the line of another use of the occupancy.
    """

    searched: frozenset[str]
    dictionary: cst.Dict | None
    parameter: str
    launched: tuple[tuple[cst.Call, str], ...]
    elsewhere: int | None


def uses(read: KernelSource, space: Space) -> Uses:
    """Which hints the function around a search takes from the configuration."""
    hints_fn = argument(space.search, 5, "hints_fn")
    dictionary, parameter = _returned(read, hints_fn, space) if hints_fn is not None else (None, "")
    searched = _from_configuration(dictionary, parameter)
    launched = tuple(
        (call, dotted(value.value) or "")
        for call in nodes(space.function, cst.Call)
        if (dotted(call.func) or "").endswith("replace_hints")
        and (given := keyword(call, OCCUPANCY)) is not None
        and isinstance(value := given.value, cst.Attribute)
        and value.attr.value == OCCUPANCY
    )
    known: list[cst.CSTNode] = [call for call, _ in launched]
    known += [dictionary] if dictionary is not None else []
    inside = {node for part in known for node in nodes(part, cst.Attribute)}
    strings = nodes(space.function, cst.SimpleString)
    others: list[cst.CSTNode] = [
        *(n for n in nodes(space.function, cst.Attribute) if n.attr.value == OCCUPANCY and n not in inside),
        *(t for t in strings if t.evaluated_value == OCCUPANCY and not isinstance(read.parents[t], cst.DictElement)),
    ]
    line = min(map(read.line, others), default=None)
    return Uses(searched, dictionary, parameter, launched, line)


def _returned(read: KernelSource, hints_fn: cst.BaseExpression, space: Space) -> tuple[cst.Dict | None, str]:
    """The dictionary that a lambda or a function inside the wrapper returns, and its name for the configuration."""
    if isinstance(hints_fn, cst.Lambda) and len(hints_fn.params.params) == 1:
        body = hints_fn.body
        return body if isinstance(body, cst.Dict) else None, hints_fn.params.params[0].name.value
    inner = [f for f in nodes(space.function.body, cst.FunctionDef) if f.name.value == dotted(hints_fn)]
    if len(inner) == 1 and len(inner[0].params.params) == 1:
        returns = [r.value for r in nodes(inner[0], cst.Return)]
        value = returns[0] if len(returns) == 1 else None
        return value if isinstance(value, cst.Dict) else None, inner[0].params.params[0].name.value
    return None, ""


def _from_configuration(dictionary: cst.Dict | None, parameter: str) -> frozenset[str]:
    """The hints whose value is the configuration's field of that name."""
    found = set()
    for element in dictionary.elements if dictionary is not None else ():
        if isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString):
            name = element.key.raw_value
            if dotted(element.value) == f"{parameter}.{name}":
                found.add(name)
    return frozenset(found)
