"""One kernel seen through its assignments: what an expression stands for, and calls rewritten in place."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import cast

import libcst as cst

from kdiag.records import Place

from ..base import Skipped
from .bindings import Bindings, name_nodes, names_in
from .kernel_source import KernelSource, dotted, integer, keyword, nodes, read_kernel
from .rewriting import Change, rewrite
from .walking import text

Rewrite = Callable[[cst.Call], cst.BaseExpression]


def _targets(node: cst.Assign | cst.AugAssign | cst.AnnAssign) -> list[str | None]:
    """The names that an assignment binds directly."""
    return [dotted(t.target) for t in node.targets] if isinstance(node, cst.Assign) else [dotted(node.target)]


class KernelView:
    """A parsed kernel together with its bindings; `tile` is the name under which the file imports cuda.tile."""

    def __init__(self, source: KernelSource) -> None:
        self.source = source
        self.bindings = Bindings(source.function, source)
        self.tile = min(source.names.modules, default="")

    def is_call(self, node: cst.CSTNode, *members: str) -> bool:
        """Whether the node is a call of one of these members of cuda.tile."""
        return isinstance(node, cst.Call) and self.source.names.resolve(node.func) in members

    def resolve(self, expression: cst.BaseExpression, place: cst.CSTNode) -> tuple[cst.BaseExpression, cst.CSTNode]:
        """What a name stands for at a place, followed through plain assignments, and the place where that stands."""
        while isinstance(expression, cst.Name):
            binding = self.bindings.reaching(expression.value, place)
            if binding is None or binding.value is None:
                break
            expression, place = binding.value, binding.node
        return expression, place

    def constant(self, expression: cst.BaseExpression, place: cst.CSTNode) -> cst.BaseExpression:
        """What an expression stands for, looked up among the file's own constants as well."""
        written, _ = self.resolve(expression, place)
        if not (isinstance(written, cst.Name) and self.bindings.is_global(written.value)):
            return written
        module = self.source.module
        bound: list[cst.Assign | cst.AugAssign | cst.AnnAssign] = [
            *nodes(module, cst.Assign),
            *nodes(module, cst.AugAssign),
            *nodes(module, cst.AnnAssign),
        ]
        bound = [node for node in bound if written.value in _targets(node)]
        imported = any(
            written.value in (alias.evaluated_alias, alias.evaluated_name) for alias in nodes(module, cst.ImportAlias)
        )
        only = bound[0] if len(bound) == 1 and not imported else None
        in_module = only is not None and isinstance(self.source.parents.get(self.source.parents[only]), cst.Module)
        return only.value if isinstance(only, cst.Assign) and in_module else written

    def range_loop(self, expression: cst.BaseExpression, place: cst.CSTNode) -> tuple[cst.BaseExpression, ...] | None:
        """The arguments of `range` when the expression is the variable of a `for ... in range(...)`."""
        written, place = self.resolve(expression, place)
        if not isinstance(written, cst.Name):
            return None
        binding = self.bindings.reaching(written.value, place)
        loop = binding.loop.iter if binding is not None and binding.loop is not None else None
        if not isinstance(loop, cst.Call) or dotted(loop.func) != "range" or not loop.args:
            return None
        return tuple(argument.value for argument in loop.args)

    def statement_place(self, node: cst.CSTNode) -> Place:
        """Where the statement around a node starts."""
        return self.source.place(self.source.statement(node))

    def rewritten(self, rewrites: Mapping[cst.CSTNode, Rewrite], names: set[str]) -> str:
        """The file's text with calls rewritten, inner ones first, without those of `names` that nothing reads now."""
        changed = rewrite(self.source.module, cast("Mapping[cst.CSTNode, Change]", rewrites))
        while names and (unread := self._unread(changed, names)) is not None:
            changed = cst.ensure_type(changed.deep_remove(unread), cst.Module)
        return text(changed) if names else changed.code

    def _unread(self, module: cst.Module, names: set[str]) -> cst.SimpleStatementLine | None:
        """An assignment in the kernel to one of the names, where nothing else has that name."""
        kernel = next(
            function for function in nodes(module, cst.FunctionDef) if function.name.value == self.source.name
        )
        used = Counter(node.value for node in name_nodes(kernel) if node.value in names)
        lines = [line for line in nodes(kernel, cst.SimpleStatementLine) if used.total()]
        return next(
            (line for name in sorted(used) if used[name] == 1 for line in lines if assigns_only(line, name)), None
        )


@lru_cache(maxsize=4)
def view_kernel(source: str, kernel: str) -> KernelView | Skipped:
    """Parse a file and look at one kernel in it, or say why it cannot be edited."""
    read = read_kernel(source, kernel)
    if isinstance(read, Skipped):
        return read
    view = KernelView(read)
    return view if view.tile else Skipped("the file does not import cuda.tile under a name of its own")


def code(expression: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(expression)


def keyword_text(call: cst.Call, name: str) -> str | None:
    """The source text of what a call passes by keyword."""
    given = keyword(call, name)
    return None if given is None else code(given.value)


def is_number(expression: cst.BaseExpression, value: int) -> bool:
    """Whether it is this integer, written as a literal."""
    return integer(expression) == value


def extent_of(expression: cst.CSTNode) -> tuple[cst.BaseExpression, int] | None:
    """The array and the axis of `array.shape[axis]`, the axis written as a number."""
    match expression:
        case cst.Subscript(
            value=cst.Attribute(value=array, attr=cst.Name(value="shape")),
            slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer(evaluated_value=axis)))],
        ):
            return array, axis
    return None


def assignment(line: cst.CSTNode) -> tuple[str, cst.BaseExpression] | None:
    """The name and the value of a line that is `name = value` and nothing else."""
    match line:
        case cst.SimpleStatementLine(
            body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value)]
        ):
            return name, value
    return None


def assigns_only(line: cst.SimpleStatementLine, name: str = "") -> bool:
    """Whether the line is `name = ...` and nothing else, comments included; of any name where none is given."""
    assigned = assignment(line)
    if assigned is None or line.trailing_whitespace.comment or any(empty.comment for empty in line.leading_lines):
        return False
    return not name or (assigned[0] == name and name not in names_in(assigned[1]))
