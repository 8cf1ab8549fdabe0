"""What a host expression at a launch is called inside the kernel: a parameter, an array's extent, or arithmetic on them.

The extents of an array that is passed are the kernel's `parameter.shape`, and a number that is passed is a parameter, so
most grids can be computed again in the kernel. Both sides are written in one canonical form, which also tells whether a
kernel and its launch count the same tiles.
"""

from collections.abc import Sequence

import libcst as cst

from ..syntax.bindings import Binding
from ..syntax.kernel_source import KernelSource, dotted, integer, method, nodes, positional
from ..syntax.kernel_view import code
from ..syntax.operands import operand
from .grid import Site
from .host_arithmetic import SIGNS, rounded_up
from .wrapper import Value, Wrapper

KEEP_SHAPE = ("contiguous", "detach", "clone", "to", "cuda", "float", "half", "bfloat16", "requires_grad_")
LIKE = tuple(f"torch.{name}_like" for name in ("empty", "zeros", "ones", "full", "rand", "randn"))
MAKE = ("torch.empty", "torch.zeros", "torch.ones")
FLATTEN = ("view", "reshape", "flatten")
CHANGE_SHAPE = ("resize_", "t_", "transpose_", "unsqueeze_", "squeeze_", "swapaxes_", "set_", "swapdims_")
MOST_STEPS = 12


