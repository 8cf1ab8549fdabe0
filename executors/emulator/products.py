"""Matrix products of tiles, and where an undefined operand makes them undefined."""

from typing import Any

import numpy as np
from cuda.tile._ir.ops import TileMma, TileMmaScaled

from . import matrix
from .frame import Frame, Origins


def multiply_accumulate(frame: Frame, operation: TileMma) -> None:
    """ct.mma and ct.matmul."""
    operands = (operation.x, operation.y, operation.acc)
    dtypes = (operand.get_type().dtype for operand in operands)
    value = matrix.mma(*(frame[operand] for operand in operands), *dtypes)
    frame.set(operation.result_var, value, _origins(frame, operation, operation.x, operation.y))


def multiply_accumulate_scaled(frame: Frame, operation: TileMmaScaled) -> None:
    """ct.mma_scaled: blocks along K have a scale each."""
    operands = (operation.x, operation.x_scale, operation.y, operation.y_scale, operation.acc)
    value = matrix.mma_scaled(*(frame[operand] for operand in operands))
    rows, columns = (operation.x, operation.x_scale), (operation.y, operation.y_scale)
    frame.set(operation.result_var, value, _origins(frame, operation, rows, columns))


def _origins(frame: Frame, operation: Any, rows: Any, columns: Any) -> Origins | None:
    """An element is undefined if its accumulator, or anything in its row of x or its column of y, is."""
    parts = [frame.origins(operation.acc)]
    for variables, axis in ((rows, -1), (columns, -2)):
        for variable in variables if isinstance(variables, tuple) else (variables,):
            origins = frame.origins(variable)
            parts.append(None if origins is None else _along(origins, variable, axis))
    known = [part for part in parts if part is not None]
    return np.maximum.reduce(np.broadcast_arrays(*known)) if known else None


def _along(origins: Origins, variable: Any, axis: int) -> Origins:
    full = np.broadcast_to(origins, (origins.shape[0], *variable.get_type().shape))
    result: Origins = full.max(axis=axis, keepdims=True)
    return result


HANDLERS = {TileMma: multiply_accumulate, TileMmaScaled: multiply_accumulate_scaled}
