"""What the workload says its kernel cannot do without: the bytes to move and the operations to do.

`work_of` runs in a child process, because it imports the workload; what it returns is read in the parent.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from kdiag.records import ArrayArgument, Evidence, Launch
from kdiag.workload import Workload, load_module

from .source.facts import KernelFacts


@dataclass(frozen=True)
class Work:
    """The least of one configuration; None where the workload does not say (it returns 0)."""

    bytes: float | None
    flops: float | None

    def observations(self) -> dict[str, Evidence]:
        """The `work.*` observations of a launch that does all the work of its configuration."""
        figures = (
            ("work.bytes", self.bytes, "byte", "the least DRAM traffic, as the workload says"),
            ("work.flops", self.flops, "FLOP", "operations of the algorithm, as the workload says"),
        )
        return {
            name: Evidence("workload", name, value, unit, text=text)
            for name, value, unit, text in figures
            if value is not None
        }


@dataclass(frozen=True)
class WorkRequest:
    """The workload whose configurations are asked about, and the architecture it is to believe it runs on."""

    workload: Workload
    target: str


def work_of(request: WorkRequest) -> tuple[Work, ...]:
    """The work of each configuration, in order. Child processes only; raises what the workload raises."""
    from kdiag.cutile.gpu_stand_in import CudaOn, gpu_stand_in

    with gpu_stand_in(request.target), CudaOn("cpu"):
        module = load_module(request.workload.path, search=request.workload.path.parent)
        return tuple(
            Work(_figure(module.bytes_moved, config), _figure(module.flops, config)) for config in module.configs()
        )


def _figure(count: Callable[[object], object], config: object) -> float | None:
    value = count(config)
    if isinstance(value, int | float) and math.isfinite(value) and value > 0:
        return float(value)
    return None


def bytes_of_arrays(launch: Launch, facts: KernelFacts) -> float | None:
    """What a captured launch moves if it reads every array it loads from once, and writes every one it stores to once.

    A kernel that touches only a part of an array moves less, so this can hide excess traffic and not invent it. None
    where an access is of something else than a parameter of the kernel, or is atomic.
    """
    sizes = {each.name: _bytes(each) for each in launch.arguments if isinstance(each, ArrayArgument)}
    read = {access.array for access in facts.accesses if access.kind in ("load", "gather")}
    written = {access.array for access in facts.accesses if access.kind in ("store", "scatter")}
    if facts.atomics or facts.unresolved or not written or not read | written <= set(sizes):
        return None
    return sum(sizes[name] for name in read) + sum(sizes[name] for name in written)


def _bytes(array: ArrayArgument) -> float:
    """The elements of an array times their width, which is in the name of the type ("bfloat16", "float8_e4m3fn")."""
    width = re.search(r"\d+", array.dtype)
    return math.prod(array.shape) * (int(width[0]) if width else 8) / 8
