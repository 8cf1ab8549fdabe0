"""The names that a statement binds."""

from collections.abc import Iterable

import libcst as cst

from kdiag.executors.edits.syntax.kernel_source import nodes


def names_bound(statement: cst.CSTNode) -> Iterable[str]:
    """The names that a statement or anything in it binds; what its nested functions bind is counted as well."""
    for node in [statement, *_below(statement)]:
        targets: list[cst.BaseExpression] = []
        match node:
            case cst.Assign():
                targets = [target.target for target in node.targets]
            case cst.AnnAssign() | cst.AugAssign() | cst.NamedExpr() | cst.For():
                targets = [node.target]
            case cst.FunctionDef() | cst.ClassDef():
                targets = [node.name]
            case cst.AsName(name=cst.BaseExpression() as name):
                targets = [name]
        for target in targets:
            yield from (name.value for name in nodes(target, cst.Name))


def _below(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    for child in node.children:
        yield child
        yield from _below(child)
