"""A search becomes the configuration that it found: a constant that is used wherever the search would have had it.

A card or a shape whose search space does not hold the configuration goes on searching, so nothing is launched that the
search could not have chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from kdiag.records import ArrayArgument, Launch, Scalar

from ..base import Applied, Outcome, Skipped, Subject
from ..syntax.bindings import name_nodes
from ..syntax.kernel_source import KernelSource, dotted, holds, nodes, positional, read_kernel
from ..syntax.kernel_view import assignment
from .search import Search, local_value, searches, top_statement
from .search_configurations import constructor
from .search_template import insert, missing

Configuration = Mapping[str, Scalar]
ByShape = Mapping[tuple[tuple[int, ...], ...], Configuration]
NO_CONFIGURATION = "no captured launch says which configuration a search found, and the variant names none"


@dataclass(frozen=True, eq=False)
class _Place:
    """The statements of one search: the search itself, and the one that takes its best configuration."""

    search: Search
    statement: cst.With | cst.SimpleStatementLine
    taking: cst.SimpleStatementLine
    name: str


def freeze(subject: Subject, settings: Configuration) -> Outcome:
    """Use the configuration of the settings, else those of the captured launches, in the place of the search."""
    read = read_kernel(subject.source, subject.kernel)
    if isinstance(read, Skipped):
        return read
    found = searches(read)
    if not found:
        return Skipped(f"the file has no ct.tune.exhaustive_search of {subject.kernel}")
    by_shape = _given(settings) if settings else _configurations(subject.launches)
    if isinstance(by_shape, Skipped):
        return by_shape
    made = _maker(read, found, by_shape)
    if isinstance(made, Skipped):
        return made
    constant = f"_{subject.kernel.strip('_').upper()}_FROZEN"
    arrays = _arrays(subject.launches) if () not in by_shape else frozenset[str]()
    changes = missing(read, (constant,)) or _changes(read, found, constant, arrays)
    if isinstance(changes, Skipped):
        return changes
    first = min((place.call for place in found), key=read.line)
    text = _text(subject, constant, made, by_shape)
    source = insert(read.module, top_statement(read, first), text, changes)
    warning = f"the configuration is the one for {subject.target}; a card without it in its space searches as before"
    return Applied(source, read.place(first), warnings=(warning,))


def frozen_settings(launches: Sequence[Launch]) -> Configuration:
    """The one configuration of all captured searches; empty where there is none or several."""
    found = _configurations(launches)
    return next(iter(found.values())) if not isinstance(found, Skipped) and len(found) == 1 else {}


def _given(settings: Configuration) -> ByShape:
    return {(): settings}


def _configurations(launches: Sequence[Launch]) -> ByShape | Skipped:
    """The chosen configurations by the shapes of the arrays, or one by () where it is the same for all."""
    tuned = [(launch, launch.tuning) for launch in launches if launch.tuning is not None]
    chosen = {_shapes(launch): tuning.configurations[tuning.chosen] for launch, tuning in tuned}
    if not chosen:
        return Skipped(NO_CONFIGURATION)
    for launch, tuning in tuned:
        if chosen[_shapes(launch)] != tuning.configurations[tuning.chosen]:
            return Skipped("launches with the same shapes have different configurations")
    first = next(iter(chosen.values()))
    return {(): first} if all(config == first for config in chosen.values()) else dict(chosen)


def _shapes(launch: Launch) -> tuple[tuple[int, ...], ...]:
    return tuple(argument.shape for argument in launch.arguments if isinstance(argument, ArrayArgument))


def _arrays(launches: Sequence[Launch]) -> frozenset[str]:
    arguments = [argument for launch in launches for argument in launch.arguments]
    return frozenset(argument.name for argument in arguments if isinstance(argument, ArrayArgument))


def _changes(
    read: KernelSource, found: Sequence[Search], constant: str, arrays: frozenset[str]
) -> dict[cst.CSTNode, cst.CSTNode | None] | Skipped:
    """Every search behind its guard. Without `arrays` there is one configuration, else one for each of their shapes."""
    changes: dict[cst.CSTNode, cst.CSTNode | None] = {}
    for search in found:
        place = _place(read, search)
        key = _key(read, search, arrays) if arrays else ""
        if isinstance(place, Skipped):
            return place
        if isinstance(key, Skipped):
            return key
        changes[place.statement] = _guarded(read, place, constant, key)
        changes[place.taking] = None
    return changes


def _place(read: KernelSource, search: Search) -> _Place | Skipped:
    """The two statements, provided that nothing else looks at the search's result and the space can be asked twice."""
    line = read.line(search.call)
    assigned = read.parents[search.call]
    if not isinstance(assigned, cst.Assign) or len(assigned.targets) != 1:
        return Skipped(f"line {line}: the result of the search is not assigned to a name")
    statement = read.parents[assigned]
    block = read.parents[statement]
    around = read.parents.get(block)
    if isinstance(around, cst.With) and len(getattr(block, "body", ())) == 1:
        statement, block = around, read.parents[around]
    result = dotted(assigned.targets[0].target)
    siblings = list(getattr(block, "body", ()))
    after = siblings[siblings.index(statement) + 1 :] if statement in siblings else []
    taking = after[0] if after else statement
    uses = [use for use in name_nodes(search.function) if use.value == result]
    bound = [use for use in uses if isinstance(read.parents[use], cst.AssignTarget)]
    name, value = assignment(taking) or ("", None)
    taken = dotted(value) == f"{result}.best.config" and len(uses) == 2 * len(bound)
    if not taken or not isinstance(taking, cst.SimpleStatementLine):
        return Skipped(f"line {line}: the best configuration is not taken in the statement after the search")
    if not _repeatable(read, search.space, search.call):
        return Skipped(f"line {line}: the search space cannot be asked twice")
    assert isinstance(statement, cst.With | cst.SimpleStatementLine)  # an assignment stands in one
    return _Place(search, statement, taking, name)


