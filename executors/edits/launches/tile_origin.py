"""Where the size that one ct.launch passes for a tile comes from: a literal, a name, a dictionary, or the data."""

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from ..base import Skipped
from ..syntax.bindings import names_in
from ..syntax.kernel_source import dotted, integer, last_name, nodes
from .launch_site import LaunchSite
from .tile_constant import TileConstant

MOST_STEPS = 4  # names that are followed one to the next


def origin(site: LaunchSite, parameter: str) -> tuple[TileConstant, tuple[str, ...]] | Skipped:
    """What decides the size passed for a parameter, and the names it goes by on its way; or why it cannot be edited."""
    passed = site.passed(parameter)
    if isinstance(passed, Skipped):
        return passed
    if isinstance(passed, cst.Integer):
        return _of_literal(TileConstant(parameter, parameter, None, site.launch), passed, ())
    if not isinstance(passed, cst.Name):
        return _not_a_literal(site, parameter, passed)
    return _followed(site, TileConstant(parameter, passed.value, None, site.launch), passed)


def _followed(
    site: LaunchSite, constant: TileConstant, name: cst.Name
) -> tuple[TileConstant, tuple[str, ...]] | Skipped:
    """Follow names to what is assigned to the last of them."""
    names: list[str] = []
    expression: cst.BaseExpression = name
    while isinstance(expression, cst.Name) and len(names) <= MOST_STEPS:
        found = site.binding(expression.value)
        if isinstance(found, Skipped):
            return found
        names.append(expression.value)
        assignment, expression = found
        constant = TileConstant(constant.parameter, names[-1], None, assignment)
    chain = tuple(names)
    if isinstance(constant.assignment, cst.Assign) and len(constant.assignment.targets) > 1:
        line = site.read.parents[constant.assignment]
        plain = isinstance(expression, cst.Integer) and all(
            isinstance(target.target, cst.Name) for target in constant.assignment.targets
        )
        if not plain or not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
            return Skipped(f"line {site.read.line(line)} gives the size of {names[-1]} to other names too")
        constant = replace(constant, chained=line)
    if isinstance(expression, cst.Integer):
        return _of_literal(constant, expression, chain)
    if (entry := _in_dictionary(site, expression)) is not None:
        return _of_literal(TileConstant(constant.parameter, names[0], None, entry), entry, chain)
    if follows_data(expression):
        return _capped(TileConstant(constant.parameter, names[0], None, constant.assignment), expression, chain)
    return _not_a_literal(site, constant.parameter, expression)


def _of_literal(
    constant: TileConstant, literal: cst.Integer, chain: tuple[str, ...]
) -> tuple[TileConstant, tuple[str, ...]] | Skipped:
    size = literal.evaluated_value
    if size < 2 or size & (size - 1):
        return Skipped(f"{constant.name} = {size} is not a power of two")
    return replace(constant, value=size, literals=() if constant.chained else (literal,)), chain


def _capped(
    constant: TileConstant, expression: cst.BaseExpression, chain: tuple[str, ...]
) -> tuple[TileConstant, tuple[str, ...]]:
    """The size follows the data: its upper bound is edited where it has one, else it gets one."""
    bounds = expression.args if isinstance(expression, cst.Call) and dotted(expression.func) == "min" else ()
    literals = [arg.value for arg in bounds if isinstance(arg.value, cst.Integer)]
    if len(literals) == 1:
        size = literals[0].evaluated_value
        if size > 1 and not size & (size - 1):
            return TileConstant(constant.parameter, constant.name, size, constant.assignment, (literals[0],)), chain
    return TileConstant(constant.parameter, constant.name, None, constant.assignment, capped=(expression,)), chain


def follows_data(expression: cst.BaseExpression) -> bool:
    """Whether an expression is a power of two found from the data: a call such as next_power_of_2(n), or a shift."""
    if isinstance(expression, cst.BinaryOperation):
        return isinstance(expression.operator, cst.LeftShift) and integer(expression.left) == 1
    if not isinstance(expression, cst.Call):
        return False
    name = last_name(expression.func)
    if name == "min":
        return len(expression.args) == 2 and any(follows_data(arg.value) for arg in expression.args)
    return "pow" in name.lower() and "2" in name and len(expression.args) == 1


def _in_dictionary(site: LaunchSite, expression: cst.BaseExpression) -> cst.Integer | None:
    """The literal behind `table["KEY"]` or `table.get("KEY")`, where one dictionary of the wrapper says it."""
    table, key = _looked_up(expression)
    if table is None or site.wrapper is None:
        return None
    reached = set(_names_behind(site.wrapper, table))
    found = [
        element.value
        for statement in nodes(site.wrapper.body, cst.Assign)
        if reached & {dotted(target.target) for target in statement.targets}
        for shown in nodes(statement.value, cst.Dict)
        for element in shown.elements
        if isinstance(element, cst.DictElement)
        and isinstance(element.key, cst.SimpleString)
        and element.key.evaluated_value == key
    ]
    only = found[0] if len(found) == 1 else None
    return only if isinstance(only, cst.Integer) else None


def _looked_up(expression: cst.BaseExpression) -> tuple[str | None, str | None]:
    """The name and the key of a look-up in a dictionary."""
    if isinstance(expression, cst.Subscript) and len(expression.slice) == 1:
        index = expression.slice[0].slice
        key = index.value if isinstance(index, cst.Index) else None
        table = dotted(expression.value)
    elif isinstance(expression, cst.Call) and isinstance(expression.func, cst.Attribute):
        get = expression.func.attr.value == "get" and len(expression.args) == 1
        key = expression.args[0].value if get else None
        table = dotted(expression.func.value)
    else:
        return None, None
    value = key.evaluated_value if isinstance(key, cst.SimpleString) else None
    return (table, value) if isinstance(value, str) else (None, None)


def _names_behind(wrapper: cst.FunctionDef, name: str) -> Iterator[str]:
    """The name, and the names in what is assigned to it."""
    known, waiting = set[str](), [name]
    while waiting:
        current = waiting.pop()
        if current in known:
            continue
        known.add(current)
        yield current
        for statement in nodes(wrapper.body, cst.Assign):
            if current in {dotted(target.target) for target in statement.targets}:
                waiting += names_in(statement.value)


def _not_a_literal(site: LaunchSite, parameter: str, expression: cst.BaseExpression) -> Skipped:
    text = site.read.text(expression)
    if isinstance(expression, cst.Attribute | cst.Subscript):
        return Skipped(f"{parameter} is taken from a configuration ({text})")
    return Skipped(f"{parameter} is computed from the data ({text})")
