"""What the command line asks of a run, and what it leaves out: filled in from the run that is resumed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from kdiag import journal, run_state
from kdiag import workload as workloads
from kdiag.errors import KdiagError, UsageError
from kdiag.executors import tilegym
from kdiag.executors.replay import ReplayBench
from kdiag.journal import Start
from kdiag.records import Gpu, Scalar
from kdiag.rules.load_policies import DEFAULT, Policy, load
from kdiag.workload import CommandWorkload, Workload

from .kernel_evidence import require_kernel
from .target import METRICS, NO_TARGET, Target, Vendor, from_table, from_toml


@dataclass(frozen=True)
class Request:
    """What the command line asks for. None is not given; `resume` is the directory of an earlier run, `earlier` its start.

    `tilegym` names an operator of a checkout, in which then `workload` lies; `test` and `bench` are shell lines.
    """

    workload: Path | None = None
    kernel: str | None = None
    tilegym: str | None = None
    test: str | None = None
    bench: str | None = None
    target: str | None = None
    policy: str | None = None
    goal: Target = NO_TARGET
    exact: bool = False
    allow_rounding: bool = False
    continue_anyway: bool = False
    budget: float | None = None
    report: Path | None = None
    run_dir: Path | None = None
    resume: Path | None = None
    record: Path | None = None
    replay: Path | None = None
    gpus: str | None = None
    no_experience: bool = False
    earlier: Start | None = None


def completed(request: Request) -> Request:
    """The request with what the resumed or recorded run was asked for, then the workload's own `[target]`.

    Raises JournalError if `resume` holds no run, UsageError if what is given contradicts it or lacks a unit, WorkloadError for
    a `[target]` that says something else.
    """
    if request.resume is not None:
        if request.tilegym or request.test or request.bench or request.run_dir:
            raise UsageError("--resume takes tests, benchmark and --run-dir from the run; leave them out.")
        start = run_state.state(journal.read(request.resume / "journal.jsonl")).start
        workload, kernel = request.workload or Path(start.workload), request.kernel or start.kernel
        request = replace(request, earlier=start, workload=workload, kernel=kernel)
        request = _as_before(request, start.policy, start.options)
        before = start.options
        budget = before.get("budget") if request.budget is None else request.budget
        request = replace(
            request,
            continue_anyway=request.continue_anyway or before.get("continue_anyway") is True,
            no_experience=request.no_experience or before.get("no_experience") is True,
            budget=budget if isinstance(budget, float) else None,
        )
    if request.replay is not None and (asked := ReplayBench(request.replay).asked) is not None:
        request = _as_before(request, asked.policy, asked.target)
    goal = request.goal.over(from_toml(request.workload))
    if goal.target_value is not None and goal.target_metric is None:
        raise UsageError(f"A target value needs its unit: add --target-metric {' or '.join(METRICS)}.")
    return replace(request, goal=goal)


def _as_before(request: Request, policy: str, options: Mapping[str, Scalar]) -> Request:
    """What an earlier run was asked for, where the command line says nothing else."""
    asked = {key: value for key, value in options.items() if key in asdict(NO_TARGET)}
    target = from_table(asked, str(request.resume or request.replay))
    return replace(request, policy=request.policy or policy, goal=request.goal.over(target))


def policy_of(request: Request) -> Policy:
    """The policy asked for, with the limits that the command line or the workload set themselves."""
    policy = load(request.policy or DEFAULT)
    return replace(
        policy,
        budget_s=policy.budget_s if request.budget is None else request.budget,
        gaining_pct=policy.gaining_pct if request.budget is None else None,
        max_iterations=request.goal.max_iterations or policy.max_iterations,
        ask_when=() if request.continue_anyway else policy.ask_when,
        stop_on_small_gain=policy.stop_on_small_gain and not request.continue_anyway,
    )


def describe(request: Request) -> Workload | CommandWorkload:
    """What the run works on. Commands that no file holds yet have the kernel file as their path.

    Raises UsageError or WorkloadError saying what to give.
    """
    if request.tilegym is not None:
        operator = tilegym.find_operator(request.workload or Path(), request.tilegym)
        return tilegym.workload_of(operator, request.test, request.bench)
    if request.workload is None:
        raise UsageError("Name a workload or a kernel file, --tilegym OPERATOR, or --resume RUN_DIR.")
    if request.workload.is_file() and not workloads.is_workload(request.workload):
        return _of_kernel_file(request, request.workload)
    found = workloads.read(request.workload)
    if request.test is None and request.bench is None:
        return found
    if isinstance(found, Workload):
        raise UsageError(f"{found.path} checks and times by itself; leave --test and --bench out.")
    shell = ("bash", "-c")
    test = found.test if request.test is None else (*shell, request.test)
    bench = found.bench if request.bench is None else (*shell, request.bench)
    return CommandWorkload(found.kernel_file, found.kernel_file, test, bench)


def _of_kernel_file(request: Request, file: Path) -> Workload | CommandWorkload:
    """For a kernel file: the two commands, else what lies beside it, else its tests in a TileGym checkout."""
    if request.test is not None and request.bench is not None:
        file = file.resolve()
        return CommandWorkload(file, file, ("bash", "-c", request.test), ("bash", "-c", request.bench))
    if (found := workloads.of_kernel_file(file, None)) is not None:
        return describe(replace(request, workload=found.path))
    if (operator := tilegym.operator_of(file)) is not None:
        return tilegym.workload_of(operator, request.test, request.bench)
    require_kernel(file)
    raise UsageError(
        f"Nothing says how to run and check {file}: give --test and --bench commands, or write a workload (docs/workload.md)."
    )


def refuse_vendor(vendor: Vendor | None, gpu: Gpu | None) -> None:
    """Raise KdiagError where cuTile cannot run: on AMD's cards, or where NVIDIA's are asked for and there is none."""
    if vendor == "amd":
        raise KdiagError(
            "cuTile does not exist for AMD GPUs; run kdiag with an NVIDIA GPU, or without one (--gpu auto)."
        )
    if vendor == "nvidia" and gpu is None:
        raise KdiagError("torch finds no NVIDIA GPU here; --gpu auto leaves compiled candidates as patches.")
