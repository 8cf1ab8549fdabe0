"""Proofs that a tile begins inside its array. A tile wholly outside is undefined where a gather pads and a scatter drops.

A block number and a loop that counts the tiles or rows of a length are taken to stay inside, as the kernel's grid and
length are made for its arrays. Where launches were captured, these decide instead, wherever they say enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import libcst as cst

from kdiag.executors.edits.accesses.counters import (
    counts_tiles,
    is_row,
    is_tile_count,
    single,
    size_sum,
    stepped_end,
    tile_loop,
)
from kdiag.executors.edits.accesses.index_parts import IndexReader
from kdiag.executors.edits.accesses.launch_values import LaunchValues, array_of
from kdiag.executors.edits.accesses.scalars import reads_memory
from kdiag.executors.edits.accesses.sums import Sum
from kdiag.executors.edits.syntax.kernel_source import nodes
from kdiag.executors.edits.syntax.kernel_view import KernelView, code, is_number
from kdiag.records import Launch


@dataclass(frozen=True)
class Proofs:
    """What can be proved of the access `call` of `array` in a kernel whose captured launches are these."""

    kernel: KernelView
    launches: tuple[Launch, ...]
    call: cst.Call
    array: str

    def row_inside(self, row: Sum, axis: int) -> bool:
        """Whether a single index lies inside the array."""
        return self._decided(row, "1", axis, Sum()) or (
            self._undecided(row, "1", axis) and is_row(self.kernel, row, self.call)
        )

    def tile_inside(self, number: Sum, size: str, axis: int, start: Sum) -> bool:
        """Whether tile `number` of the part of the axis that begins at `start` begins inside the array."""
        if self._decided(number, size, axis, start):
            return True
        if start.terms or not self._undecided(number, size, axis):
            return False
        return counts_tiles(self.kernel, number, size, self.call)

    def begins_inside(self, start: Sum, axis: int) -> bool:
        """Whether an element offset is known to lie inside the array, as a slice's start must."""
        return self._decided(start, "1", axis, Sum())

    def is_extent(self, stop: Sum, axis: int) -> bool:
        """Whether a scalar is the array's extent."""
        shown = f"{self.array}.shape[{axis}]"
        written, _ = self.kernel.resolve(cst.parse_expression(stop.text()), self.call)
        if code(written) == shown:
            return True
        return self._always(lambda values, extent: values.of_sum(stop, self.call) == (extent, extent), axis)

    def at_most_extent(self, stop: Sum, axis: int) -> bool:
        """Whether a scalar is known not to pass the array's extent."""

        def smaller(values: LaunchValues, extent: int) -> bool:
            bounds = values.of_sum(stop, self.call)
            return bounds is not None and bounds[1] <= extent

        return self._always(smaller, axis)

    def before(self, number: Sum, size: str, length: Sum) -> bool:
        """Whether tile `number` of a part of that length begins inside it, by its loop or by the launches."""
        loop = tile_loop(self.kernel, number, self.call)
        if loop is not None and is_tile_count(self.kernel, loop, size, length, self.call):
            return True
        end = stepped_end(self.kernel, number, size, self.call)
        part = None if end is None else IndexReader(self.kernel, self.call).read(end, end)
        if part is not None and part.start.terms == length.terms:
            return True
        first = number.times(size_sum(size)).plus(length, -1)

        def negative(values: LaunchValues) -> bool:
            bounds = values.of_sum(first, self.call)
            return bounds is not None and bounds[1] < 0

        return bool(self.launches) and all(
            negative(LaunchValues(self.kernel, launch)) for launch in self.launches
        )

    def counts_from_the_first(self, number: Sum) -> bool:
        """Whether the block also makes this access for tile 0, as it is that one or in a loop that always starts there."""
        if number.constant == 0:
            return True
        written = single(number)
        name = written.value if isinstance(written, cst.Name) else ""
        binding = self.kernel.bindings.reaching(name, self.call)
        loop = None if binding is None else binding.loop
        arguments = None if written is None else self.kernel.range_loop(written, self.call)
        if loop is None or arguments is None or not (len(arguments) == 1 or is_number(arguments[0], 0)):
            return False
        leaves = any(next(nodes(loop.body, kind), None) for kind in (cst.Break, cst.Continue, cst.Return))
        node: cst.CSTNode = self.call
        while node is not loop.body:
            if isinstance(node, cst.If | cst.IfExp | cst.While | cst.For | cst.BooleanOperation):
                return False
            node = self.kernel.source.parents[node]
        return not leaves

    def _always(self, holds: Callable[[LaunchValues, int], bool], axis: int) -> bool:
        """Whether something holds for the extent of the array in every captured launch."""
        verdicts = []
        for launch in self.launches:
            array = array_of(launch, self.array)
            known = array is not None and axis < len(array.shape)
            verdicts.append(
                known and array is not None and holds(LaunchValues(self.kernel, launch), array.shape[axis])
            )
        return bool(verdicts) and all(verdicts)

    def _decided(self, number: Sum, size: str, axis: int, start: Sum) -> bool:
        verdicts = [self._verdict(launch, number, size, axis, start) for launch in self.launches]
        return bool(verdicts) and all(verdicts)

    def _undecided(self, number: Sum, size: str, axis: int) -> bool:
        """Whether no launch says that a tile is outside."""
        return all(self._verdict(each, number, size, axis, Sum()) is not False for each in self.launches)

    def _verdict(self, launch: Launch, number: Sum, size: str, axis: int, start: Sum) -> bool | None:
        """Whether every tile of a launch begins inside the array; None where the launch does not say."""
        values, array = LaunchValues(self.kernel, launch), array_of(launch, self.array)
        numbers, starts = values.of_sum(number, self.call), values.of_sum(start, self.call)
        sizes = values.of_sum(size_sum(size), self.call)
        if array is None or axis >= len(array.shape) or numbers is None or starts is None or sizes is None:
            return None
        extent = array.shape[axis]
        inside = starts[1] < extent and starts[1] + numbers[1] * sizes[1] < extent
        return inside and numbers[0] >= 0 and starts[0] >= 0


def tile_start(kernel: KernelView, start: Sum, size: str, call: cst.Call) -> tuple[Sum, Sum]:
    """The tile number and the rest of an element offset, which is a counter in steps of `size` or a sum."""
    counter = start.single
    if counter is not None:
        loop = kernel.range_loop(cst.parse_expression(counter), call)
        if loop is not None and len(loop) == 3 and code(loop[2]) == size and is_number(loop[0], 0):
            return Sum.of(f"{counter} // {size}"), Sum()
    return start.divided(size)


def why_not_inside(kernel: KernelView, number: Sum, call: cst.Call) -> str:
    """Why a tile number or row is not known to lie inside."""
    text = number.text()
    if any(reads_memory(kernel, cst.parse_expression(name), call) for term in number.terms for name in term):
        return (
            f"`{text}` comes from memory: where it lies outside the array a gather pads and a tile is undefined,"
            " and only check_bounds=False says that it never does"
        )
    return f"`{text}` in the index is not certainly inside the array, where a tile has to begin"
