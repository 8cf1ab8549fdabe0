"""What the names in a file stand for: functions of cuda.tile under any import, constants, functions of the file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst
from libcst.helpers import get_full_name_for_node

TILE_PACKAGE = "cuda.tile"
ScopedNode = tuple[cst.CSTNode, str]
_SPACE = (cst.BaseParenthesizableWhitespace, cst.TrailingWhitespace, cst.EmptyLine, cst.Comma, cst.Comment)
# What `from cuda.tile import *` brings in (`__all__` of cuda-tile 1.7); `tune` and `compilation` are not part of it.
_EXPORTED = """
launch ByTarget MemoryOrder MemoryScope PaddingMode RoundingMode DType bfloat16 bool_ float4_e2m1fn
float8_e4m3fn float8_e5m2 float8_e8m0fnu float8_e5m3fnu float16 float32 float64 foreign_pointer_dtype
int8 int16 int32 int64 tfloat32 uint8 uint16 uint32 uint64 Array ArrayAnnotation Constant
ConstantAnnotation IndexedWithInt64 ListAnnotation Scalar ScalarInt64 Slice Tile TiledView abs add
arange argmax argmin assert_ assume_divisible_by astile astype atan2 atomic_add atomic_and atomic_cas
atomic_max atomic_min atomic_or atomic_xchg atomic_xor bitwise_and bitwise_lshift bitwise_not bitwise_or
bitwise_rshift bitwise_xor bid bitcast broadcast_to cat cdiv ceil cos cosh cumprod cumsum divmod
ensure_constant equal exp exp2 expand_dims extract floor floordiv full gather greater greater_equal
insert less less_equal load load_advanced_indexing log log2 matmul max maximum min minimum mma
mma_scaled mod mul negative isnan not_equal num_blocks num_tiles ones pack_to_bytes permute pow printf
print prod reduce reshape rsqrt scan scatter sin sinh sqrt static_assert static_eval static_exception
static_iter store store_advanced_indexing sub sum tan tanh transpose truediv unpack_from_bytes where
zeros grid_dependency_control_wait grid_dependency_control_launch_dependents compiler_timeout function
kernel
"""


@dataclass(frozen=True)
class Names:
    """`imports` maps a name to the dotted name behind it (".gelu.tanh" for a relative import).

    `functions` maps names of the file, "Class.method" for methods, to definitions; `values` those assigned exactly once
    at the top of the file to the expression.
    """

    imports: Mapping[str, str]
    functions: Mapping[str, cst.FunctionDef]
    constants: frozenset[str]
    values: Mapping[str, cst.BaseExpression] = field(default_factory=dict)

    def tile_name(self, expression: cst.CSTNode) -> str | None:
        """The last part of the dotted name if it belongs to cuda.tile or its experimental package, else None."""
        return _tile_name(expression, self.imports)

    def origin(self, expression: cst.CSTNode) -> tuple[str, str] | None:
        """(module, name) of something imported, None for what the file defines itself."""
        dotted = _dotted(expression, self.imports)
        if dotted is None:
            return None
        module, _, name = dotted.rpartition(".")
        return (module if module.strip(".") else module + ".", name) if name else None

    def is_constant(self, annotation: cst.BaseExpression) -> bool:
        """Whether the annotation of a parameter makes it a compile-time constant."""
        return _is_constant(annotation, self.imports, self.constants)

    def called(self, call: cst.Call) -> cst.FunctionDef | None:
        """The function of this file that the call runs, None for any other."""
        name = get_full_name_for_node(call.func) if isinstance(call.func, cst.Name | cst.Attribute) else None
        return self.functions.get(name) if name is not None else None


def read_names(module: cst.Module, nodes: Sequence[ScopedNode]) -> Names:
    """Collect imports, functions and constant aliases wherever they stand in the module; `nodes` are all of it."""
    imports: dict[str, str] = {}
    functions: dict[str, cst.FunctionDef] = {}
    methods: set[cst.CSTNode] = set()
    aliases: list[tuple[str, cst.BaseExpression]] = []
    for node, _ in nodes:
        match node:
            case cst.Import() | cst.ImportFrom():
                imports.update(_imported(node))
            case cst.ClassDef():
                methods.update(node.body.body)
                functions |= {
                    f"{node.name.value}.{method.name.value}": method
                    for method in node.body.body
                    if isinstance(method, cst.FunctionDef)
                }
            case cst.FunctionDef() if node not in methods:
                functions[node.name.value] = node
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
                aliases.append((name, node.value))
    for node in module.body:
        if isinstance(node, cst.FunctionDef):  # shadows what a star import brought
            imports.pop(node.name.value, None)
    constants: frozenset[str] = frozenset()
    for name, value in aliases:
        if _is_constant(value, imports, constants):
            constants |= {name}
    return Names(imports, functions, constants, _values(module))


def scoped_nodes(module: cst.Module) -> list[ScopedNode]:
    """Every node of the module but white space, in the order of the text, with the functions and classes around it."""
    found: list[ScopedNode] = []
    waiting: list[ScopedNode] = [(module, "")]
    while waiting:
        node, scope = waiting.pop()
        found.append((node, scope))
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            scope = f"{scope}.{node.name.value}" if scope else node.name.value
        waiting.extend((child, scope) for child in reversed(node.children) if not isinstance(child, _SPACE))
    return found


def nodes_under(root: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Every node below `root` in the order of the text, without recursion."""
    waiting = list(reversed(root.children))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def parameters(function: cst.FunctionDef) -> list[cst.Param]:
    """The named parameters in order, keyword-only ones last."""
    params = function.params
    return [*params.posonly_params, *params.params, *params.kwonly_params]


