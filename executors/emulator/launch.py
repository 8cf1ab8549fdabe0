"""One emulated launch: its blocks in order, several in step where none depends on another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kdiag.cutile.grid import grid_of
from kdiag.cutile.signature import kernel_function, kernel_name, signature
from kdiag.executors.emulator.arguments import Bound, bind
from kdiag.executors.emulator.faults import FaultLog
from kdiag.executors.emulator.frame import Frame
from kdiag.executors.emulator.front_end import Code, front_end
from kdiag.executors.emulator.interpreter import INTERPRETER
from kdiag.executors.emulator.never_written import NeverWritten
from kdiag.executors.emulator.run import Run
from kdiag.executors.emulator.turns import GiveWay, in_turns
from kdiag.records import Fault

STEP_BYTES = 2**23  # of the largest tile of all blocks that run in step, at 8 bytes an element


@dataclass(frozen=True)
class Order:
    """How the blocks of a launch are run. `shuffle` is the seed of a random order; None: x, then y, then z.

    `in_step=False` runs one block after the other, which is what the faster way is checked against.
    """

    shuffle: int | None = None
    in_step: bool = True

    def groups(self, blocks: int, code: Code) -> Iterator[npt.NDArray[np.int32]]:
        """The numbers of the blocks that run together, group after group."""
        numbers = np.arange(blocks, dtype=np.int32)
        if self.shuffle is not None:
            np.random.default_rng(self.shuffle).shuffle(numbers)
        together = max(1, STEP_BYTES // (8 * code.largest_tile)) if self.in_step and code.in_step else 1
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
    described, function, log = signature(kernel, arguments), kernel_function(kernel), FaultLog()
    code = front_end(function, described, target)
    bound = bind(function, described.parameters, arguments, never)
    run = Run(name, (width, height, depth), code, bound.memory, bound.arrays, log)
    _watch(code, bound)
    groups = order.groups(run.block_count, code)
    if code.may_wait:
        in_turns(groups, lambda blocks, give_way: _run(run, bound, blocks, give_way))
    else:
        for blocks in groups:
            _run(run, bound, blocks, run.give_way)
    _finish(run, never)
    return log.all()


def _run(run: Run, bound: Bound, blocks: npt.NDArray[np.int32], give_way: GiveWay) -> None:
    """Run some blocks in step, from the first line to the last."""
    frame = Frame(replace(run, blocks=blocks, give_way=give_way), np.arange(blocks.size))
    for parameter, value in zip(run.code.body.params, bound.values, strict=True):
        frame.set(parameter, value)
    INTERPRETER.run(run.code.body, frame)


def _watch(code: Code, bound: Bound) -> None:
    """Follow the blocks' accesses to memory that the kernel may write."""
    written = [
        array.address
        for position, array in bound.bases.items()
        if code.stored is not None and code.body.params[position].name in code.stored
    ]
    for allocation in bound.memory.allocations:
        if code.stored is None or any(map(allocation.holds, written)):
            allocation.watch()


def _finish(run: Run, never: NeverWritten) -> None:
    for allocation in run.memory.allocations:
        allocation.forget_blocks()
        allocation.owner = None  # memory that is followed must not be held by being followed
        tracked = never.at(allocation.start)
        if tracked is None:
            continue
        for location in allocation.written_at:
            for array in run.arrays:
                if allocation.holds(array.address):
                    tracked.stores.setdefault((run.kernel, location), array)
