"""What the configurations of a search are made of."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from ..base import Skipped
from ..syntax.bindings import Bindings, names_in
from ..syntax.kernel_source import KernelSource, dotted, integer, keyword, last_name, nodes
from .search import SEARCH, Search, module_functions, searches

ROWS, COLUMNS = re.compile(r"(TILE|BLOCK)(_SIZE)?_M"), re.compile(r"(TILE|BLOCK)(_SIZE)?_N")


@dataclass(frozen=True, eq=False)
class Space:
    """The list that a search is given: its expression, what makes a configuration, and the values of each field.

    The values are those written as literals or looped over; None where they are computed.
    """

    expression: cst.BaseExpression
    function: cst.FunctionDef
    constructor: str
    fields: Mapping[str, frozenset[int] | None]
    search: cst.Call

    @property
    def product(self) -> tuple[str, str] | None:
        """The fields that are rows and columns of a tile."""
        rows = [name for name in self.fields if ROWS.fullmatch(name)]
        columns = [name for name in self.fields if COLUMNS.fullmatch(name)]
        return (rows[0], columns[0]) if len(rows) == len(columns) == 1 else None


@dataclass(frozen=True)
class Constructor:
    """The class of a configuration and its fields."""

    name: str
    fields: frozenset[str]


def spaces(read: KernelSource) -> list[Space] | Skipped:
    """The search spaces of a kernel's searches, or why there is none that can be read."""
    given = [(found.space, found.call, found.function) for found in searches(read)] or _candidates(read)
    if not given:
        return Skipped(f"the file has no ct.tune.exhaustive_search of {read.name}")
    found = []
    for expression, call, function in given:
        made = _constructions(read, expression, call)
        names = {dotted(one.func) or "" for one in made}
        if len(names) != 1:
            line = read.line(expression)
            return Skipped(f"line {line}: the configurations are not made by one class of named fields")
        fields = _fields(read, made)
        found.append(Space(expression, function, names.pop(), fields, call))
    return found


def constructor(read: KernelSource, found: Sequence[Search]) -> Constructor | None:
    """The class that makes the configurations of these searches, with the fields that all of them have."""
    made = [call for search in found for call in _constructions(read, search.space, search.call)]
    names = {dotted(call.func) or "" for call in made}
    fields = {frozenset(a.keyword.value for a in call.args if a.keyword is not None) for call in made}
    return Constructor(names.pop(), fields.pop()) if len(names) == len(fields) == 1 else None


def _candidates(read: KernelSource) -> list[tuple[cst.BaseExpression, cst.Call, cst.FunctionDef]]:
    """Spaces that a record hands to the search together with the kernel: `Candidate(kernel=k, configs=...)`."""
    kernel = read.name
    found = []
    for call in nodes(read.module, cst.Call):
        named, space = keyword(call, "kernel"), keyword(call, "configs")
        function = read.around(call, cst.FunctionDef)
        if named is None or space is None or function is None or dotted(named.value) != kernel:
            continue
        tuners = [c for c in nodes(function, cst.Call) if (dotted(c.func) or "").endswith(SEARCH)]
        if len(tuners) == 1:
            found.append((space.value, tuners[0], function))
    return found


def _constructions(read: KernelSource, expression: cst.BaseExpression, use: cst.Call) -> list[cst.Call]:
    """The calls that make configurations, in the functions and constants that a space is made of."""
    functions, classes = module_functions(read), _classes(read)
    parts: list[cst.CSTNode] = [expression]
    parts += _assigned(read.around(use, cst.FunctionDef), expression)
    seen: set[str] = set()
    for part in parts:
        for name in sorted(names_in(part) - seen):
            found = functions[name].body if name in functions else _module_value(read, name)
            if found is not None:
                seen.add(name)
                parts.append(found)
    return [call for part in parts for call in nodes(part, cst.Call) if _constructs(call, classes)]


def _assigned(function: cst.FunctionDef | None, expression: cst.BaseExpression) -> list[cst.CSTNode]:
    """Every value that the local names in an expression are given, and the names in those."""
    parts: list[cst.CSTNode] = [expression]
    seen: set[str] = set()
    statements = list(nodes(function, cst.Assign)) if function is not None else []
    for part in parts:
        for name in sorted(names_in(part) - seen):
            seen.add(name)
            parts += [s.value for s in statements if name in {dotted(t.target) for t in s.targets}]
    return parts[1:]


def _constructs(call: cst.Call, classes: set[str]) -> bool:
    name = dotted(call.func) or ""
    named = bool(call.args) and all(a.keyword is not None for a in call.args)
    return named and (last_name(call.func) == "SimpleNamespace" or name in classes)


def _classes(read: KernelSource) -> set[str]:
    """The dataclasses of the module that keep their fields in a dictionary."""
    found = set()
    for statement in read.module.body:
        if isinstance(statement, cst.ClassDef):
            written = " ".join(read.text(d) for d in statement.decorators)
            if "dataclass" in written and "slots" not in written:
                found.add(statement.name.value)
    return found


def _module_value(read: KernelSource, name: str) -> cst.BaseExpression | None:
    found = [
        statement.value
        for line in read.module.body
        if isinstance(line, cst.SimpleStatementLine)
        for statement in line.body
        if isinstance(statement, cst.Assign) and [dotted(t.target) for t in statement.targets] == [name]
    ]
    return found[0] if len(found) == 1 else None


def _fields(read: KernelSource, made: list[cst.Call]) -> dict[str, frozenset[int] | None]:
    """The fields that every configuration has, with their values."""
    found: dict[str, frozenset[int] | None] = {}
    shared = set.intersection(*({a.keyword.value for a in call.args if a.keyword} for call in made))
    for call in made:
        for given in call.args:
            name = given.keyword.value if given.keyword is not None else ""
            if name in shared:
                values, known = _values(read, given.value), found.get(name, frozenset())
                found[name] = None if values is None or known is None else known | values
    return found


def _values(read: KernelSource, expression: cst.BaseExpression) -> frozenset[int] | None:
    """The integers that an expression in a configuration may be: a literal, or the variable of a loop over literals."""
    literal = integer(expression)
    if literal is not None:
        return frozenset({literal})
    function = read.around(expression, cst.FunctionDef)
    if not isinstance(expression, cst.Name):
        return None
    over: cst.BaseExpression | None = None
    if function is not None:
        bindings = Bindings(function, read)
        bound = bindings.reaching(expression.value, expression)
        if bound is not None and bound.value is not None:
            return _values(read, bound.value) if integer(bound.value) is not None else None
        over = bound.loop.iter if bound is not None and bound.loop is not None else None
        if isinstance(over, cst.Name):
            outer = bindings.reaching(over.value, over)
            over = outer.value if outer is not None else None
    if isinstance(over, cst.List | cst.Tuple):
        values = [integer(element.value) for element in over.elements]
        return None if None in values else frozenset(value for value in values if value is not None)
    return None
