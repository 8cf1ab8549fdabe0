"""Sets a run up or takes it up again: workload, worktree, journal, bench."""

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from kdiag import __version__, isolate, run_state
from kdiag import workload as workloads
from kdiag.diagnose.compiler.compile import cannot_compile
from kdiag.diagnose.report.read import read_launches
from kdiag.errors import RepositoryError, ToolMissing, UsageError
from kdiag.executors import gpu_pool, repo, sanitizer, worktrees
from kdiag.executors.bench import Bench
from kdiag.executors.command_bench import CommandBench
from kdiag.executors.device_bench import DeviceBench, choose_gpus, probe_gpu
from kdiag.executors.replay import Asked, RecordingBench, ReplayBench
from kdiag.executors.repo import Worktree
from kdiag.executors.stopping import TARGET_MET
from kdiag.journal import Journal, Resumed, Start
from kdiag.records import Gpu, Observations, Scalar, architecture
from kdiag.reporters.run_summary import RunHeader
from kdiag.reporters.terminal_auto import Terminal
from kdiag.rules.load_metric_sets import counters, parse_capability
from kdiag.rules.load_policies import Policy
from kdiag.workload import CommandWorkload, Workload

from . import generated_test
from .ahead import Ahead, idle_cores
from .attempt import Arena
from .auto import Run
from .candidates import Rounding
from .compiler import Compiler
from .emulator import Emulator
from .experience import memory
from .findings import choose_kernel
from .request import Request, completed, describe, policy_of, refuse_vendor

DEFAULT_TARGET = "sm_90"


@dataclass(frozen=True)
class Plan:
    """A run that only waits for the user's yes. `tests` is a file that tests the kernel file; `run_dir` is absolute."""

    request: Request
    workload: Workload | CommandWorkload
    policy: Policy
    kernel: str
    gpu: Gpu | None
    target: str
    rounding: Rounding
    run_dir: Path
    gpus: tuple[str, ...] = ()
    tests: str | None = None


def prepare(request: Request) -> Plan:
    """Read and check everything before anything is created. Raises KdiagError with what to correct."""
    request = completed(request)
    described = describe(request)
    if (start := request.earlier) is not None:
        known = start.kernel, Path(start.workload)
        if known != (request.kernel, described.path.resolve()):
            raise UsageError(
                f"{request.resume} is a run of {known[0]} with {known[1]}; leave workload and --kernel out."
            )
    source = workloads.read_source(described.kernel_file)
    kernel = choose_kernel(source, str(described.kernel_file), request.kernel)
    isolate.warm_up()  # the server imports torch while this process does, and all that follows
    if request.report is not None:
        read_launches(request.report, f"^{kernel}$")
    gpu = probe_gpu() if request.replay is None else _replayed(request, request.replay, source)
    refuse_vendor(request.goal.gpu, gpu)
    if request.record is not None:
        _refuse_record(request, request.record, no_gpu=gpu is None and isinstance(described, Workload))
    if gpu is None and isinstance(described, Workload) and (reason := cannot_compile()):
        raise ToolMissing(f"Nothing can be verified here, without a GPU and without compiling: {reason}")
    unnamed = _state_dir() / f"{kernel}-{datetime.now():%Y%m%d-%H%M%S}"
    names, gpu = ((), gpu) if request.gpus is None else _chosen_gpus(request, request.gpus, described, gpu)
    return Plan(
        request=request,
        workload=described,
        policy=policy_of(request),
        kernel=kernel,
        gpu=gpu,
        target=_target(request, gpu),
        rounding=_rounding(request, described),
        run_dir=(request.resume or request.run_dir or unnamed).resolve(),
        gpus=names,
        tests=generated_test.existing(described.kernel_file),
    )


def _replayed(request: Request, recording: Path, source: str) -> Gpu | None:
    """The card of a recording. Raises UsageError if it is of another source than the run begins with."""
    replay = ReplayBench(recording)
    if (start := request.earlier) is not None:
        source = repo.source_in(Path(start.repository), start.base_commit, start.target)
    if not replay.begins_with(source):
        raise UsageError(f"{recording} is not of this kernel file as it is; name that recording, or record anew.")
    return replay.gpu()


