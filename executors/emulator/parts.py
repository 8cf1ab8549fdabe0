"""Arrays as the IR of a kernel knows them: parameters, items of lists, and what `Array.slice` leaves of these.

Of a slice the IR keeps only the moved base, base + start * stride, and its extents where a tile is loaded through it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from cuda.tile._ir import ops as ir
from cuda.tile._ir.arithmetic_ops import RawBinaryArithmeticOperation, TileAsType, TileBroadcast, TileReshape
from cuda.tile.compilation import ArrayConstraint, ListConstraint, ScalarConstraint, TupleConstraint

from .dtypes import Array
from .frame import ArrayView, Frame, entry

Definitions = Mapping[str, Any]
PASSES_ON = (TileReshape, TileBroadcast, TileAsType, ir.AssumeDivBy, ir.AssumeBounded)


@dataclass(frozen=True)
class Part:
    """A whole array, by its base, extents and strides, and the start and the stride of each slice taken of it."""

    base: Any
    extents: tuple[Any, ...]
    strides: tuple[Any, ...]
    cuts: tuple[tuple[Any, Any], ...] = ()

    def name(self, frame: Frame, lane: int) -> str:
        """The name of the whole array that a lane sees."""
        return frame.run.array_at(int(entry(frame[self.base], (lane,))))[0] or "an array"

    def starts(self, frame: Frame) -> list[Array]:
        """Where the part begins along each axis of the whole array, an entry for each lane."""
        starts: list[Array] = [np.zeros(1, np.int64) for _ in self.extents]
        for start, stride in self.cuts:
            axis = self._axis(frame, stride)
            starts[axis] = starts[axis] + frame[start].astype(np.int64)
        return starts

    def _axis(self, frame: Frame, stride: Any) -> int:
        """The axis that a slice is along: the one with its stride, by name or (a static stride) by value.

        Of several with the same stride the longest: an axis of one element may have any stride.
        """
        names = [own.name for own in self.strides]
        if stride.name in names:
            return names.index(stride.name)
        value = frame[stride]
        same = [axis for axis, own in enumerate(self.strides) if (frame[own] == value).all()]
        return max(same, key=lambda axis: int(frame[self.extents[axis]].max()), default=len(names) - 1)

    def check(self, frame: Frame, view: ArrayView, location: Any) -> None:
        """Report a slice that begins before the whole array or ends after it."""
        starts = self.starts(frame)
        for axis, (variable, start) in enumerate(zip(self.extents, starts, strict=True)):
            extent, stop = frame[variable], start + view.shape[axis]
            extent, first, stop = np.broadcast_arrays(extent, start, stop)
            outside = (first < 0) | (stop > extent)
            if not outside.any():
                continue
            lane = int(np.flatnonzero(outside)[0])
            element = [int(entry(part, (lane,))) for part in starts]
            element[axis] = element[axis] if element[axis] < 0 else int(extent[lane])
            text = (
                f"the slice from {int(first[lane])} to {int(stop[lane])} leaves axis {axis},"
                f" which is of size {int(extent[lane])}"
            )
            at = (self.name(frame, lane), tuple(element))
            block = int(frame.blocks[lane])
            frame.run.report("out-of-bounds", location, text, block=block, at=at, count=int(outside.sum()))


def definitions(body: Any) -> dict[str, Any]:
    """The operation that makes each variable, by the variable's name."""
    return {variable.name: operation for operation in body.traverse() for variable in operation.result_vars}


def behind(variable: Any, made: Definitions) -> Any:
    """The variable behind reshapes, broadcasts, casts and assumptions."""
    while isinstance(operation := made.get(variable.name), PASSES_ON):
        variable = operation.x
    return variable


def whole_arrays(body: Any, constraints: Sequence[Any]) -> dict[str, Part]:
    """The arrays among a kernel's parameters, and the items of its lists, by the name of their base pointer."""
    groups: list[Sequence[Any]] = []
    parameters = iter(body.params)
    for constraint in _leaves(constraints):
        if isinstance(constraint, ArrayConstraint):
            groups.append(list(islice(parameters, 1 + 2 * constraint.ndim)))
        else:
            list(islice(parameters, 2 if isinstance(constraint, ListConstraint) else 1))
    groups += [operation.result_vars for operation in body.traverse() if isinstance(operation, ir.GetArrayListItem)]
    found = {}
    for base, *rest in groups:
        rank = len(rest) // 2
        found[base.name] = Part(base, tuple(rest[:rank]), tuple(rest[rank:]))
    return found


def _leaves(constraints: Sequence[Any]) -> Iterator[Any]:
    """The constraints whose parameters have values at run time."""
    for constraint in constraints:
        if isinstance(constraint, TupleConstraint):
            yield from _leaves(constraint.items)
        elif isinstance(constraint, ArrayConstraint | ListConstraint | ScalarConstraint):
            yield constraint


def part_at(base: Any, made: Definitions, wholes: Mapping[str, Part]) -> Part | None:
    """The array, or part of one, whose first element a pointer points to; None if that is not known."""
    cuts: list[tuple[Any, Any]] = []
    base = behind(base, made)
    while isinstance(offset := made.get(base.name), ir.PointerOffset):
        product = made.get(behind(offset.offset, made).name)
        if not (isinstance(product, RawBinaryArithmeticOperation) and product.fn == "mul"):
            return None
        cuts.insert(0, (product.lhs, behind(product.rhs, made)))
        base = behind(offset.pointer, made)
    whole = wholes.get(base.name)
    return None if whole is None else Part(whole.base, whole.extents, whole.strides, tuple(cuts))


def find_slices(body: Any, constraints: Sequence[Any]) -> dict[str, Part]:
    """The slices that tiles are loaded from or stored to, by the name of the array's view."""
    made, wholes = definitions(body), whole_arrays(body, constraints)
    found = {}
    for operation in body.traverse():
        if isinstance(operation, ir.MakeTensorView):
            part = part_at(operation.base_ptr, made, wholes)
            if part is not None and part.cuts:
                found[operation.result_var.name] = part
    return found
