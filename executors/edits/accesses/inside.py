"""Proofs that a tile begins inside its array. A tile wholly outside is undefined where a gather pads and a scatter drops.

A block number and a loop that counts the tiles or rows of a length are taken to stay inside, as the kernel's grid and
length are made for its arrays. A captured launch can contradict that, but it proves nothing: another launch may pass
other lengths and offsets.
"""

from dataclasses import dataclass
from itertools import takewhile

import libcst as cst

from kdiag.records import Launch

from ..syntax.kernel_source import holds
from ..syntax.kernel_view import KernelView, code, is_number
from .counters import counts_tiles, is_row, is_tile_count, single, size_sum, stepped_end, tile_loop
from .index_parts import IndexReader
from .launch_bounds import LaunchBounds, array_of
from .scalars import reads_memory
from .sums import Sum

SOMETIMES = cst.If | cst.IfExp | cst.While | cst.For | cst.BooleanOperation
"""What may leave out what stands in it."""


@dataclass(frozen=True)
class Proofs:
    """What can be proved of the access `call` of `array` in a kernel whose captured launches are these."""

    kernel: KernelView
    launches: tuple[Launch, ...]
    call: cst.Call
    array: str

    def row_inside(self, row: Sum, axis: int) -> bool:
        return self._uncontradicted(row, "1", axis) and is_row(self.kernel, row, self.call)

    def tile_inside(self, number: Sum, size: str, axis: int) -> bool:
        """Whether tile `number` of an axis begins inside the array."""
        return self._uncontradicted(number, size, axis) and counts_tiles(self.kernel, number, size, self.call)

    def launched_inside(self, number: Sum, size: str, axis: int, start: Sum) -> bool:
        """Whether in every captured launch tile `number` of the part that begins at `start` begins inside the array."""
        verdicts = [self._verdict(launch, number, size, axis, start) for launch in self.launches]
        return bool(verdicts) and all(verdicts)

    def is_extent(self, stop: Sum, axis: int) -> bool:
        shown = f"{self.array}.shape[{axis}]"
        written, _ = self.kernel.resolve(cst.parse_expression(stop.text()), self.call)
        return code(written) == shown

    def before(self, number: Sum, size: str, length: Sum) -> bool:
        """Whether tile `number` of a part of that length begins inside it, by its loop."""
        loop = tile_loop(self.kernel, number, self.call)
        if loop is not None and is_tile_count(self.kernel, loop, size, length, self.call):
            return True
        end = stepped_end(self.kernel, number, size, self.call)
        part = None if end is None else IndexReader(self.kernel, self.call).read(end, end)
        return part is not None and part.start.terms == length.terms

    def launched_before(self, number: Sum, size: str, length: Sum) -> bool:
        """Whether in every captured launch tile `number` of a part of that length begins inside it."""
        first = number.times(size_sum(size)).plus(length, -1)
        bounds = [LaunchBounds(self.kernel, each).of_sum(first, self.call) for each in self.launches]
        return bool(bounds) and all(each is not None and each[1] < 0 for each in bounds)

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
        leaves = holds(loop.body, cst.Break, cst.Continue, cst.Return)
        inside = takewhile(lambda node: node is not loop.body, self.kernel.source.above(self.call))
        return not leaves and not any(isinstance(node, SOMETIMES) for node in inside)

    def _uncontradicted(self, number: Sum, size: str, axis: int) -> bool:
        """Whether no launch says that a tile is outside."""
        return all(self._verdict(each, number, size, axis, Sum()) is not False for each in self.launches)

    def _verdict(self, launch: Launch, number: Sum, size: str, axis: int, start: Sum) -> bool | None:
        """Whether every tile of a launch begins inside the array; None where the launch does not say."""
        values, array = LaunchBounds(self.kernel, launch), array_of(launch, self.array)
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


def why_not_inside(proofs: Proofs, number: Sum, size: str, axis: int) -> str:
    """Why a tile number, or a row or an offset where the size is 1, is not known to lie inside."""
    kernel, call, text = proofs.kernel, proofs.call, number.text()
    if any(reads_memory(kernel, cst.parse_expression(name), call) for term in number.terms for name in term):
        return (
            f"`{text}` comes from memory: where it lies outside the array a gather pads and a tile is undefined,"
            " and only check_bounds=False says that it never does"
        )
    shown = shown_by_launches(proofs.launched_inside(number, size, axis, Sum()))
    return f"`{text}` in the index is not certainly inside the array, where a tile has to begin{shown}"


def shown_by_launches(shown: bool) -> str:
    """What to add to a reason where the captured launches show what the source does not."""
    return ": only the captured launches show that it does" if shown else ""
