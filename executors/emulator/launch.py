"""One emulated launch: its blocks in order, several in step where none depends on another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from cuda.tile._exception import TileError

from kdiag.cutile.grid import grid_of
from kdiag.cutile.signature import kernel_function, kernel_name, signature
from kdiag.executors.emulator.arguments import Bound, bind
from kdiag.executors.emulator.faults import FaultLog
from kdiag.executors.emulator.frame import Frame
from kdiag.executors.emulator.front_end import Code, front_end, rule_broken
from kdiag.executors.emulator.interpreter import INTERPRETER
from kdiag.executors.emulator.never_written import NeverWritten
from kdiag.executors.emulator.run import Run
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
        yield from np.split(numbers, range(together, blocks, together))


def launch(
    grid: Any, kernel: Any, arguments: Sequence[Any], target: str, order: Order, never: NeverWritten
) -> tuple[Fault, ...]:
    """Run a kernel on its grid; the arrays among the arguments are written. Gives what it did wrong.

    Raises WorkloadError for what would not launch, NotEmulated, and cuTile's own error for a kernel that breaks its
    rules, with the fault as the attribute `fault`.
    """
    name = kernel_name(kernel)
    sizes = grid_of(name, grid)
    shape = (*sizes, 1, 1)[:3]
    described = signature(kernel, arguments)
    function = kernel_function(kernel)
    log = FaultLog()
    try:
        code = front_end(function, described, target)
    except TileError as error:
        text, (file, line, column) = rule_broken(error)
        error.fault = Fault("type-rule", name, file, line, column, text)
        raise
    bound = bind(function, described.parameters, arguments, never)
    run = Run(name, (shape[0], shape[1], shape[2]), bound.memory, bound.arrays, log)
    run.gathers, run.slices, run.index_arithmetic = code.gathers, code.slices, code.index_arithmetic
    run.used = code.used
    run.arrays_by_base = {code.body.params[at].name: array for at, array in bound.bases.items()}
    _watch(code, run, bound)
    for blocks in order.groups(run.block_count, code):
        run.blocks = blocks
        frame = Frame(run, np.arange(blocks.size))
        for parameter, value in zip(code.body.params, bound.values, strict=True):
            frame.set(parameter, value)
        INTERPRETER.run(code.body, frame)
    _finish(run, never)
    return log.all()


def _watch(code: Code, run: Run, bound: Bound) -> None:
    """Follow the blocks' accesses to memory that the kernel may write."""
    for allocation in bound.memory.allocations:
        written = code.stored is None or any(
            base in code.stored and allocation.start <= array.address < allocation.start + allocation.size
            for base, array in run.arrays_by_base.items()
        )
        if written:
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
                if allocation.start <= array.address < allocation.start + allocation.size:
                    tracked.stores.setdefault((run.kernel, location), array)
