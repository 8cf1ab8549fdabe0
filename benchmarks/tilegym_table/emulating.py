"""Child jobs: small calls under the emulator, with one version of a file, compared with what the original gave."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from kdiag.executors.emulator.emulation import Emulation, emulate
from tilegym_cases import CASES, Case, called, compared
from tilegym_references import Check
from tilegym_table.loading import kernel_of, load
from tilegym_table.records import Checkout, Emulated, Kernel, Version

FEW_SMS = 3


@dataclass(frozen=True)
class EmulateJob:
    """Emulate these cases. The original's results are kept in `results`; those of an edit are compared with them."""

    checkout: Checkout
    version: Version
    cases: tuple[int, ...]
    results: Path
    original: bool = False

    @property
    def identity(self) -> str:
        """All that decides the answer, beside what the folder of the answers stands for."""
        return str((self.version.file, self.version.hash, self.cases, self.original))


def emulate_cases(job: EmulateJob) -> dict[int, Emulated]:
    """What each case gave. A case that raises says so and does not keep the others from running."""
    torch.set_num_threads(1)
    found = {}
    loaded = ""
    for index in job.cases:
        case = CASES[index]
        check = case.check()
        if check.target != loaded:  # what a wrapper remembers of a card must not outlive it
            with emulate(check.target):
                load(job.checkout, job.version)
            loaded = check.target
        found[index] = _emulate(job, index, case, check)
    return found


def _emulate(job: EmulateJob, index: int, case: Case, check: Check) -> Emulated:
    launched: dict[Kernel | None, None] = {}
    launch = Emulation.launch

    def noted(self: Emulation, stream: Any, grid: Any, kernel: Any, *more: Any, **options: Any) -> None:
        launched[kernel_of(job.checkout, job.version, kernel)] = None
        launch(self, stream, grid, kernel, *more, **options)

    began, failure, result = time.perf_counter(), "", None
    with (
        patch.object(Emulation, "launch", noted),
        emulate(check.target, on_fault="record") as emulation,
        card_of(index),
    ):
        try:
            result = called(check)
        except Exception as error:  # noqa: BLE001 - whatever an edited file does is an answer
            failure = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    faults = frozenset((fault.kind, fault.array or "") for fault in emulation.faults if not fault.warning)
    tensors = [] if failure else [tensor.detach().contiguous() for tensor in _tensors(result)]
    reached = tuple(sorted(kernel for kernel in launched if kernel is not None))
    wrong = () if failure or not check.compared else tuple(compared(result, check.expected, check))
    path = job.results / f"{index}.pt"
    equal = None
    if job.original:
        torch.save(tensors, path)
    elif not failure:
        equal = _same(torch.load(path), tensors, spoiled=not check.compared)
    seconds = time.perf_counter() - began
    return Emulated(case.name, reached, faults, wrong, equal, failure, seconds)


def card_of(index: int) -> AbstractContextManager[object]:
    """The card of every other case has so few SMs that the blocks of a persistent kernel take several tiles each."""
    if not is_small_card(index):
        return nullcontext()
    return patch.object(torch.cuda.get_device_properties(0), "multi_processor_count", FEW_SMS)


def is_small_card(index: int) -> bool:
    """Whether a case runs on a card of few SMs."""
    return index % 2 == 1


def _tensors(result: Any) -> Iterator[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, tuple | list):
        for part in result:
            yield from _tensors(part)


def _same(before: list[torch.Tensor], after: list[torch.Tensor], *, spoiled: bool) -> bool:
    """Whether every bit is the same; where a fault spoils the result, only that of what was a number before."""
    if [(x.shape, x.dtype) for x in before] != [(x.shape, x.dtype) for x in after]:
        return False
    return all(_same_tensor(one, other, spoiled) for one, other in zip(before, after, strict=True))


def _same_tensor(before: torch.Tensor, after: torch.Tensor, spoiled: bool) -> bool:
    if before.dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        both = torch.isnan(before) & (torch.isnan(after) | spoiled)
        before, after = before.masked_fill(both, 0.0), after.masked_fill(both, 0.0)
    return torch.equal(before.flatten().view(torch.uint8), after.flatten().view(torch.uint8))