def _repeatable(read: KernelSource, space: cst.BaseExpression, use: cst.Call) -> bool:
    """Whether the space is a sequence with a name, or a list of what functions give anew at every call."""
    if isinstance(space, cst.Name | cst.Tuple | cst.List):
        return True
    if not isinstance(space, cst.Call):
        return False
    for value in positional(space):
        plain = isinstance(value, cst.Name) and local_value(read, value, use) is value
        sequence = dotted(space.func) in ("list", "tuple") and isinstance(value, cst.Name) and not plain
        if sequence or holds(value, cst.NamedExpr, cst.Await):
            return False
    return True


def _key(read: KernelSource, search: Search, arrays: frozenset[str]) -> str | Skipped:
    """The shapes of the arrays as the wrapper names them, in the order of the kernel's parameters."""
    passed = search.args_fn.body if isinstance(search.args_fn, cst.Lambda) else _returned(search)
    if not isinstance(passed, cst.Tuple):
        return Skipped("the configurations differ by shape, and the arguments of the search are no plain tuple")
    names = read.parameters
    shapes = []
    for name, element in zip(names, passed.elements, strict=False):
        if name in arrays and not isinstance(element.value, cst.Name):
            line = read.line(element)
            return Skipped(f"line {line}: the configurations differ by shape, and {name} has no name here")
        if name in arrays:
            shapes.append(f"tuple({read.text(element.value)}.shape)")
    return f"({', '.join(shapes)},)"


def _returned(search: Search) -> cst.BaseExpression | None:
    inner = [f for f in nodes(search.function.body, cst.FunctionDef) if f.name.value == dotted(search.args_fn)]
    returns = [r.value for f in inner for r in nodes(f, cst.Return)]
    return returns[0] if len(returns) == 1 else None


def _guarded(read: KernelSource, place: _Place, constant: str, key: str) -> cst.If:
    """`if` the constant is in the space it is taken, `else` the search runs as before."""
    space = read.text(place.search.space)
    value = f"{constant}.get({key})" if key else constant
    taken = cst.parse_statement(f"{place.name} = {value}\n")
    statement = place.statement.with_changes(leading_lines=[])
    return cst.If(
        cst.parse_expression(f"{value} in {space}"),
        cst.IndentedBlock([taken]),
        orelse=cst.Else(cst.IndentedBlock([statement, place.taking])),
        leading_lines=place.statement.leading_lines,
    )


def _maker(read: KernelSource, found: Sequence[Search], by_shape: ByShape) -> str | Skipped:
    """What makes a configuration: the name of a class, or "" for a tuple."""
    fields = {name for config in by_shape.values() for name in config}
    if fields and all(name.isdecimal() for name in fields):
        return ""
    made = constructor(read, found)
    if made is None:
        return Skipped("the file does not show what a configuration is made of")
    unknown = fields ^ set(made.fields)
    if unknown:
        return Skipped(f"the configurations of the file and the one to freeze differ in {min(unknown)}")
    return made.name


def _text(subject: Subject, constant: str, maker: str, by_shape: ByShape) -> str:
    heading = f"# What the search for {subject.kernel} found on {subject.target}"
    if list(by_shape) == [()]:
        return f"{heading}.\n{constant} = {_made(maker, by_shape[()])}\n"
    rows = "".join(f"    {shapes!r}: {_made(maker, config)},\n" for shapes, config in by_shape.items())
    return f"{heading}, by the shapes of the arrays.\n{constant} = {{\n{rows}}}\n"


def _made(maker: str, config: Configuration) -> str:
    if maker:
        fields = ", ".join(f"{name}={_literal(value)}" for name, value in config.items())
        return f"{maker}({fields})"
    return f"({', '.join(map(_literal, config.values()))},)"


def _literal(value: Scalar) -> str:
    return f'"{value}"' if isinstance(value, str) and '"' not in value else repr(value)
