"""`with emulate():` - cuTile kernels run on the CPU, on NumPy arrays and CPU tensors, and their faults are told.

Everything that reaches a GPU through cuda.tile is replaced meanwhile, and torch answers as on the target's card, so
that launch wrappers need no change.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from cuda.tile._exception import TileError

from kdiag.cutile.hooks import launching_through
from kdiag.cutile.signature import kernel_name
from kdiag.cutile.tuning import Untimed
from kdiag.errors import UsageError
from kdiag.records import Fault

from .faults import EmulationError, FaultLog, place
from .front_end import rule_broken
from .launch import Order, launch
from .never_written import NeverWritten, Tracked
from .window import Window


class Emulation:
    """What `emulate()` gives: the faults found so far, and memory that starts undefined."""

    def __init__(self, target: str, order: Order, on_fault: Literal["raise", "record"]) -> None:
        self.target = target
        self.launches = 0
        self._order = order
        self._raises = on_fault == "raise"
        self._log = FaultLog()
        self._never = NeverWritten(self._forgotten)
        self._late: list[Fault] = []  # of memory that was let go before the end

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All faults and warnings so far, each once per place."""
        return self._log.all()

    def launch(self, stream: Any, grid: Any, kernel: Any, arguments: Any, /, **options: Any) -> None:
        """In the place of `ct.launch`: run the kernel now.

        Raises EmulationError at the end of a launch that was at fault (unless faults are only recorded), cuTile's
        own error for a kernel that breaks its rules, NotEmulated for an operation that is not known, and
        WorkloadError for arguments that cannot be launched.
        """
        self.launches += 1
        try:
            found = launch(grid, kernel, tuple(arguments), self.target, self._order, self._never)
        except TileError as error:
            self._log.add(rule_broken(kernel_name(kernel), error))
            raise
        self._log.extend(found)
        self._raise(found)

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
        """A NumPy array that nothing has written, and that is known not to be written. torch.empty gives such tensors."""
        array = np.empty(shape, dtype)
        self._never.track_numpy(array)
        return array

    def poison(self, tensor: Any) -> Any:
        """Make a tensor undefined, all memory it shares included; gives the tensor."""
        self._never.track_torch(tensor)
        return tensor

    def check_written(self) -> None:
        """Report what launches should have written and did not; done at the end of the emulation."""
        found = [*(fault for one in self._never.all() for fault in _unwritten(one)), *self._late]
        self._late = []
        self._log.extend(found)
        self._raise(tuple(found))

    def _forgotten(self, tracked: Tracked) -> None:
        if not tracked.read:
            self._late += _unwritten(tracked)

    def _raise(self, found: tuple[Fault, ...]) -> None:
        if self._raises and any(not fault.warning for fault in found):
            raise EmulationError(found)


def _unwritten(tracked: Tracked) -> Iterator[Fault]:
    """The elements of each array that a kernel stored to and that still are undefined, at its first store."""
    told = set()
    for (kernel, location, name), array in tracked.stores.items():
        if name in told:
            continue
        window = Window(tracked.allocation, array.address, array.shape, array.strides, array.size)
        missing = np.logical_or.reduce(window.undefined)
        if missing.any():
            element = tuple(int(part) for part in np.argwhere(missing)[0])
            file, line, column = place(location)
            text = f"{int(missing.sum())} of {missing.size} elements are never written"
            count = int(missing.sum())
            told.add(name)
            yield Fault("unwritten", kernel, file, line, column, text, None, name, element, count)


_threads: list[int] = []  # of the emulations that are active, the outermost first


@contextmanager
def _only_thread() -> Iterator[None]:
    """Replacing functions and answering for torch concerns the whole process, so it can serve one thread at a time."""
    own = threading.get_ident()
    if any(thread != own for thread in _threads):
        raise UsageError("Another thread is emulating; emulate() in one thread at a time, or in several processes.")
    _threads.append(own)
    try:
        yield
    finally:
        _threads.remove(own)


class Emulations(Untimed):
    """Emulations one after the other. Replacing what reaches a GPU takes a fifth of a second; here it is done once."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._now: Emulation | None = None

    @contextmanager
    def emulation(
        self, *, shuffle: int | None = None, lockstep: bool = True, on_fault: Literal["raise", "record"] = "raise"
    ) -> Iterator[Emulation]:
        """One emulation, as `emulate` gives it."""
        if on_fault not in ("raise", "record"):
            raise UsageError(f"on_fault is {on_fault!r}; it must be 'raise' or 'record'.")
        outer, self._now = self._now, Emulation(self.target, Order(shuffle, lockstep), on_fault)
        try:
            yield self._now
        finally:
            ended, self._now = self._now, outer
        ended.check_written()

    def launch(self, stream: Any, grid: Any, kernel: Any, arguments: Any, /, **options: Any) -> None:
        """In the place of `ct.launch`: of the emulation that is under way."""
        if self._now is None:
            raise UsageError(f"{kernel_name(kernel)} is launched outside of an emulation.")
        self._now.launch(stream, grid, kernel, arguments, **options)

    def poison(self, tensor: Any) -> Any:
        """Make a tensor undefined for the emulation that is under way, if one is; gives the tensor."""
        return tensor if self._now is None else self._now.poison(tensor)


@contextmanager
def emulations(target: str) -> Iterator[Emulations]:
    """Answer as a card of `target` would, for several emulations.

    Where torch has been imported, "cuda" stands for the CPU meanwhile, and `torch.empty` and its kin give memory whose
    use before it is written is a fault.
    """
    made = Emulations(target)
    with ExitStack() as stack:
        stack.enter_context(_only_thread())
        if sys.modules.get("torch") is not None:
            from kdiag.cutile.gpu_stand_in import CudaOn, gpu_stand_in

            from .torch_memory import EmptyIsUndefined

            stack.enter_context(gpu_stand_in(target))
            stack.enter_context(EmptyIsUndefined(made.poison))
            stack.enter_context(CudaOn("cpu"))
        stack.enter_context(launching_through(made))
        yield made


@contextmanager
def emulate(
    target: str = "sm_90",
    *,
    shuffle: int | None = None,
    lockstep: bool = True,
    on_fault: Literal["raise", "record"] = "raise",
) -> Iterator[Emulation]:
    """Run every launch of a cuTile kernel on the CPU, as a card of `target` would.

    `shuffle`, a seed, runs the blocks of each launch in a random order; otherwise x runs fastest, then y, then z.
    `lockstep=False` runs one block after the other instead of many in lockstep: slower, with the same result.
    At a fault the launch ends and EmulationError is raised; with `on_fault="record"` faults are only kept.

    torch answers as `emulations` says.
    """
    with emulations(target) as made, made.emulation(shuffle=shuffle, lockstep=lockstep, on_fault=on_fault) as emulation:
        yield emulation