class HostValues:
    """The host values at one launch, by the names that they have in the kernel. `tile` is how the file says cuda.tile."""

    def __init__(self, read: KernelSource, site: Site, tile: str, arrays: Sequence[str]) -> None:
        self._read = read
        self._wrapper: Wrapper = site.wrapper
        self._tile = tile
        names = read.parameters
        self._passed: list[tuple[str, Value]] = [
            (name, (value, site.arguments)) for name, value in zip(names, site.passed, strict=False)
        ]
        self._arrays = frozenset(arrays)
        self._reshaped = any(method(call) in CHANGE_SHAPE for call in nodes(self._wrapper.function, cst.Call))

    def in_kernel(self, expression: cst.BaseExpression, place: cst.CSTNode, steps: int = 0) -> str | None:
        """The expression in the kernel's words; None where the kernel cannot compute it from what it is given."""
        if steps > MOST_STEPS:
            return None
        if isinstance(expression, cst.Integer):
            return str(expression.evaluated_value)
        for written, where in self._wrapper.steps(expression, place):
            found = self._extent(written, where) or self._number(written, where)
            if found is not None:
                return found
        for written, where in self._wrapper.steps(expression, place):
            found = self._made(written, where)
            if found is not None:
                return found
        expression, place = self._wrapper.resolve(expression, place)
        return self._computed(expression, place, steps + 1)

    def _number(self, expression: cst.BaseExpression, place: cst.CSTNode) -> str | None:
        """The parameter that gets exactly this value; also one whose argument is a name for it."""
        if isinstance(expression, cst.Integer):
            return str(expression.evaluated_value)
        if not isinstance(expression, cst.Name | cst.Attribute):
            return None
        for name, passed in self._passed:
            if name not in self._arrays:
                for step in self._wrapper.steps(*passed):
                    if self._wrapper.same(step, (expression, place)):
                        return name
        return None

    @property
    def parameters(self) -> list[str]:
        """The kernel's parameters that are passed something."""
        return [name for name, _ in self._passed]

    def argument_of(self, name: str) -> Value | None:
        """What is passed for a parameter that is a number."""
        return next((value for known, value in self._passed if known == name and name not in self._arrays), None)

    def made_size(self, name: str, axis: int) -> Value | None:
        """The size along an axis that an array was made with: in `torch.empty((rows, columns))`."""
        sizes = next((self._sizes(value) for known, value in self._passed if known == name), [])
        return sizes[axis] if axis < len(sizes) else None

    def twin(self, name: str) -> str:
        """The first parameter that certainly has the shape of this one."""
        passed = dict(self._passed)
        shape = self._shape_of(*passed[name]) if name in passed and not self._reshaped else None
        alike = [n for n, v in self._passed if n in self._arrays and self._shape_of(*v) is shape]
        return name if shape is None or not alike else alike[0]

    def _made(self, expression: cst.BaseExpression, place: cst.CSTNode) -> str | None:
        """The extent of a parameter whose argument was made with this size."""
        for name, passed in self._passed:
            for axis, (size, where) in enumerate(self._sizes(passed) if name in self._arrays else ()):
                if isinstance(size, cst.Name) and self._wrapper.same((size, where), (expression, place)):
                    return f"{name}.shape[{axis}]"
        return None

    def _sizes(self, passed: Value) -> list[Value]:
        """The sizes with which a tensor was made in this function."""
        value, where = self._wrapper.resolve(*passed)
        if self._reshaped or not isinstance(value, cst.Call) or dotted(value.func) not in MAKE:
            return []
        sizes = positional(value)
        if sizes and isinstance(sizes[0], cst.Tuple | cst.List):
            sizes = [element.value for element in sizes[0].elements]
        return [(size, where) for size in sizes]

    def _extent(self, expression: cst.BaseExpression, place: cst.CSTNode) -> str | None:
        """`x.shape[0]`, `x.size(0)`, a name unpacked from `x.shape`, or `x.numel()` of an array passed flat."""
        array: cst.BaseExpression | None
        match expression:
            case cst.Name(value=name):
                item = self._wrapper.unpacked(name, place)
                array = _shaped(item[0]) if item is not None else None
                return None if item is None or array is None else self._of_array(array, item[2], item[1])
            case cst.Subscript(value=shape, slice=[cst.SubscriptElement(slice=cst.Index(value=at))]):
                array, axis = _shaped(shape), integer(at)
                return None if array is None or axis is None else self._of_array(array, place, axis)
            case cst.Call(func=cst.Attribute(value=array, attr=cst.Name(value="size")), args=[cst.Arg(value=at)]):
                axis = integer(at)
                return None if axis is None else self._of_array(array, place, axis)
            case cst.Call(func=cst.Attribute(value=array, attr=cst.Name(value="numel")), args=[]):
                return self._of_flat(array, place)
        return None

    def _of_array(self, array: cst.BaseExpression, place: cst.CSTNode, axis: int) -> str | None:
        """The extent of a parameter whose argument certainly has the array's shape."""
        wanted = self._shape_of(array, place)
        if wanted is None or self._reshaped:
            return None
        for name, (value, where) in self._passed:
            if name in self._arrays and self._shape_of(value, where) is wanted:
                return f"{name}.shape[{axis}]"
        return None

    def _of_flat(self, array: cst.BaseExpression, place: cst.CSTNode) -> str | None:
        """The only extent of a parameter whose argument is the array, flattened."""
        wanted = self._shape_of(array, place)
        if wanted is None or self._reshaped:
            return None
        for name, passed in self._passed:
            value, where = self._wrapper.resolve(*passed)
            match value:
                case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=method))) if (
                    name in self._arrays
                    and method in FLATTEN
                    and [code(a.value) for a in value.args] in (["-1"], [])
                    and self._shape_of(inner, where) is wanted
                ):
                    return f"{name}.shape[0]"
        return None

    def _shape_of(self, array: cst.BaseExpression, place: cst.CSTNode, steps: int = 0) -> Binding | None:
        """Stands for the shape of a tensor: the binding that first had it. None where nothing is certain."""
        if steps > MOST_STEPS:
            return None
        match array:
            case cst.Name(value=name):
                binding = self._wrapper.reaching(name, place)
                if binding is None or binding.value is None:
                    return binding
                return self._shape_of(binding.value, binding.node, steps + 1) or binding
            case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=method))) if method in KEEP_SHAPE:
                return self._shape_of(inner, place, steps + 1)
            case cst.Call(args=[cst.Arg(value=inner), *_]) if dotted(array.func) in LIKE:
                return self._shape_of(inner, place, steps + 1)
        return None

    def _computed(self, expression: cst.BaseExpression, place: cst.CSTNode, steps: int) -> str | None:
        """Arithmetic, in the canonical form."""
        division = rounded_up(expression) or self._by_function(expression)
        if division is not None:
            parts = [self.in_kernel(part, place, steps) for part in division]
            return None if None in parts else f"{self._tile}.cdiv({parts[0]}, {parts[1]})"
        if isinstance(expression, cst.BinaryOperation):
            sign = SIGNS.get(type(expression.operator))
            left = self.in_kernel(expression.left, place, steps)
            right = self.in_kernel(expression.right, place, steps)
            if sign is None or left is None or right is None:
                return None
            return f"{operand(left)} {sign} {operand(right)}"
        return None

    def _by_function(self, expression: cst.BaseExpression) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
        """The operands of a call of the file's own function that divides and rounds up."""
        values = positional(expression) if isinstance(expression, cst.Call) else []
        name = dotted(expression.func) if isinstance(expression, cst.Call) else None
        functions = [f for f in nodes(self._read.module, cst.FunctionDef) if f.name.value == name]
        if len(values) != 2 or len(functions) != 1:
            return None
        returns = list(nodes(functions[0], cst.Return))
        names = [p.name.value for p in functions[0].params.params]
        if len(returns) != 1 or returns[0].value is None or len(names) != 2:
            return None
        operands = rounded_up(returns[0].value)
        if operands is None or [code(o) for o in operands] != names or len(functions[0].body.body) > 2:
            return None
        return values[0], values[1]


def _shaped(shape: cst.BaseExpression) -> cst.BaseExpression | None:
    """The tensor whose shape it is: of `x.shape` or `x.size()`."""
    match shape:
        case cst.Attribute(value=array, attr=cst.Name(value="shape")):
            return array
        case cst.Call(func=cst.Attribute(value=array, attr=cst.Name(value="size")), args=[]):
            return array
    return None
