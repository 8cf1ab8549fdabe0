"""What the IR no longer says of gathers and of indices: the index along each axis, and what computes indices.

`ct.gather(array, (i, j))` becomes base + (i * stride_0 + j * stride_1). An index that leaves its axis may still name an
element of the array (of another row), which hardware and a check of the address let pass.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cuda.tile._ir import ops as ir
from cuda.tile._ir.arithmetic_ops import (
    RawBinaryArithmeticOperation,
    RawBinaryBitwiseOperation,
    RawComparisonOperation,
    RawWhereOperation,
)
from cuda.tile._ir.control_flow_ops import Break, Continue, EndBranch, IfElse, Loop
from cuda.tile._ir.ir import MemoryEffect

from .dtypes import Array
from .frame import Frame, along_lanes, entry
from .parts import PASSES_ON, Definitions, Part, behind, definitions, part_at, whole_arrays


@dataclass(frozen=True)
class Gather:
    """An access through the indices of an array or part of one: the index along each axis and what it is multiplied by."""

    part: Part
    indices: tuple[Any, ...]
    factors: tuple[Any, ...]
    checked: bool

    def check(self, frame: Frame, mask: Array, location: Any) -> Array:
        """Report unmasked indices outside the whole array; gives the mask without them."""
        if self.checked or not self._by_strides(frame):
            return mask
        indices = [
            frame[variable].astype(np.int64) + along_lanes(start, mask.ndim)
            for variable, start in zip(self.indices, self.part.starts(frame), strict=True)
        ]
        for axis, (index, variable) in enumerate(zip(indices, self.part.extents, strict=True)):
            extent = along_lanes(frame[variable], mask.ndim)
            outside = mask & ((index < 0) | (index >= extent))
            if outside.any():
                first = tuple(int(part) for part in np.argwhere(outside)[0])
                lane = first[0] if outside.shape[0] == frame.count else 0
                element = tuple(int(entry(one, first)) for one in indices)
                name, limit = self.part.name(frame, lane), int(entry(extent, first))
                text = f"the index {element[axis]} leaves axis {axis} of {name}, which is of size {limit}; bounds are not checked"
                frame.run.report(
                    "out-of-bounds", location, text, block=int(frame.blocks[lane]), at=(name, element),
                    count=int(outside.sum()),
                )  # fmt: skip
                mask = mask & ~outside
        return mask

    def _by_strides(self, frame: Frame) -> bool:
        """Whether the factors are the strides; an offset into raw memory may have the same form."""
        pairs = zip(self.factors, self.part.strides, strict=True)
        return all(
            bool((frame[factor].astype(np.int64) == along_lanes(frame[own], frame[factor].ndim)).all())
            for factor, own in pairs
        )


def find_gathers(body: Any, constraints: Sequence[Any]) -> dict[str, Gather]:
    """The gathers and scatters of a kernel, by the name of their pointer."""
    made, wholes = definitions(body), whole_arrays(body, constraints)
    found = {}
    for operation in body.traverse():
        mask = getattr(operation, "mask", None)
        pointer = getattr(operation, "pointer", None)
        if pointer is None or isinstance(operation, ir.PointerOffset):
            continue
        offset = made.get(pointer.name)
        if not isinstance(offset, ir.PointerOffset):
            continue
        part = part_at(offset.pointer, made, wholes)
        terms = () if part is None else _terms(offset.offset, made, len(part.extents))
        if part is not None and terms:
            indices, factors = zip(*terms, strict=True)
            checked = set(_compared(mask, made)) >= {behind(index, made).name for index in indices}
            found[pointer.name] = Gather(part, indices, factors, checked)
    return found


def _terms(offset: Any, made: Definitions, rank: int) -> tuple[tuple[Any, Any], ...]:
    """The index and the factor of each product in ((i0*s0 + i1*s1) + i2*s2); none if it has another form."""
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
        return tuple((one.lhs, behind(one.rhs, made)) for one in factors)
    return ()


def _compared(mask: Any, made: Definitions) -> Iterable[str]:
    """The roots of what the conjuncts of a mask bound from above."""
    pending = [] if mask is None else [mask]
    while pending:
        operation = made.get(behind(pending.pop(), made).name)
        if isinstance(operation, RawBinaryBitwiseOperation) and operation.fn == "and_":
            pending += [operation.lhs, operation.rhs]
        elif (
            isinstance(operation, RawComparisonOperation)
            and operation.fn == "lt"
            and str(operation.lhs.get_type().dtype) == "uint64"
        ):
            yield behind(operation.lhs, made).name


def index_arithmetic(body: Any) -> frozenset[Any]:
    """The signed 32-bit additions, subtractions and products that the indices of memory come from."""
    made = definitions(body)
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
        if isinstance(operation, PASSES_ON):
            pending.append(operation.x)
        elif isinstance(operation, RawWhereOperation):
            pending += [operation.x, operation.y]
        elif isinstance(operation, RawBinaryArithmeticOperation) and operation.fn in ("add", "sub", "mul"):
            pending += [operation.lhs, operation.rhs]  # not through a remainder: hashes wrap around on purpose
            if str(operation.result_var.get_type().dtype) == "int32":
                found.append(operation)
    return frozenset(found)


def _indices_of(operation: Any) -> tuple[Any, ...]:
    if isinstance(operation, ir.PointerOffset):
        return (operation.offset,)
    return tuple(getattr(operation, "index", ())) if hasattr(operation, "view") else ()


def _carried(body: Any) -> dict[str, tuple[Any, ...]]:
    """What a loop's counter and carried variables, and the results of loops and branches, may be set to."""
    found: dict[str, tuple[Any, ...]] = {}
    for operation in body.traverse():
        if isinstance(operation, Loop):
            inner = list(_leaving(operation.body))
            turns = [operation.initial_values, *(one.values for one in inner if isinstance(one, Continue))]
            ends = [*turns, *(one.values for one in inner if isinstance(one, Break))]
            found |= _by_position(operation.body_vars, turns) | _by_position(operation.result_vars, ends)
            if operation.is_for_loop:
                found[operation.induction_var.name] = (operation.start, operation.stop)
        elif isinstance(operation, IfElse):
            branches = [one for block in operation.nested_blocks for one in block if isinstance(one, EndBranch)]
            found |= _by_position(operation.result_vars, [one.outputs for one in branches])
    return found


def _leaving(block: Any) -> Iterable[Any]:
    """The ways out of a loop's body: in it, and in the branches in it, but not in the loops in it."""
    for operation in block:
        if isinstance(operation, Break | Continue):
            yield operation
        elif isinstance(operation, IfElse):
            for branch in operation.nested_blocks:
                yield from _leaving(branch)


def _by_position(variables: Sequence[Any], rows: Sequence[Sequence[Any]]) -> dict[str, tuple[Any, ...]]:
    return {variable.name: tuple(row[at] for row in rows) for at, variable in enumerate(variables)}


def stored_bases(body: Any) -> frozenset[str] | None:
    """The base pointers among the parameters whose memory the kernel may write; None if that cannot be told."""
    made, names = definitions(body), {parameter.name for parameter in body.params}
    found = set()
    for operation in body.traverse():
        if operation.memory_effect is not MemoryEffect.STORE:
            continue
        pointer = getattr(operation, "pointer", None) or _base_of_view(getattr(operation, "view", None), made)
        if pointer is None:
            continue
        while (root := behind(pointer, made)) and isinstance(made.get(root.name), ir.PointerOffset):
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
