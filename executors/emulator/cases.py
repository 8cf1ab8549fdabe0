"""Which runs of a kernel file on the CPU tell a right edit from a wrong one, and how they are had within a time.

Every chosen configuration is run with two seeds and once with its blocks in a random order; then, as far as the time
goes, with each perturbation of its inputs. Results are kept (`executors.emulator.results`), so a parent costs nothing
after the first of its candidates.
"""

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from kdiag import isolate
from kdiag.isolate import Died
from kdiag.records import ConfigurationCheck, EmulatedCase, EmulatedSource, EmulationCase
from kdiag.workload import Workload

from ..bench import Source
from . import results
from .case_request import CasesRequest, Sized

NEEDED = {"cuda-tile": "cuda", "ml-dtypes": "ml_dtypes", "torch": "torch"}  # packages, by what is imported
SEEDS = (1, 2)
SHUFFLE = 7
MOST_WORK = 2.0**26  # bytes moved by the largest of configs() that is emulated in place of edge_configs()
FEW = 2  # of configs(), the smallest
TIMEOUT_S = 60.0  # for one source
OPTIONAL_S = 5.0  # of processor time, after which no further perturbation is begun
# Of `perturbations.PERTURBATIONS`, whose module imports torch.
PERTURBED = ("all negative", "all positive", "large values", "small values", "ties", "infinities and NaN")


@dataclass(frozen=True)
class Cases:
    """The runs for a workload. `required` for each configuration; `optional` within the time."""

    required: tuple[EmulationCase, ...]
    optional: tuple[EmulationCase, ...]


def cannot_emulate() -> str | None:
    """Why nothing can be emulated here, in one sentence; None if the packages it takes are installed."""
    missing = [package for package, module in NEEDED.items() if find_spec(module) is None]
    return f'{", ".join(missing)} missing: pip install "kdiag[gpu]"' if missing else None


def choose(workload: Workload) -> Cases | str:
    """The runs for a workload: of its `edge_configs()`, else of the smallest of `configs()`; or why there are none."""
    found = isolate.run(_survey, workload, timeout_s=TIMEOUT_S)
    if isinstance(found, Died):
        return f"{workload.path.name} cannot be read: {found.message}{found.raised_at}"
    if not found:
        return f"{workload.path.name} has no configuration"
    sized: Sequence[Sized] = sorted(found, key=lambda one: one.work) if not found[0].edge else found
    small = [one for one in sized if one.work <= MOST_WORK]
    if not small:
        return f"even {sized[0].configuration} is too large to emulate; give the workload small edge_configs()"
    chosen = small if sized[0].edge else small[:FEW]
    return cases_of(chosen)


def cases_of(chosen: Sequence[Sized]) -> Cases:
    plain = [EmulationCase(one.configuration, one.edge, one.index) for one in chosen]
    required = [
        variant
        for case in plain
        for variant in (*(replace(case, seed=seed) for seed in SEEDS), replace(case, shuffle=SHUFFLE))
    ]
    optional = [replace(case, perturbation=name) for name in PERTURBED for case in plain]
    return Cases(tuple(required), tuple(optional))


def emulate_source(workload: Workload, source: Source, target: str, cases: Cases) -> EmulatedSource:
    """Every case of one kernel file, in one child unless a case kills it; the next child then goes on after that one."""
    with ExitStack() as stack:
        folder = results.folder()
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kdiag-emulation-")))
        everything, optional = (*cases.required, *cases.optional), frozenset(cases.optional)
        return _Run(CasesRequest(workload, source, target, everything, folder, optional, OPTIONAL_S)).to_the_end()


@dataclass
class _Run:
    """The cases of a request, as far as they have a result."""

    request: CasesRequest
    ran: dict[EmulationCase, EmulatedCase] = field(default_factory=dict)
    missing: dict[EmulationCase, str] = field(default_factory=dict)

    def to_the_end(self) -> EmulatedSource:
        """Run children until each case has a result, has ended its child, or is out of time."""
        began, late = time.monotonic(), None
        left = self._collect(self.request.cases)
        while left:
            spent = time.monotonic() - began
            request = replace(self.request, cases=left)
            answer = isolate.run(_run_cases, request, timeout_s=max(0.1, TIMEOUT_S - spent))
            left = self._collect(left)
            if not isinstance(answer, Died):
                self._give_up(left, f"the results cannot be kept in {self.request.folder}")
                break
            if answer.kind != "error":  # it took too long, too much memory, or kdiag is interrupted
                late = TIMEOUT_S if answer.kind == "timeout" else None
                self._give_up(left, f"no result within {TIMEOUT_S:g} s" if late else answer.message)
                break
            if left:
                nothing = len(left) == len(self.request.cases)
                of_the_file = nothing and isinstance(isolate.run(_load, request, timeout_s=TIMEOUT_S), Died)
                broken = left if of_the_file else left[:1]
                self.ran.update({case: _failed(case, answer.message + answer.raised_at) for case in broken})
                left = left[len(broken) :]
        return EmulatedSource(self.ran, self.missing, late)

    def _collect(self, cases: Sequence[EmulationCase]) -> tuple[EmulationCase, ...]:
        """Take the results that are there; the cases that have none yet."""
        left = []
        for case in cases:
            stored = results.load(self.request.folder, results.key_of(self.request, case))
            if stored is None:
                left.append(case)
            elif stored.result is not None:
                self.ran[case] = stored.result
            else:
                self.missing[case] = stored.not_emulated
        return tuple(left)

    def _give_up(self, left: Sequence[EmulationCase], why: str) -> None:
        """What is optional may be left out without a word."""
        self.missing.update({case: why for case in left if case not in self.request.optional})


def _failed(case: EmulationCase, reason: str) -> EmulatedCase:
    return EmulatedCase(ConfigurationCheck(str(case), False, None, None, reason), failure=reason)


# Child processes only, whose server has imported torch; kdiag itself need not.


def _survey(workload: Workload) -> Sequence[Sized]:
    from .case_run import survey

    return survey(workload)


def _load(request: CasesRequest) -> None:
    from .case_run import load

    load(request)


def _run_cases(request: CasesRequest) -> None:
    from .case_run import run_cases

    run_cases(request)
