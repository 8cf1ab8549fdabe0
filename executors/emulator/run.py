"""The state of one emulated launch: its blocks, memory, undefined values and faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kdiag.records import Fault, FaultKind

from .faults import FaultLog, place
from .frame import entry
from .memory import ArrayInMemory, Memory
from .origins import MOST, Origin

if TYPE_CHECKING:
    from .front_end import Code

Grid = tuple[int, int, int]


@dataclass
class Run:
    """One launch. `blocks` are the numbers of the blocks that run in lockstep now; x runs fastest in a number."""

    kernel: str
    grid: Grid
    code: Code
    memory: Memory
    arrays: Sequence[ArrayInMemory]
    log: FaultLog
    give_way: Callable[[], None] = lambda: None  # called by a block that may be waiting for another
    blocks: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    origins: list[Origin] = field(default_factory=list)
    _released: set[int] = field(default_factory=set)
    _acquired: set[int] = field(default_factory=set)

    def block_index(self, number: int) -> Grid:
        """(x, y, z) of a block's number."""
        width, height, _ = self.grid
        return number % width, number // width % height, number // (width * height)

    def origin(self, origin: Origin) -> int:
        """The number that stands for an origin in the values' shadows: from 1."""
        if origin in self.origins:
            return self.origins.index(origin) + 1
        if len(self.origins) < MOST:
            self.origins.append(origin)
        return len(self.origins)

    def use(
        self,
        origins: npt.NDArray[np.uint8] | None,
        location: Any,
        what: str,
        blocks: Any,
        addresses: npt.NDArray[Any] | None = None,
    ) -> None:
        """Report undefined values where they decide something: an output, an address, a branch or a mask.

        `origins` has a first axis over the lanes whose block numbers are `blocks`; `addresses`, if any, those of the
        elements that the values are stored to.
        """
        if origins is None or not origins.any():
            return
        for number in np.unique(origins[origins > 0]).tolist():
            where = origins == number
            first = tuple(int(part) for part in np.argwhere(where)[0])
            block = int(blocks[first[0] if origins.shape[0] == blocks.size else 0])
            at = None if addresses is None else int(entry(addresses, first))
            origin = self.origins[number - 1]
            text = f"{origin.text}, and reaches {what}"
            self.report(origin.kind, location, text, block=block, at=at, count=int(where.sum()))

    def report(
        self,
        kind: FaultKind,
        location: Any,
        text: str,
        *,
        block: int | None = None,
        at: int | str | tuple[str | None, tuple[int, ...]] | None = None,
        count: int = 1,
    ) -> None:
        """Keep a fault at a location of the kernel.

        `at` is the address of an element, or the array's name, or that and an index, which may be outside the array.
        """
        array, element = self.array_at(at) if isinstance(at, int) else at if isinstance(at, tuple) else (at, None)
        index = None if block is None else self.block_index(block)
        file, line, column = place(location)
        self.log.add(Fault(kind, self.kernel, file, line, column, text, index, array, element, count))

    def array_at(self, address: int) -> tuple[str | None, tuple[int, ...] | None]:
        """The argument that an address belongs to, and the element of it."""
        for array in self.arrays:
            element = array.element_at(address)
            if element is not None:
                return array.name, element
        return None, None

    def nearest_array(self, address: int) -> str:
        """What an address that lies in no array is near to, for a message."""
        if not self.arrays:
            return "and the launch has none"
        near = min(self.arrays, key=lambda array: abs(array.address - address))
        distance = (address - near.address) // near.size
        side = "after" if distance >= 0 else "before"
        return f"{abs(distance)} elements {side} the start of {near.name}, which has shape {list(near.shape)}"

    def release(self, blocks: Any) -> None:
        """Blocks that made their writes visible."""
        self._released.update(map(int, blocks))

    def acquire(self, blocks: Any) -> None:
        """Blocks that see what was released before. Which write they synchronize with is not followed."""
        self._acquired.update(map(int, blocks))

    def synchronized(self, earlier: int, later: int) -> bool:
        """Whether what one block did can be ordered before what another does: a release, then an acquire."""
        return later in self._acquired and (earlier in self._released or earlier not in range(self.block_count))

    @property
    def block_count(self) -> int:
        width, height, depth = self.grid
        return width * height * depth
