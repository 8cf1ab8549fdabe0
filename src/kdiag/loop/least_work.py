"""What a launch has to move and compute at least, where the workload says so and the launch is known to be its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kdiag import isolate
from kdiag.diagnose.work import WorkRequest, work_of
from kdiag.isolate import Died
from kdiag.records import Compilation, CompileFailure, Evidence
from kdiag.workload import Workload

TIMEOUT_S = 60.0


def least_work(
    workload: Workload, compilation: Compilation, kernel: str, grid: Sequence[int] | None, target: str
) -> dict[str, Evidence]:
    """The `work.*` observations of the launch of `kernel` with `grid`; none unless its configuration is certain.

    `compilation` holds all launches of the workload. The work of a configuration is that of a launch only if the
    configuration makes one launch, and the grid tells which configuration it was only if no two share it.
    """
    if isinstance(compilation, CompileFailure) or grid is None:
        return {}
    launches = Counter(evidence.launch.configuration for evidence in compilation)
    matching = {
        evidence.launch.configuration
        for evidence in compilation
        if evidence.kernel == kernel and _blocks(evidence.launch.grid) == _blocks(grid)
    }
    if len(matching) != 1 or launches[min(matching)] != 1:
        return {}
    answer = isolate.run(work_of, WorkRequest(workload, target), timeout_s=TIMEOUT_S)
    return {} if isinstance(answer, Died) else answer[min(matching)].observations()


def _blocks(grid: Sequence[int]) -> tuple[int, ...]:
    """A grid in three dimensions."""
    return (*grid, 1, 1)[:3]