def _refuse_record(request: Request, recording: Path, *, no_gpu: bool) -> None:
    if no_gpu:
        raise ToolMissing("--record keeps the answers of a GPU, and torch finds none here; leave it out.")
    if request.replay is not None:
        raise UsageError("--record and --replay exclude each other; leave one out.")
    if recording.exists():
        raise UsageError(f"{recording} exists; remove it, or name another file.")
    if (run_dir := request.resume or request.run_dir) and run_dir.resolve() in recording.resolve().parents:
        raise UsageError(f"{recording} lies in the run's own folder; name a file elsewhere.")


def _chosen_gpus(
    request: Request, selection: str, described: Workload | CommandWorkload, gpu: Gpu | None
) -> tuple[tuple[str, ...], Gpu]:
    if gpu is None and isinstance(described, Workload):
        raise ToolMissing(
            f"--gpus {selection}: torch finds no GPU here; leave it out to get compiled candidates as patches."
        )
    if not isinstance(described, Workload) or request.replay is not None:
        raise UsageError(
            "--gpus spreads the configurations of a Python workload over GPUs of this machine; for commands, set "
            "CUDA_VISIBLE_DEVICES."
        )
    return choose_gpus(selection, described)


def offered_tests(plan: Plan) -> AbstractContextManager[Path | None]:
    """Tests to be read before the yes; they stay if the run begins in this block. None if there are some, or it goes on."""
    if plan.tests or not isinstance(plan.workload, Workload) or plan.request.resume is not None:
        return nullcontext()
    return generated_test.offered(plan.workload, _worktree(plan).file, plan.run_dir)


def begin(plan: Plan, terminal: Terminal) -> tuple[Run, RunHeader]:
    """Create worktree, branch and journal, or reopen those of an earlier run."""
    if plan.request.resume is not None:
        return _resume(plan, terminal)
    run_dir, worktree = plan.run_dir, _worktree(plan)
    plan, given = replace(plan, workload=workloads.written(plan.workload, run_dir)), plan.workload
    start = Start(
        kernel=plan.kernel,
        workload=str(plan.workload.path.resolve()),
        repository=str(worktree.repository),
        worktree=str(worktree.path),
        branch=worktree.branch,
        base_commit=worktree.base_commit,
        target=worktree.target.as_posix(),
        gpu=plan.gpu.name if plan.gpu else None,
        policy=plan.policy.name,
        version=__version__,
        time=datetime.now().astimezone().isoformat(),
        options=_options(plan),
    )
    journal = Journal.create(run_dir / "journal.jsonl", start)
    try:
        worktrees.create(worktree)
    except RepositoryError:
        journal.discard()
        if plan.workload is not given:
            plan.workload.path.unlink()
        raise
    if worktree.uncommitted:
        names = ", ".join(worktree.uncommitted[:5])
        terminal.on_note(f"the worktree starts from the last commit and lacks your uncommitted changes ({names})")
    return _run(plan, worktree, journal, terminal)


def _options(plan: Plan) -> dict[str, Scalar]:
    """What a resumed run has to know of how this one was asked for."""
    asked = {name: getattr(plan.request, name) for name in ("budget", "continue_anyway", "no_experience")}
    made = {"rounding": plan.rounding, "target": plan.target, "policy": plan.policy.name}
    return {**made, **asked, **asdict(plan.request.goal)}


def _worktree(plan: Plan) -> Worktree:
    today = f"{datetime.now():%Y-%m-%d}"
    return worktrees.plan_worktree(plan.workload.kernel_file, plan.kernel, plan.run_dir, today)


def _resume(plan: Plan, terminal: Terminal) -> tuple[Run, RunHeader]:
    run_dir = plan.run_dir
    journal, events = Journal.resume(run_dir / "journal.jsonl")
    state = run_state.state(events)
    start = state.start
    worktree = Worktree(
        Path(start.worktree), start.branch, start.base_commit, Path(start.target), Path(start.repository)
    )
    if copy := worktrees.save_edit(worktree, state.best_commit):
        terminal.on_note(f"{worktree.target} in the worktree was edited, which a run undoes: {copy} holds that")
    worktrees.reopen(worktree, state.best_commit)
    now, gpu = datetime.now().astimezone().isoformat(), plan.gpu.name if plan.gpu else None
    journal.append(Resumed(gpu, __version__, now, _options(plan)))
    run, header = _run(plan, worktree, journal, terminal)
    run.strategy.remember(state.tree or {}, kept=state.kept)
    run.iterations += [row for row in state.iterations if row.verdict != "ready" or run.arena.bench is None]
    run.files.write(run.iterations, run.reached)  # it may have been killed before it could
    terminal.on_start(header, tuple(run.iterations))
    if start.gpu is not None and run.arena.bench is None:
        run.over = state.ended if state.ended.startswith(TARGET_MET) else ""
        terminal.on_note(f"until now this was measured on {start.gpu}; here nothing is")
    return run, header


