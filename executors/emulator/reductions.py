"""Reductions and scans with any function: a tree over the axis, all its pairs at once.

The order of a reduction is not specified (Tile IR); halves are combined here, which is also the most accurate.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from cuda.tile._ir.arithmetic_ops import RawBinaryArithmeticOperation
from cuda.tile._ir.control_flow_ops import EndBranch
from cuda.tile._ir.ops import TileReduce, TileScan

from .dtypes import Array
from .elementwise import any_of, applied
from .frame import Frame, Origins

Combine = Callable[[Sequence[Array], Sequence[Array]], list[Array]]


class Reductions:
    """Handlers that run the body of a reduction or scan through the interpreter's `run`."""

    def __init__(self, run: Callable[[Any, Frame], list[Any]]) -> None:
        self._run = run

    def reduce(self, frame: Frame, operation: TileReduce) -> None:
        """ct.sum, ct.max, ct.argmax, ct.reduce."""
        axis = operation.axis + 1
        parts = _operands(frame, operation)
        combine = self._combine(frame, operation)
        while parts[0].shape[-1] > 1:
            half = parts[0].shape[-1] // 2
            parts = combine([part[..., :half] for part in parts], [part[..., half:] for part in parts])
        origins = _origins(frame, operation)
        if origins is not None:
            origins = origins.max(axis=axis)
        for result, part in zip(operation.result_vars, parts, strict=True):
            frame.set(result, part[..., 0], origins)

    def scan(self, frame: Frame, operation: TileScan) -> None:
        """ct.cumsum, ct.scan: inclusive; from the end if reversed."""
        axis = operation.axis + 1
        parts = _operands(frame, operation)
        origins = _origins(frame, operation)
        if operation.reverse:
            parts = [part[..., ::-1] for part in parts]
        combine, reach = self._combine(frame, operation), 1
        while reach < parts[0].shape[-1]:
            later = combine([part[..., :-reach] for part in parts], [part[..., reach:] for part in parts])
            parts = [np.concatenate([part[..., :reach], new], axis=-1) for part, new in zip(parts, later, strict=True)]
            reach *= 2
        if operation.reverse:
            parts = [part[..., ::-1] for part in parts]
        if origins is not None:
            origins = _scanned(origins, axis, operation.reverse)
        for result, part in zip(operation.result_vars, parts, strict=True):
            frame.set(result, np.moveaxis(part, -1, axis), origins)

    def _combine(self, frame: Frame, operation: Any) -> Combine:
        """The function of the body on arrays of any shape (lanes, ...)."""
        simple = _single_operation(operation.body)
        if simple is not None:
            return lambda left, right: [applied(simple, left[0], right[0])]
        return lambda left, right: self._through_body(frame, operation, left, right)

    def _through_body(self, frame: Frame, operation: Any, left: Sequence[Array], right: Sequence[Array]) -> list[Array]:
        """Run the body with one lane for each pair; its parameters are each operand's left and right in turn."""
        shape = left[0].shape
        pairs = frame.repeated(np.repeat(np.arange(frame.count), int(np.prod(shape[1:]))))
        operands = [value for pair in zip(left, right, strict=True) for value in pair]
        for variable, value in zip(operation.body.params, operands, strict=True):
            pairs.set(variable, value.reshape(-1))
        [out] = self._run(operation.body, pairs)
        count = pairs.count
        return [np.broadcast_to(value, (count,)).reshape(shape) for value in out.values]


def _single_operation(body: Any) -> RawBinaryArithmeticOperation | None:
    """The body's only operation, if that is arithmetic of its two parameters in order."""
    match list(body):
        case [RawBinaryArithmeticOperation() as only, EndBranch() as end]:
            names = [variable.name for variable in body.params]
            if [only.lhs.name, only.rhs.name] == names and [out.name for out in end.outputs] == [only.result_var.name]:
                return only
    return None


def _operands(frame: Frame, operation: Any) -> list[Array]:
    """The operands with the axis last, and all with as many lanes.

    As many as the frame has, where a body of several operations may capture what differs from block to block.
    """
    parts = [np.moveaxis(frame[x], operation.axis + 1, -1) for x in operation.xs]
    if _single_operation(operation.body) is None:
        return [frame.spread(part) for part in parts]
    return parts


def _origins(frame: Frame, operation: Any) -> Origins | None:
    """Where the operands are undefined, in full shape; everywhere in a block whose body captures an undefined value."""
    shape = operation.xs[0].get_type().shape
    inside = {variable.name for variable in operation.body.params}
    inside |= {variable.name for one in operation.body for variable in one.result_vars}
    parts = [any_of(frame, operation.xs)]
    for one in operation.body:
        for variable in one.all_inputs():
            captured = None if variable.name in inside else frame.origins(variable)
            if captured is not None:
                parts.append(captured.reshape(captured.shape[0], *(1,) * len(shape)))
    known = [part for part in parts if part is not None]
    if not known:
        return None
    lanes = max(part.shape[0] for part in known)
    result: Origins = np.maximum.reduce([np.broadcast_to(part, (lanes, *shape)) for part in known])
    return result


def _scanned(origins: Origins, axis: int, reverse: bool) -> Origins:
    turned = np.flip(origins, axis) if reverse else origins
    result: Origins = np.maximum.accumulate(turned, axis=axis)
    return np.flip(result, axis) if reverse else result
