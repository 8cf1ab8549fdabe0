"""What the IR no longer says of gathers and of indices: the index along each axis, and what computes indices.

`ct.gather(array, (i, j))` becomes base + (i * stride_0 + j * stride_1). An index that leaves its axis may still name an
element of the array (of another row), which hardware and a check of the address let pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from cuda.tile._ir import ops as ir
from cuda.tile._ir.arithmetic_ops import (
    RawBinaryArithmeticOperation,
    RawBinaryBitwiseOperation,
    RawComparisonOperation,
    TileAsType,
    TileBroadcast,
    TileReshape,
)
from cuda.tile._ir.control_flow_ops import Loop
from cuda.tile._ir.ir import MemoryEffect

from kdiag.executors.emulator.frame import Frame

Array = npt.NDArray[Any]
Definitions = Mapping[str, Any]
_PASSES_ON = (TileReshape, TileBroadcast, TileAsType, ir.AssumeDivBy, ir.AssumeBounded)


@dataclass(frozen=True)
class Gather:
    """An access through the indices of an array: its base pointer, and the index along each axis (as uint64)."""

    base: Any
    indices: tuple[Any, ...]
    checked: bool

    def check(self, frame: Frame, mask: Array, location: Any) -> Array:
        """Report unmasked indices outside their axes; gives the mask without them."""
        array = None if self.checked else frame.run.arrays_by_base.get(self.base.name)
        if array is None:
            return mask
        for axis, (variable, extent) in enumerate(zip(self.indices, array.shape, strict=True)):
            index = frame[variable].astype(np.int64)
            outside = mask & ((index < 0) | (index >= extent))
            if outside.any():
                first = tuple(int(part) for part in np.argwhere(outside)[0])
                lane = first[0] if outside.shape[0] == frame.count else 0
                value = int(np.broadcast_to(index, outside.shape)[first])
                text = f"the index {value} leaves axis {axis} of {array.name}, which has {extent}; bounds are not checked"
                frame.run.report(
                    "out-of-bounds", location, text, block=int(frame.blocks[lane]), at=array.name,
                    count=int(outside.sum()),
                )  # fmt: skip
                mask = mask & ~outside
        return mask


def find_gathers(body: Any) -> dict[str, Gather]:
    """The gathers and scatters of a kernel on whole arguments, by the name of their pointer."""
    made = _definitions(body)
    ranks = _ranks(body)
    found = {}
    for operation in body.traverse():
        mask = getattr(operation, "mask", None)
        pointer = getattr(operation, "pointer", None)
        if pointer is None or isinstance(operation, ir.PointerOffset):
            continue
        offset = made.get(pointer.name)
        if not isinstance(offset, ir.PointerOffset):
            continue
        base = _root(offset.pointer, made)
        terms = _terms(offset.offset, made, ranks.get(base.name, 0))
        if terms:
            checked = set(_compared(mask, made)) >= {_root(term, made).name for term in terms}
            found[pointer.name] = Gather(base, terms, checked)
    return found


def _definitions(body: Any) -> dict[str, Any]:
    return {variable.name: operation for operation in body.traverse() for variable in operation.result_vars}


def _ranks(body: Any) -> dict[str, int]:
    """The rank of the array that each pointer among the parameters is the base of: extents and strides follow it."""
    ranks: dict[str, int] = {}
    base = None
    for parameter in body.params:
        if "pointer" in str(parameter.get_type().dtype):
            base = parameter.name
            ranks[base] = 0
        elif base is not None:
            ranks[base] += 1
    return {name: count // 2 for name, count in ranks.items()}


def _root(variable: Any, made: Definitions) -> Any:
    """The variable behind reshapes, broadcasts, casts and assumptions."""
    while isinstance(operation := made.get(variable.name), _PASSES_ON):
        variable = operation.x
    return variable


def _terms(offset: Any, made: Definitions, rank: int) -> tuple[Any, ...]:
    """The index variables of ((i0*s0 + i1*s1) + i2*s2), one for each axis; none if it has another form."""
    products: list[Any] = []
    for _ in range(rank - 1):
        total = made.get(offset.name)
        if not (isinstance(total, RawBinaryArithmeticOperation) and total.fn == "add"):
            return ()
        products.insert(0, total.rhs)
        offset = total.lhs
    products.insert(0, offset)
    factors: list[Any] = [made.get(product.name) for product in products]
    if rank and all(isinstance(one, RawBinaryArithmeticOperation) and one.fn == "mul" for one in factors):
        return tuple(one.lhs for one in factors)
    return ()


def _compared(mask: Any, made: Definitions) -> Iterable[str]:
    """The roots of what the conjuncts of a mask bound from above."""
    pending = [] if mask is None else [mask]
    while pending:
        operation = made.get(_root(pending.pop(), made).name)
        if isinstance(operation, RawBinaryBitwiseOperation) and operation.fn == "and_":
            pending += [operation.lhs, operation.rhs]
        elif (
            isinstance(operation, RawComparisonOperation)
            and operation.fn == "lt"
            and str(operation.lhs.get_type().dtype) == "uint64"
        ):
            yield _root(operation.lhs, made).name


def index_arithmetic(body: Any) -> frozenset[Any]:
    """The signed 32-bit additions, subtractions and products that the indices of memory come from."""
    made = _definitions(body)
    carried = _carried(body)
    pending = [variable for operation in body.traverse() for variable in _indices_of(operation)]
    seen: set[str] = set()
    found = []
    while pending:
        variable = pending.pop()
        if variable.name in seen:
            continue
        seen.add(variable.name)
        pending += carried.get(variable.name, ())
        operation = made.get(variable.name)
        if isinstance(operation, _PASSES_ON):
            pending.append(operation.x)
        elif isinstance(operation, RawBinaryArithmeticOperation):
            pending += [operation.lhs, operation.rhs]
            if str(operation.result_var.get_type().dtype) == "int32":
                found.append(operation)
    return frozenset(found)


def _indices_of(operation: Any) -> tuple[Any, ...]:
    if isinstance(operation, ir.PointerOffset):
        return (operation.offset,)
    return tuple(getattr(operation, "index", ())) if hasattr(operation, "view") else ()


def _carried(body: Any) -> dict[str, tuple[Any, ...]]:
    """What a loop's counter and carried variables are first set to."""
    found: dict[str, tuple[Any, ...]] = {}
    for operation in body.traverse():
        if isinstance(operation, Loop):
            for variable, first in zip(operation.body_vars, operation.initial_values, strict=True):
                found[variable.name] = (first,)
            if operation.is_for_loop:
                found[operation.induction_var.name] = (operation.start, operation.stop)
    return found


def stored_bases(body: Any) -> frozenset[str] | None:
    """The base pointers among the parameters whose memory the kernel may write; None if that cannot be told."""
    made, names = _definitions(body), {parameter.name for parameter in body.params}
    found = set()
    for operation in body.traverse():
        if operation.memory_effect is not MemoryEffect.STORE:
            continue
        pointer = getattr(operation, "pointer", None) or _base_of_view(getattr(operation, "view", None), made)
        if pointer is None:
            continue
        while (root := _root(pointer, made)) and isinstance(made.get(root.name), ir.PointerOffset):
            pointer = made[root.name].pointer
        if root.name not in names:
            return None
        found.add(root.name)
    return frozenset(found)


def _base_of_view(view: Any, made: Definitions) -> Any:
    if view is None:
        return None
    array = made[view.name].array
    return made[array.name].base_ptr
