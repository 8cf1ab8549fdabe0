"""Which tile sizes of a kernel with a matrix product are its M, N and K, read from the operands' loads."""

from dataclasses import dataclass

import libcst as cst

from ..syntax.bindings import Bindings
from ..syntax.kernel_source import KernelSource, argument, dotted, method, nodes

Shape = tuple[str | None, str | None]


@dataclass(frozen=True)
class Roles:
    """The kernel's parameters that size the product m x k times k x n; None where no parameter does."""

    m: str | None = None
    n: str | None = None
    k: str | None = None


def roles(read: KernelSource, parameters: list[str]) -> Roles:
    """The roles by the shapes of the operands, or else by the order of the parameters."""
    trace = _Trace(read)
    for left, right in _products(read):
        a, b = trace.shape(left), trace.shape(right)
        if a is None or b is None:
            continue
        for m, k in (a, a[::-1]):
            for again, n in (b, b[::-1]):
                if k is not None and k == again:
                    return Roles(*(name if name in parameters else None for name in (m, n, k)))
    return Roles(*(parameters + [None] * 3)[:3]) if len(parameters) > 1 else Roles()


def _products(read: KernelSource) -> list[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """The two operands of every matrix product."""
    found = []
    for call in read.calls("mma", "mma_scaled", "matmul"):
        left, right = argument(call, 0, "x"), argument(call, 1, "y")
        if left is not None and right is not None:
            found.append((left, right))
    operators = nodes(read.function, cst.BinaryOperation)
    return found + [(o.left, o.right) for o in operators if isinstance(o.operator, cst.MatrixMultiply)]


class _Trace:
    """Follows an operand back to the load that made it."""

    def __init__(self, read: KernelSource) -> None:
        self._read = read
        self._bindings = Bindings(read.function, read)

    def shape(self, expression: cst.BaseExpression, steps: int = 0) -> Shape | None:
        """The names that size the last two dimensions of a tile."""
        if steps > 8:
            return None
        if isinstance(expression, cst.Name):
            binding = self._bindings.reaching(expression.value, expression)
            return self.shape(binding.value, steps + 1) if binding is not None and binding.value else None
        if isinstance(expression, cst.IfExp):
            return self.shape(expression.body, steps + 1)
        return self._of_call(expression, steps) if isinstance(expression, cst.Call) else None

    def _of_call(self, call: cst.Call, steps: int) -> Shape | None:
        """The shape that a call gives its tile."""
        member = self._read.names.resolve(call.func)
        if member in ("load", "reshape"):
            return _last_two(argument(call, 2 if member == "load" else 1, "shape"))
        if member in ("astype", "transpose", "permute") and call.args:
            inner = self.shape(call.args[0].value, steps + 1)
            return inner if inner is None or member == "astype" else inner[::-1]
        if isinstance(call.func, cst.Attribute) and method(call) == "astype":
            return self.shape(call.func.value, steps + 1)
        return None


def _last_two(shape: cst.BaseExpression | None) -> Shape | None:
    if not isinstance(shape, cst.Tuple | cst.List) or len(shape.elements) < 2:
        return None
    first, second = (dotted(element.value) for element in shape.elements[-2:])
    return first, second
