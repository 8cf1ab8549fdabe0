"""Operations on one element at a time, and how undefined values pass through them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from cuda.tile import _datatype as datatype
from cuda.tile._ir import arithmetic_ops as ir
from cuda.tile._ir.ops import FusedMulAddOperation, TileBitCast

from . import arithmetic, casts
from .dtypes import Array, numpy_dtype
from .frame import Frame, Origins
from .origins import Origin


def any_of(frame: Frame, variables: Sequence[Any]) -> Origins | None:
    """Where a result is undefined because any of its operands is."""
    parts = [part for part in map(frame.origins, variables) if part is not None]
    if not parts:
        return None
    result: Origins = parts[0]
    for part in parts[1:]:
        result = np.maximum(result, part)
    return result


def binary(frame: Frame, operation: ir.RawBinaryArithmeticOperation) -> None:
    """add, sub, mul, floordiv, cdiv, truediv, pow, atan2, min, max and the remainder of C."""
    dtype = operation.result_var.get_type().dtype
    x, y = frame[operation.lhs], frame[operation.rhs]
    value = applied(operation, x, y)
    origins = any_of(frame, (operation.lhs, operation.rhs))
    if datatype.is_integral(dtype):
        if operation.fn in ("floordiv", "cdiv", "c_mod"):
            origins = _division_by_zero(frame, operation, y, value, origins)
        elif operation.fn in ("add", "sub", "mul") and operation in frame.run.code.index_arithmetic:
            _check_overflow(frame, operation, x, y)
    frame.set(operation.result_var, value, origins)


def applied(operation: ir.RawBinaryArithmeticOperation, x: Array, y: Array) -> Array:
    """What an operation with its attributes makes of two arrays."""
    return arithmetic.binary(
        operation.fn,
        x,
        y,
        operation.result_var.get_type().dtype,
        rounding=operation.rounding_mode,
        flush_to_zero=operation.flush_to_zero,
        propagate_nan=operation.propagate_nan,
    )


def _division_by_zero(
    frame: Frame, operation: Any, divisor: Array, value: Array, origins: Origins | None
) -> Origins | None:
    zero = divisor == 0
    if not zero.any():
        return origins
    code = frame.run.origin(Origin.undefined(operation.loc, "the integer division by zero"))
    known = np.zeros(value.shape, np.uint8) if origins is None else np.broadcast_to(origins, value.shape)
    result: Origins = np.maximum(known, zero * np.uint8(code))
    return result


_EXACT = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


def _check_overflow(frame: Frame, operation: Any, x: Array, y: Array) -> None:
    """Report 32-bit index arithmetic that leaves its range; 64 bits hold the exact result."""
    exact = _EXACT[operation.fn](x.astype(np.int64), y.astype(np.int64))
    wrapped = exact != exact.astype(x.dtype)
    if wrapped.any():
        first = np.argwhere(wrapped)[0]
        lane = int(first[0]) if wrapped.shape[0] == frame.count else 0
        text = f"an index becomes {int(exact[tuple(first)])}, which {x.dtype.itemsize * 8} bits cannot hold"
        block = int(frame.blocks[lane])
        frame.run.report("index-overflow", operation.loc, text, block=block, count=int(wrapped.sum()))


def unary(frame: Frame, operation: ir.Unary) -> None:
    """abs, neg, exp, sqrt and the like."""
    value = arithmetic.unary(
        operation.fn,
        frame[operation.operand],
        operation.operand.get_type().dtype,
        rounding=operation.rounding_mode,
        flush_to_zero=operation.flush_to_zero,
    )
    frame.set(operation.result_var, value, frame.origins(operation.operand))


def fused_multiply_add(frame: Frame, operation: FusedMulAddOperation) -> None:
    """The fused x * y + z, rounded once; cuTile makes it of a product and a sum."""
    operands = (operation.lhs, operation.rhs, operation.acc)
    x, y, z = (frame[operand] for operand in operands)
    value = arithmetic.fma(
        x,
        y,
        z,
        operation.result_var.get_type().dtype,
        rounding=operation.rounding_mode,
        flush_to_zero=operation.flush_to_zero,
    )
    frame.set(operation.result_var, value, any_of(frame, operands))


def power(frame: Frame, operation: ir.RawFPowIOperation) -> None:
    """A float to the power of an integer."""
    value = arithmetic.power_of_integer(
        frame[operation.base], frame[operation.exponent], operation.result_var.get_type().dtype
    )
    frame.set(operation.result_var, value, any_of(frame, (operation.base, operation.exponent)))


def compare(frame: Frame, operation: ir.RawComparisonOperation) -> None:
    dtype = operation.lhs.get_type().dtype
    value = arithmetic.compare(operation.fn, frame[operation.lhs], frame[operation.rhs], dtype)
    frame.set(operation.result_var, value, any_of(frame, (operation.lhs, operation.rhs)))


def bitwise(frame: Frame, operation: ir.RawBinaryBitwiseOperation) -> None:
    """and, or, xor. A defined False decides `and`, a defined True decides `or`, whatever the other operand is."""
    x, y = frame[operation.lhs], frame[operation.rhs]
    dtype = operation.lhs.get_type().dtype
    value = arithmetic.bitwise(operation.fn, x, y, dtype)
    origins = any_of(frame, (operation.lhs, operation.rhs))
    if origins is not None and datatype.is_boolean(dtype) and operation.fn != "xor":
        decisive = operation.fn == "or_"
        for variable, operand in ((operation.lhs, x), (operation.rhs, y)):
            own = frame.origins(variable)
            decides = (operand == decisive) & (own == 0 if own is not None else True)
            origins = np.where(decides, np.uint8(0), origins)
    frame.set(operation.result_var, value, origins)


def shift(frame: Frame, operation: ir.RawBitwiseShiftOperation) -> None:
    """Shifts; to the right with the sign for signed integers."""
    dtype = operation.lhs.get_type().dtype
    value = arithmetic.shift(operation.fn, frame[operation.lhs], frame[operation.rhs], dtype)
    frame.set(operation.result_var, value, any_of(frame, (operation.lhs, operation.rhs)))


def select(frame: Frame, operation: ir.RawWhereOperation) -> None:
    """ct.where: what is not chosen may be undefined."""
    condition = frame[operation.cond]
    value = np.where(condition, frame[operation.x], frame[operation.y])
    x, y, chooser = (frame.origins(part) for part in (operation.x, operation.y, operation.cond))
    origins: Origins | None = None
    if x is not None or y is not None or chooser is not None:
        none = np.uint8(0)
        origins = np.where(condition, none if x is None else x, none if y is None else y)
        if chooser is not None:
            origins = np.maximum(origins, chooser)
    frame.set(operation.result_var, value, origins)


def convert(frame: Frame, operation: ir.TileAsType) -> None:
    source, target = operation.x.get_type().dtype, operation.result_var.get_type().dtype
    value = casts.convert(frame[operation.x], source, target, operation.rounding_mode)
    frame.set(operation.result_var, value, frame.origins(operation.x))


def bitcast(frame: Frame, operation: TileBitCast) -> None:
    """The same bits as another type of the same size."""
    value = np.ascontiguousarray(frame[operation.x])
    target = numpy_dtype(operation.result_var.get_type().dtype)
    frame.set(operation.result_var, value.view(target), frame.origins(operation.x))


HANDLERS = {
    ir.RawBinaryArithmeticOperation: binary,
    ir.Unary: unary,
    FusedMulAddOperation: fused_multiply_add,
    ir.RawFPowIOperation: power,
    ir.RawComparisonOperation: compare,
    ir.RawBinaryBitwiseOperation: bitwise,
    ir.RawBitwiseShiftOperation: shift,
    ir.RawWhereOperation: select,
    ir.TileAsType: convert,
    TileBitCast: bitcast,
}