def _run(plan: Plan, worktree: Worktree, journal: Journal, terminal: Terminal) -> tuple[Run, RunHeader]:
    request, described = plan.request, plan.workload
    compiler = Compiler(described, described.kernel_file.name, plan.target, journal.path.parent / "candidates")
    original = repo.source_at(worktree, worktree.base_commit)
    protected = [described.path.resolve()]
    if isinstance(described, CommandWorkload):
        protected.append(worktree.repository / "tests")
    memcheck = _memcheck(plan)
    arena = Arena(
        worktree=worktree,
        emulator=Emulator(compiler),
        kernel=plan.kernel,
        bench=_bench(plan, worktree),
        policy=plan.policy,
        protected=repo.hash_files(protected),
        memcheck=memcheck or sanitizer.unavailable,
        on_keep=memcheck.get_ready if memcheck else lambda: None,
        ahead=Ahead(idle_cores() if memcheck else 0),  # answers that take the card no time leave none to work in
        on_gate=terminal.on_gate,
    )
    # A replay measures nothing new, and must not depend on what this machine has seen since.
    remembers = not request.no_experience and request.replay is None
    known = memory(plan.kernel, plan.target, terminal.on_note) if remembers else None
    run = Run(arena, journal, terminal, request, plan.rounding, original, known)
    gpu = plan.gpu.name if plan.gpu else None
    header = RunHeader(
        plan.kernel, gpu, plan.policy.name, worktree.branch, str(worktree.path), str(worktree.repository)
    )
    return run, header


def _bench(plan: Plan, worktree: Worktree) -> Bench | None:
    request, described = plan.request, plan.workload
    if request.replay is not None:
        return ReplayBench(request.replay)
    bench: Bench
    capability = plan.gpu.compute_capability if plan.gpu else None
    names = counters(parse_capability(capability) if capability else None)
    if isinstance(described, CommandWorkload):
        bench = CommandBench(described, worktree.path, worktree.file, plan.gpu, names, _observations)
    elif plan.gpu is None:
        return None
    else:
        if plan.gpus:  # for what is not spread, such as profiling
            isolate.environment.set({gpu_pool.VISIBLE: plan.gpus[0]})
        bench = device = DeviceBench(described, plan.gpu, names, _observations, gpus=gpu_pool.executors(plan.gpus))
        if request.report is None:
            device.get_ready(plan.kernel)  # it loads while the baseline is checked
    asked = Asked(plan.policy.name, asdict(request.goal))
    return RecordingBench(bench, request.record, asked) if request.record is not None else bench


def _memcheck(plan: Plan) -> sanitizer.Memcheck | None:
    """The last check of a run, where there is a card to run it on."""
    described = plan.workload
    if plan.gpu is None or plan.request.replay is not None or isinstance(described, CommandWorkload):
        return None
    return sanitizer.Memcheck(described)


def _observations(report: Path, kernel: str) -> Observations:
    return read_launches(report, f"^{kernel}$")[0].observations


def _target(request: Request, gpu: Gpu | None) -> str:
    found = architecture(gpu.compute_capability) if gpu and gpu.compute_capability else None
    if request.target and found and request.target != found:
        raise UsageError(f"--target {request.target} is not this machine's GPU ({found}); leave --target out.")
    earlier = request.earlier.options.get("target") if request.earlier else None
    return request.target or found or (str(earlier) if earlier else DEFAULT_TARGET)


def _rounding(request: Request, described: Workload | CommandWorkload) -> Rounding:
    if request.exact and request.allow_rounding:
        raise UsageError("--exact and --allow-rounding contradict each other; give one of them.")
    earlier = request.earlier.options.get("rounding") if request.earlier else None
    if not (request.exact or request.allow_rounding) and earlier in {"no", "yes"}:
        return "no" if earlier == "no" else "yes"
    declares = isinstance(described, CommandWorkload) or described.declares_tolerance
    return "no" if request.exact else "yes" if request.allow_rounding or declares else "ask"


def _state_dir() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "kdiag" / "runs"