def range_arguments(loop: cst.For) -> list[cst.BaseExpression] | None:
    """The arguments of the `range` that the loop goes over, None for any other loop."""
    match loop.iter:
        case cst.Call(func=cst.Name(value="range"), args=args) if not any(arg.star for arg in args):
            return [arg.value for arg in args]
    return None


def tested_names(loop: cst.While) -> list[str]:
    return [node.value for node in (loop.test, *nodes_under(loop.test)) if isinstance(node, cst.Name)]


def argument(call: cst.Call, position: int, keyword: str) -> cst.BaseExpression | None:
    """The argument given by position or, failing that, by keyword; None behind an unpacked sequence."""
    positional = [arg for arg in call.args if arg.keyword is None and arg.star != "**"]
    if position < len(positional) and not any(arg.star for arg in positional[: position + 1]):
        return positional[position].value
    return next((a.value for a in call.args if a.keyword is not None and a.keyword.value == keyword), None)


def _values(module: cst.Module) -> dict[str, cst.BaseExpression]:
    assigned: dict[str, list[cst.BaseExpression]] = {}
    for line in module.body:
        for node in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(node, cst.Assign) and isinstance(node.targets[0].target, cst.Name):
                assigned.setdefault(node.targets[0].target.value, []).append(node.value)
            elif isinstance(node, cst.AnnAssign) and isinstance(node.target, cst.Name) and node.value:
                assigned.setdefault(node.target.value, []).append(node.value)
    return {name: values[0] for name, values in assigned.items() if len(values) == 1}


def _imported(node: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str]]:
    if isinstance(node, cst.Import):
        for alias in node.names:
            bound = alias.evaluated_alias
            top = alias.evaluated_name.split(".", maxsplit=1)[0]
            yield (bound, alias.evaluated_name) if bound else (top, top)
        return
    package = "." * len(node.relative) + ((node.module and get_full_name_for_node(node.module)) or "")
    if isinstance(node.names, cst.ImportStar):
        if package == TILE_PACKAGE:
            yield from ((name, f"{TILE_PACKAGE}.{name}") for name in _EXPORTED.split())
        return
    separator = "" if package.endswith(".") else "."
    for alias in node.names:
        yield (alias.evaluated_alias or alias.evaluated_name, f"{package}{separator}{alias.evaluated_name}")


def _dotted(expression: cst.CSTNode, imports: Mapping[str, str]) -> str | None:
    parts = []
    while isinstance(expression, cst.Attribute):
        parts.append(expression.attr.value)
        expression = expression.value
    if not isinstance(expression, cst.Name) or expression.value not in imports:
        return None
    return ".".join([imports[expression.value], *reversed(parts)])


def _tile_name(expression: cst.CSTNode, imports: Mapping[str, str]) -> str | None:
    package, _, name = (_dotted(expression, imports) or "").rpartition(".")
    return name if package.startswith(TILE_PACKAGE) else None


def _is_constant(annotation: cst.BaseExpression, imports: Mapping[str, str], constants: frozenset[str]) -> bool:
    match annotation:
        case cst.SimpleString():
            return _is_constant_text(annotation, imports, constants)
        case cst.Subscript():
            marks = [element.slice.value for element in annotation.slice if isinstance(element.slice, cst.Index)]
            return any(_is_constant(part, imports, constants) for part in (annotation.value, *marks))
        case cst.Call():
            return _tile_name(annotation.func, imports) == "ConstantAnnotation"
        case cst.Name(value=name) if name in constants:
            return True
    return _tile_name(annotation, imports) == "Constant"


def _is_constant_text(annotation: cst.SimpleString, imports: Mapping[str, str], constants: frozenset[str]) -> bool:
    """The same for an annotation written as a string."""
    text = annotation.evaluated_value
    try:
        parsed = cst.parse_expression(text if isinstance(text, str) else "")
    except cst.ParserSyntaxError:
        return False
    return not isinstance(parsed, cst.SimpleString) and _is_constant(parsed, imports, constants)
