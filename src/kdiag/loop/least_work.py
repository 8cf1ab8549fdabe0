"""What a launch has to move and compute at least, where the workload says so and the launch is known to be its own."""

from collections.abc import Sequence

from kdiag import isolate
from kdiag.diagnose.source.read import read_source
from kdiag.diagnose.work import WorkRequest, bytes_of_arrays, work_of
from kdiag.isolate import Died
from kdiag.records import Compilation, CompileFailure, Evidence, Launch
from kdiag.workload import CommandWorkload, Workload
from kdiag.workload import read_source as read_text

TIMEOUT_S = 60.0


def least_work(
    workload: Workload | CommandWorkload, compilation: Compilation, kernel: str, target: str, configuration: int
) -> dict[str, Evidence]:
    """The `work.*` observations of the launch of `kernel` in one configuration of the workload.

    `compilation` holds every launch of the workload. The work of a configuration is that of a launch only if the
    configuration makes no other, so there is none for kernels that share it.
    """
    if isinstance(compilation, CompileFailure):
        return {}
    launched = [each.kernel for each in compilation if each.launch.configuration == configuration]
    if launched != [kernel]:
        return {}
    said: dict[str, Evidence] = {}
    if isinstance(workload, Workload):
        answer = isolate.run(work_of, WorkRequest(workload, target), timeout_s=TIMEOUT_S)
        said = {} if isinstance(answer, Died) else answer[configuration].observations()
    if "work.bytes" in said:
        return said
    launch = next(each.launch for each in compilation if each.launch.configuration == configuration)
    return {**said, **_of_arrays(workload, launch)}


def _of_arrays(workload: Workload | CommandWorkload, launch: Launch) -> dict[str, Evidence]:
    """What the arrays of the captured launch say where the workload says nothing."""
    facts = read_source(read_text(workload.kernel_file), workload.kernel_file.name).kernels
    mine = next((each for each in facts if each.name == launch.kernel), None)
    moved = None if mine is None else bytes_of_arrays(launch, mine)
    if moved is None:
        return {}
    text = "every array that the kernel loads from read once, every one it stores to written once"
    return {"work.array_bytes": Evidence("workload", "work.array_bytes", moved, "byte", text=text)}


def configuration_of(compilation: Compilation, kernel: str, grid: Sequence[int] | None) -> int | None:
    """The one configuration that launches `kernel` with `grid`; None if none does, or several do."""
    if isinstance(compilation, CompileFailure) or grid is None:
        return None
    matching = {
        each.launch.configuration
        for each in compilation
        if each.kernel == kernel and _blocks(each.launch.grid) == _blocks(grid)
    }
    return matching.pop() if len(matching) == 1 else None


def _blocks(grid: Sequence[int]) -> tuple[int, ...]:
    """A grid in three dimensions."""
    return (*grid, 1, 1)[:3]
