"""One emulated launch: its blocks in order, several in lockstep where none depends on another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kdiag.cutile.grid import grid_of
from kdiag.cutile.signature import kernel_function, kernel_name, signature
from kdiag.errors import WorkloadError
from kdiag.records import Fault

from .arguments import Bound, bind
from .faults import FaultLog
from .frame import Frame
from .front_end import Code, front_end
from .interpreter import INTERPRETER
from .never_written import NeverWritten
from .run import Run
from .turns import GiveWay, in_turns

MOST_BLOCKS = 2**26  # more would take hours
LOCKSTEP_BYTES = 2**23  # of the largest tile of all blocks that run in lockstep, at 8 bytes an element


@dataclass(frozen=True)
class Order:
    """How the blocks of a launch are run. `shuffle` is the seed of a random order; None: x, then y, then z.

    `lockstep=False` runs one block after the other, which is what the faster way is checked against.
    """

    shuffle: int | None = None
    lockstep: bool = True

    def groups(self, blocks: int, code: Code) -> Iterator[npt.NDArray[np.int32]]:
        """The numbers of the blocks that run together, group after group."""
        numbers = np.arange(blocks, dtype=np.int32)
        if self.shuffle is not None:
            np.random.default_rng(self.shuffle).shuffle(numbers)
        together = max(1, LOCKSTEP_BYTES // (8 * code.largest_tile)) if self.lockstep and code.lockstep else 1
        for first in range(0, blocks, together):
            yield numbers[first : first + together]


def launch(
    grid: Any, kernel: Any, arguments: Sequence[Any], target: str, order: Order, never: NeverWritten
) -> tuple[Fault, ...]:
    """Run a kernel on its grid; the arrays among the arguments are written. Gives what it did wrong.

    Raises WorkloadError for what would not launch, NotEmulated, and cuTile's TileError for a kernel that breaks its rules.
    """
    name = kernel_name(kernel)
    width, height, depth = (*grid_of(name, grid), 1, 1)[:3]
    if width * height * depth > MOST_BLOCKS:
        raise WorkloadError(
            f"{name} is launched with {width * height * depth} blocks; at most {MOST_BLOCKS} can be emulated."
        )
    described, function, log = signature(kernel, arguments), kernel_function(kernel), FaultLog()
    code = front_end(function, described, target)
    bound = bind(function, described.parameters, arguments, never)
    run = Run(name, (width, height, depth), code, bound.memory, bound.arrays, log)
    _watch(code, name, bound)
    groups = order.groups(run.block_count, code)
    if code.may_wait:
        in_turns(groups, lambda blocks, give_way: _run(run, bound, blocks, give_way))
    else:
        for blocks in groups:
            _run(run, bound, blocks, run.give_way)
    _finish(run, never)
    return log.all()


def _run(run: Run, bound: Bound, blocks: npt.NDArray[np.int32], give_way: GiveWay) -> None:
    """Run some blocks in lockstep, from the first line to the last."""
    frame = Frame(replace(run, blocks=blocks, give_way=give_way), np.arange(blocks.size))
    for parameter, value in zip(run.code.body.params, bound.values, strict=True):
        frame.set(parameter, value)
    INTERPRETER.run(run.code.body, frame)


def _watch(code: Code, name: str, bound: Bound) -> None:
    """Follow the blocks' accesses to memory that the kernel may write. Raises WorkloadError if that is read-only."""
    written = [
        array
        for position, array in bound.bases.items()
        if code.stored is None or code.body.params[position].name in code.stored
    ]
    for array in written:
        if not array.writable:
            raise WorkloadError(f"{name} writes to {array.name}, which is a read-only array; pass a copy.")
    for allocation in bound.memory.allocations:
        if code.stored is None or any(allocation.holds(array.address) for array in written):
            allocation.watch()


def _finish(run: Run, never: NeverWritten) -> None:
    """Keep which arrays were stored to, where that matters later, and forget the rest."""
    for allocation in run.memory.allocations:
        allocation.forget_blocks()
        allocation.owner = None  # memory that is followed must not be held by being followed
        tracked = never.at(allocation.start)
        if tracked is None:
            continue
        tracked.read |= allocation.read
        for location, addresses in allocation.written_at.items():
            for array in run.arrays:
                if any(array.element_at(address) is not None for address in addresses):
                    tracked.stores.setdefault((run.kernel, location, array.name), array)
