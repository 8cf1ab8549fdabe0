"""What the names in a file stand for: functions of cuda.tile under any import, constants, functions of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import libcst as cst
from libcst.helpers import get_full_name_for_node

TILE_PACKAGE = "cuda.tile"


@dataclass(frozen=True)
class Names:
    """`imports` maps a name of the file to the dotted name behind it, `functions` to its definition in the file."""

    imports: Mapping[str, str]
    functions: Mapping[str, cst.FunctionDef]
    constants: frozenset[str]

    def tile_name(self, expression: cst.CSTNode) -> str | None:
        """The last part of the dotted name if it belongs to cuda.tile or its experimental package, else None."""
        return _tile_name(expression, self.imports)

    def is_constant(self, annotation: cst.BaseExpression) -> bool:
        """Whether the annotation of a parameter makes it a compile-time constant."""
        return _is_constant(annotation, self.imports, self.constants)

    def called(self, call: cst.Call) -> cst.FunctionDef | None:
        """The function of this file that the call runs, None for any other."""
        return self.functions.get(call.func.value) if isinstance(call.func, cst.Name) else None


def read_names(module: cst.Module) -> Names:
    """Collect imports, plain functions and constant aliases wherever they stand in the module."""
    imports: dict[str, str] = {}
    functions: dict[str, cst.FunctionDef] = {}
    methods: set[cst.CSTNode] = set()
    aliases: list[tuple[str, cst.BaseExpression]] = []
    for node in nodes_under(module):
        match node:
            case cst.Import() | cst.ImportFrom():
                imports.update(_imported(node))
            case cst.ClassDef():
                methods.update(node.body.body)
            case cst.FunctionDef() if node not in methods:
                functions[node.name.value] = node
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
                aliases.append((name, node.value))
    constants: frozenset[str] = frozenset()
    for name, value in aliases:
        if _is_constant(value, imports, constants):
            constants |= {name}
    return Names(imports, functions, constants)


def nodes_under(root: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Every node below `root` in the order of the text, without recursion."""
    waiting = list(reversed(root.children))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def nodes_of(function: cst.FunctionDef) -> Iterator[cst.CSTNode]:
    """The nodes that run when the function runs: its body without the functions and classes defined in it."""
    waiting: list[cst.CSTNode] = [function.body]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, cst.FunctionDef | cst.ClassDef):
            yield node
            waiting.extend(reversed(node.children))


def parameters(function: cst.FunctionDef) -> list[cst.Param]:
    """The named parameters in order, keyword-only ones last."""
    params = function.params
    return [*params.posonly_params, *params.params, *params.kwonly_params]


def _imported(node: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str]]:
    if isinstance(node, cst.Import):
        for alias in node.names:
            bound = alias.evaluated_alias
            top = alias.evaluated_name.split(".", maxsplit=1)[0]
            yield (bound, alias.evaluated_name) if bound else (top, top)
    elif not node.relative and node.module is not None and not isinstance(node.names, cst.ImportStar):
        package = get_full_name_for_node(node.module)
        for alias in node.names:
            yield alias.evaluated_alias or alias.evaluated_name, f"{package}.{alias.evaluated_name}"


def _tile_name(expression: cst.CSTNode, imports: Mapping[str, str]) -> str | None:
    parts = []
    while isinstance(expression, cst.Attribute):
        parts.append(expression.attr.value)
        expression = expression.value
    if not isinstance(expression, cst.Name) or expression.value not in imports:
        return None
    dotted = ".".join([imports[expression.value], *reversed(parts)])
    package, _, name = dotted.rpartition(".")
    return name if package.startswith(TILE_PACKAGE) else None


def _is_constant(
    annotation: cst.BaseExpression, imports: Mapping[str, str], constants: frozenset[str]
) -> bool:
    match annotation:
        case cst.Subscript():
            marks = [
                element.slice.value for element in annotation.slice if isinstance(element.slice, cst.Index)
            ]
            return any(_is_constant(part, imports, constants) for part in (annotation.value, *marks))
        case cst.Call():
            return _tile_name(annotation.func, imports) == "ConstantAnnotation"
        case cst.Name(value=name) if name in constants:
            return True
    return _tile_name(annotation, imports) == "Constant"
