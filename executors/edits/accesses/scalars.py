"""Which expressions of a kernel are certainly scalars, and which of these are known when it is compiled."""

import libcst as cst

from ..syntax.kernel_source import argument, dotted, entries, method, nodes
from ..syntax.kernel_view import KernelView

SCALARS = ("bid", "num_blocks", "num_tiles")
OF_SCALARS = ("cdiv", "min", "max", "minimum", "maximum", "add", "sub", "mul", "floordiv", "mod")


def is_compile_time(kernel: KernelView, size: cst.BaseExpression) -> bool:
    """Whether a size is a number above 0, or a name with one value in the whole kernel."""
    if isinstance(size, cst.Name):
        return kernel.bindings.is_global(size.value) or kernel.bindings.is_bound_once(size.value)
    return isinstance(size, cst.Integer) and size.evaluated_value > 0


def is_scalar(kernel: KernelView, expression: cst.BaseExpression, place: cst.CSTNode) -> bool:
    """Whether an expression is one number: a parameter, a block number, a loop counter, an extent, or made of those.

    An array takes no part in arithmetic, so a parameter in an index is a scalar.
    """
    match expression:
        case cst.Integer() | cst.Subscript(value=cst.Attribute(attr=cst.Name(value="shape" | "strides"))):
            return True
        case cst.Name(value=name):
            return _is_scalar_name(kernel, name, place)
        case cst.Call():
            return _is_scalar_call(kernel, expression, place)
    parts: list[cst.BaseExpression] = []
    match expression:
        case cst.BinaryOperation(left=left, right=right):
            parts = [left, right]
        case cst.UnaryOperation(expression=inner):
            parts = [inner]
        case cst.IfExp(body=body, orelse=other):
            parts = [body, other]
    return bool(parts) and all(is_scalar(kernel, part, place) for part in parts)


def is_parameter(kernel: KernelView, name: str, place: cst.CSTNode) -> bool:
    """Whether a name stands for what the kernel was launched with."""
    binding = kernel.bindings.reaching(name, place)
    return binding is not None and isinstance(binding.node, cst.Param)


def reads_memory(kernel: KernelView, expression: cst.BaseExpression, place: cst.CSTNode) -> bool:
    """Whether a scalar is an array's element, or such a one under a name."""
    written, _ = kernel.resolve(expression, place)
    calls = list(nodes(written, cst.Call))
    return any(kernel.is_call(call, "gather", "load") for call in calls) or any(map(_is_item, calls))


def _is_scalar_name(kernel: KernelView, name: str, place: cst.CSTNode) -> bool:
    if kernel.bindings.is_global(name):
        return True
    binding = kernel.bindings.reaching(name, place)
    if binding is None:
        return False
    if isinstance(binding.node, cst.Param):
        return True
    if binding.loop is not None:
        source = binding.loop.iter
        return isinstance(source, cst.Call) and dotted(source.func) == "range"
    return binding.value is not None and is_scalar(kernel, binding.value, binding.node)


def _is_scalar_call(kernel: KernelView, call: cst.Call, place: cst.CSTNode) -> bool:
    member = kernel.source.names.resolve(call.func)
    if member in SCALARS:
        return True
    if member == "gather":
        indices = argument(call, 1, "indices")
        return indices is not None and all(is_scalar(kernel, part, place) for part in entries(indices))
    if member == "load":
        shape = argument(call, 2, "shape")
        return isinstance(shape, cst.Tuple) and not shape.elements
    if _is_item(call):
        return True
    if member in OF_SCALARS or dotted(call.func) in ("min", "max"):
        return all(is_scalar(kernel, each.value, place) for each in call.args)
    return False


def _is_item(call: cst.Call) -> bool:
    return method(call) == "item" and not call.args
