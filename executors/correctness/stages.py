"""The stages of the check: what is required of every version, and what is asked of it if the unedited kernel can do it."""

import time
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from types import ModuleType

import torch
from cuda.tile._exception import TileError

from kdiag.errors import WorkloadError
from kdiag.records import ConfigurationCheck, NotEvaluated, Stage

from . import searches, stress
from .configurations import edge_shapes, edges, other_dtypes
from .judging import label
from .subject import SEEDS, Config, Subject

DEAR: tuple[Stage, ...] = ("edge shapes", "dtypes")  # other shapes and types are other compilations
MOST_S = 3.0  # for one case beyond the required ones, compilation included (a product on float32 took 10 s on an H200)
# How Python code says that it was not made for a shape or a type.
REFUSALS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError),
    *(TileError, WorkloadError),
)


@dataclass(frozen=True)
class Case:
    """One check of a stage; `name` is unique in a workload."""

    stage: Stage
    name: str
    check: Callable[[ModuleType], ConfigurationCheck]


def configurations(subject: Subject) -> list[tuple[Stage, Config]]:
    """Those in which every version must be right: the timed ones, and the workload's own edges."""
    workload = subject.workload
    named: list[tuple[Stage, Config]] = [("basic", config) for config in workload.configs()]
    return [*named, *(("edge shapes", config) for config in edges(workload))]


def required(subject: Subject, parent: ModuleType | None = None) -> list[Case]:
    """The workload's configurations with two seeds; inputs that a `parent` leaves alone must stay."""
    named = [(stage, config, seed) for stage, config in configurations(subject) for seed in SEEDS]
    return [
        Case(stage, f"{label(config)} seed={seed}", partial(_basic, subject, parent, config, seed))
        for stage, config, seed in named
    ]


def beyond(subject: Subject) -> list[Case]:
    """Determinism and stress, which need no other compilation, then derived shapes and dtypes; always the same list."""
    timed = sorted(subject.workload.configs(), key=lambda config: float(subject.workload.bytes_moved(config)))
    base, name = timed[0], label(timed[0])
    cases = [Case("determinism", f"{name}, twice", partial(_twice, subject, base))]
    for kind in stress.KINDS:
        check = partial(stress.check, kind, subject, config=base, name=f"{name}, {kind}")
        cases.append(Case("stress", f"{name}, {kind}", check))
    derived: list[tuple[Stage, Config]] = [("edge shapes", config) for config in edge_shapes(timed)]
    derived += [("dtypes", config) for config in other_dtypes(timed)]
    new = {label(config): (stage, config) for stage, config in derived}
    for known in configurations(subject):
        new.pop(label(known[1]), None)
    for name, (stage, config) in new.items():
        cases.append(Case(stage, name, partial(subject.check, config=config, name=name)))
    return cases


def run(cases: Iterable[Case], module: ModuleType, untimed: Collection[Stage] = DEAR) -> list[ConfigurationCheck]:
    """The checks, up to the first that is not passed. In the stages `untimed` no search for configurations is timed."""
    checks: list[ConfigurationCheck] = []
    with closing(_searching(cases, untimed)) as each:
        for case in each:
            checks.append(_checked(case, module))
            if not checks[-1].passed:
                break
    return checks


def survey(cases: Iterable[Case], parent: ModuleType) -> list[ConfigurationCheck | NotEvaluated]:
    """What the unedited kernel does in each case: passes it, or does not, and why; what it cannot is no candidate's fault."""
    return [_tried(case, parent) for case in _searching(cases, DEAR)]


def _searching(cases: Iterable[Case], untimed: Collection[Stage]) -> Generator[Case, None, None]:
    """The cases, each while searches are answered as its stage has it."""
    for quick, group in groupby(cases, key=lambda case: case.stage in untimed):
        with searches.untimed() if quick else nullcontext():
            yield from group


def _checked(case: Case, module: ModuleType) -> ConfigurationCheck:
    return replace(case.check(module), stage=case.stage)


def _tried(case: Case, parent: ModuleType) -> ConfigurationCheck | NotEvaluated:
    began = time.monotonic()
    try:
        check = _checked(case, parent)
    except torch.AcceleratorError:
        raise  # the device is lost to this process, and every case after this one would fail
    except REFUSALS as error:
        return NotEvaluated(case.stage, case.name, f"{type(error).__name__}: {str(error).strip()[:100]}")
    seconds = time.monotonic() - began
    late = f"it takes {seconds:.1f} s" if seconds > MOST_S else ""
    return check if check.passed and not late else NotEvaluated(case.stage, case.name, check.reason or late)


def _basic(
    subject: Subject, parent: ModuleType | None, config: Config, seed: int, module: ModuleType
) -> ConfigurationCheck:
    inputs, pristine, before, theirs = (subject.make(config, seed) for _ in range(4))
    check = subject.judge(subject.run(module, inputs), pristine, config, f"{label(config)} seed={seed}")
    if parent is None or not check.passed:
        return check
    subject.run(parent, theirs)
    for name, tensor in before.items():
        same = isinstance(tensor, torch.Tensor) and torch.equal(theirs[name], tensor)
        if same and not torch.equal(inputs[name], tensor):
            return replace(check, passed=False, error=None, reason=f"it changes the input {name!r}")
    return check


def _twice(subject: Subject, config: Config, module: ModuleType) -> ConfigurationCheck:
    """The same inputs give the same values, NaN in the same places."""
    pairs = zip(*(subject.run(module, subject.make(config)) for _ in range(2)), strict=True)
    same = all(bool(((a == b) | ((a != a) & (b != b))).all()) for a, b in pairs)  # noqa: PLR0124 - NaN
    reason = "" if same else "two runs on the same inputs differ"
    return ConfigurationCheck(f"{label(config)}, twice", same, None, None, reason)
