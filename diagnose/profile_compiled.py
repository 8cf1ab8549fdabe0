"""The profile of kernels that were compiled and not run: what compiler, source and workload alone can tell."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from kdiag import isolate
from kdiag.errors import KdiagError, ToolMissing, UsageError, WorkloadError
from kdiag.isolate import Died
from kdiag.records import (
    CompileEvidence,
    CompileFailure,
    Diagnosis,
    Evidence,
    Gpu,
    LaunchProfile,
    Profile,
    ScalarArgument,
    SpeedOfLight,
)
from kdiag.workload import Workload
from kdiag.workload import read_source as read_text

from .classify import UNKNOWN, classify
from .compiler.compile import compile_workload
from .compiler.observe import from_compilation
from .compiler.observe_products import from_products
from .compiler.observe_remarks import remark_lines
from .roofline import roofline_of
from .source.facts import SourceFacts
from .source.observe import from_source
from .source.read import read_source
from .work import Work, WorkRequest, work_of

TIMEOUT_S = 120.0  # for all kernels of the workload; one that spills badly takes half a minute
NOTHING_RUN = "nothing was run: there are no counters and no times, so what costs most is not known"


def profile_compiled(workload: Workload, target: str, kernel: str | None) -> Profile:
    """Return the profile of what the workload launches, compiled for `target`; of all kernels, or those that match.

    `kernel` is a regular expression. Raises UsageError when it is none or nothing matches, ToolMissing without a
    toolchain, WorkloadError for a workload that launches nothing, KdiagError for a kernel that does not compile.
    """
    (answer,) = compile_workload(workload, [workload.kernel_file], target, timeout_s=TIMEOUT_S)
    if isinstance(answer, CompileFailure):
        raise failure_of(answer, workload, target)
    chosen = _matching(answer, kernel)
    facts = read_source(read_text(workload.kernel_file), workload.kernel_file.name)
    work = isolate.run(work_of, WorkRequest(workload, target), timeout_s=TIMEOUT_S)
    per_configuration = Counter(each.launch.configuration for each in answer)
    alone = {index for index, count in per_configuration.items() if count == 1}
    known = {} if isinstance(work, Died) else {index: work[index] for index in alone if index < len(work)}
    return Profile(
        source=str(workload.path),
        gpu=Gpu(f"{target}, compiled for and not run", _capability(target), None),
        kernels=tuple(_profile(index, evidence, facts, known) for index, evidence in enumerate(_distinct(chosen))),
        notes=(NOTHING_RUN, *_notes(chosen, _defined(facts), work)),
    )


def _matching(compiled: Sequence[CompileEvidence], kernel: str | None) -> list[CompileEvidence]:
    try:
        wanted = re.compile(kernel or "")
    except re.error as error:
        raise UsageError(f"--kernel {kernel!r} is not a regular expression: {error}.") from error
    chosen = [evidence for evidence in compiled if wanted.search(evidence.kernel)]
    if not chosen:
        names = ", ".join(dict.fromkeys(evidence.kernel for evidence in compiled))
        raise UsageError(f"The workload launches no kernel that matches {kernel!r}; it launches {names}.")
    return chosen


def _distinct(compiled: Sequence[CompileEvidence]) -> list[CompileEvidence]:
    """The launches that differ in their code, or in how many blocks run it."""
    return list({(each.kernel, each.code_hash, each.launch.grid): each for each in reversed(compiled)}.values())[::-1]


def _profile(index: int, evidence: CompileEvidence, facts: SourceFacts, work: Mapping[int, Work]) -> LaunchProfile:
    observations = from_compilation([evidence])
    if evidence.kernel in _defined(facts):
        observations |= from_source(facts, evidence.kernel) | from_products(facts, evidence.kernel, [evidence])
    if (least := work.get(evidence.launch.configuration)) is not None:
        observations |= least.observations()
    arguments = evidence.launch.arguments
    return LaunchProfile(
        index=index,
        name=evidence.kernel,
        symbol=evidence.kernel,
        grid=evidence.launch.grid,
        block=None if evidence.threads is None else (evidence.threads, 1, 1),
        duration_us=None,
        sol=SpeedOfLight(None, None, None),
        roofline=roofline_of(observations),
        diagnosis=_with_every_line(classify(observations), remark_lines(evidence)),
        constants={
            argument.name: argument.value
            for argument in arguments
            if isinstance(argument, ScalarArgument) and argument.constant
        },
        compiled=evidence,
    )


def _with_every_line(diagnosis: Diagnosis, lines: Sequence[Evidence]) -> Diagnosis:
    """The diagnosis with each place the compiler names, where a cause has only the first; all of them if unknown."""
    causes = []
    for cause in diagnosis.causes:
        named = {evidence.name for evidence in cause.evidence}
        more = [line for line in lines if line.name in named or cause.id == UNKNOWN]
        causes.append(replace(cause, evidence=(*cause.evidence, *more)))
    return replace(diagnosis, causes=tuple(causes))


def _notes(compiled: Sequence[CompileEvidence], defined: Set[str], work: tuple[Work, ...] | Died) -> list[str]:
    notes = []
    if elsewhere := sorted({evidence.kernel for evidence in compiled} - defined):
        notes.append(f"no facts of the source: the kernel file does not define {', '.join(elsewhere)}")
    for evidence in compiled:
        if (tuning := evidence.launch.tuning) is not None:
            count = len(tuning.configurations)
            notes.append(f"{evidence.kernel} tunes itself over {count} settings; the first was compiled")
    if isinstance(work, Died):
        notes.append(f"no least work: the workload's bytes_moved and flops failed ({work.message})")
    return list(dict.fromkeys(notes))


def _defined(facts: SourceFacts) -> set[str]:
    return {kernel.name for kernel in facts.kernels}


def _capability(target: str) -> str:
    number = target.removeprefix("sm_")
    return f"{number[:-1]}.{number[-1]}"


def failure_of(failure: CompileFailure, workload: Workload, target: str) -> KdiagError:
    """One sentence for each way to fail; without a kernel it was the workload that failed, before any compilation."""
    if failure.kind == "unavailable":
        return ToolMissing(failure.message)
    if failure.kind == "not-launched":
        return WorkloadError(failure.message)
    if not failure.kernel:
        return WorkloadError(
            f"{workload.path} failed while its launches were captured and compiled for {target}: {failure.message}"
        )
    how = {"timeout": "takes too long to compile", "crash": "killed the compiler"}.get(failure.kind, "does not compile")
    return KdiagError(f"{failure.kernel} {how} for {target}: {failure.message}")
