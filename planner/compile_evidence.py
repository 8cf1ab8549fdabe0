"""What ahead-of-time compilation says about a candidate before any time on a GPU is spent.

The names of the remarks are those of tileiras 13.4. The speed-ups that follow from a finding are measured ones:
a rejected TMA load beside a TMA store made a row softmax 0.18x, without the TMA store 0.72x. What spills where its parent
does not is ruled out, as the effect gate would refuse it: frames of 500 bytes and more made kernels 0.07 to 1.0 times as
fast, smaller ones 0.5 to 2.2 times (NVIDIA H200, sm_90, measured 2026-11).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kdiag.records import (
    Cause,
    Compilation,
    CompileEvidence,
    CompileFailure,
    Diagnosis,
    Effect,
    Evidence,
    ExpectedSpeedup,
    Observations,
    Proposal,
    Remark,
    Variant,
    number,
)
from kdiag.rules.load_causes import load_causes

LEAST_MOVE = 0.05  # of what a rule promises to move; less is what any edit does to code
REJECTED_LOAD = ExpectedSpeedup(0.17, 0.18, 0.75)
REJECTED_LOAD_PLAIN_STORE = ExpectedSpeedup(0.5, 0.72, 1.0)
SURE, NO_EFFECT = 0.9, 0.3
# Launches that leave the card idle: how a tile is loaded hardly shows in their time (64 launches joined into one became
# 9.2x faster on the H200 although TMA cannot load what it then reads).
LOADS_DO_NOT_LIMIT = frozenset({"grid-too-small", "launch-bound", "host-overhead"})

OFF_TENSOR_CORES = frozenset({"mma-off-tensor-cores", "mma-tile-too-small"})  # the type's fault, and the tile's
MMA, TMA_LOAD_FAILED = "RemarkTensorCoreMMA", "RemarkMemoryTmaLoadFailed"
TMA_STORE = "TMA Store instruction"


@dataclass(frozen=True)
class Finding:
    """How a compilation changes what is expected: `speedup` and `confidence` replace the prior's where given,
    `factor` scales its confidence, `why_not` rules the candidate out.
    """

    why_not: str | None = None
    speedup: ExpectedSpeedup | None = None
    confidence: float | None = None
    factor: float = 1.0
    evidence: tuple[Evidence, ...] = ()
    reason: str = "this candidate was not compiled, so nothing is known from it"


def judge(proposal: Proposal, candidate: Compilation | None, parent: Compilation | None, cause: str) -> Finding:
    """What the compilations of a candidate and its parent say of a candidate that is meant to treat `cause`."""
    if candidate is None or (isinstance(candidate, CompileFailure) and candidate.kind == "unavailable"):
        return Finding()
    if isinstance(candidate, CompileFailure):
        return Finding(why_not=f"does not compile ({candidate.kind}): {candidate.message}", reason="")
    if parent is None or isinstance(parent, CompileFailure):
        return Finding(reason="it compiles; its parent has no compiler evidence to compare with")
    if code(candidate) == code(parent):
        return Finding(why_not="compiles to identical machine code", reason="")
    return (
        _spills(candidate, parent)
        or (_rejected_load(candidate, parent) if cause not in LOADS_DO_NOT_LIMIT else None)
        or _cured(candidate, parent, cause)
        or _without_effect(proposal, candidate, parent, cause)
        or Finding(reason="it compiles to other machine code, without new spills or newly rejected TMA loads")
    )


def parent_causes(parent: Compilation | None) -> tuple[Cause, ...]:
    """Causes that the compiler's word on the unedited kernel proves, with or without a profile.

    That an mma missed the tensor cores decides by itself; what spills and rejected loads cost, a profile may know
    better. A rejected load weighs most beside a store that does use TMA.
    """
    if parent is None or isinstance(parent, CompileFailure):
        return ()
    frame = stack_bytes(parent) or 0
    found = {
        "mma-off-tensor-cores": (0.95, tuple(map(_evidence, failures(parent, MMA)))),
        "register-spills": (0.8, (_frame(frame, f"a stack frame of {frame:,} bytes"),) if frame else ()),
        "tma-load-rejected": (
            0.8 if _tma_stores(parent) else 0.4,
            tuple(map(_evidence, failures(parent, TMA_LOAD_FAILED))),
        ),
    }
    rules = load_causes()
    return tuple(
        Cause(name, score, rules[name].bottleneck, evidence) for name, (score, evidence) in found.items() if evidence
    )


def known_causes(diagnosis: Diagnosis | None, parent: Compilation | None) -> tuple[Cause, ...]:
    """The causes of the diagnosis and those the compiler proves of the parent, best first, each once.

    A profile that saw the kernel run and did not name spills or a rejected load halves what the compiler says of them.
    """
    found = {cause.id: cause for cause in (diagnosis.causes if diagnosis else ())}
    for cause in parent_causes(parent):
        if cause.id in OFF_TENSOR_CORES and not OFF_TENSOR_CORES.isdisjoint(found):
            continue  # the diagnosis knows the types, and so whose fault it is
        doubted = diagnosis is not None and cause.id not in OFF_TENSOR_CORES
        score = cause.score * (0.5 if doubted else 1.0)
        if cause.id not in found or found[cause.id].score < score:
            found[cause.id] = replace(cause, score=score)
    return tuple(sorted(found.values(), key=lambda cause: -cause.score))


def unmoved(before: Observations, after: Observations) -> frozenset[str]:
    """The moves ("-compile.stack_bytes") that a rule could promise and a candidate, of which the compiler said what is
    in `after`, does not make, or by less than LEAST_MOVE.
    """
    found = set()
    for name in before.keys() & after.keys():
        one, other = number(before, name), number(after, name)
        if one is not None and other is not None and name.startswith("compile."):
            found |= {f"-{name}"} if other > one * (1 - LEAST_MOVE) or other >= one else set()
            found |= {f"+{name}"} if other < one * (1 + LEAST_MOVE) or other <= one else set()
    return frozenset(found)


def effect(variant: Variant, candidate: Compilation | None, parent: Compilation | None) -> Effect:
    """What a variant does, as far as it is known before it has run."""
    known = Effect(variant.growth)
    if not isinstance(candidate, tuple) or not isinstance(parent, tuple):
        return known
    before, after = stack_bytes(parent), stack_bytes(candidate)
    if before is not None and after is not None:
        known = replace(known, spilled=after - before)
    if any(each.launch.tuning is not None for each in (*candidate, *parent)):
        return known
    same = [e.launch.grid for e in candidate] == [e.launch.grid for e in parent]
    return replace(known, grid="kept" if same else "changed")


def code(compilation: Compilation | None) -> tuple[str, ...] | None:
    """The hashes of the machine code of all launches, with what chooses among several; None when it was not compiled.

    Of a launch that is searched for the first configuration is compiled, which may be that of the parent.
    """
    if compilation is None or isinstance(compilation, CompileFailure):
        return None
    return tuple(f"{each.code_hash} {each.launch.tuning or ''}" for each in compilation)


def failures(launches: tuple[CompileEvidence, ...], name: str) -> tuple[Remark, ...]:
    """Remarks of one name that report a failure, each place and sentence once."""
    failed = [remark for launch in launches for remark in launch.remarks if remark.name == name and not remark.passed]
    return tuple({(remark.where, remark.text): remark for remark in failed}.values())


def stack_bytes(launches: tuple[CompileEvidence, ...]) -> int | None:
    """The largest stack frame of the launches in bytes; None as soon as one is unavailable."""
    frames = [launch.stack_bytes for launch in launches]
    known = [frame for frame in frames if frame is not None]
    return max(known) if known and len(known) == len(frames) else None


def _spills(candidate: tuple[CompileEvidence, ...], parent: tuple[CompileEvidence, ...]) -> Finding | None:
    before, after = stack_bytes(parent), stack_bytes(candidate)
    if before is None or after is None or after <= before:
        return None
    reason = f"it spills registers: a stack frame of {after:,} bytes where the parent has {before:,}"
    return Finding(why_not=reason, evidence=(_frame(after, reason),), reason="")


def _rejected_load(candidate: tuple[CompileEvidence, ...], parent: tuple[CompileEvidence, ...]) -> Finding | None:
    failed = failures(candidate, TMA_LOAD_FAILED)
    if len(failed) <= len(failures(parent, TMA_LOAD_FAILED)):
        return None
    reason = f"TMA is rejected for the load in line {failed[0].where.line} of the edited file: {failed[0].text}"
    speedup = REJECTED_LOAD if _tma_stores(candidate) else REJECTED_LOAD_PLAIN_STORE
    return Finding(speedup=speedup, confidence=SURE, evidence=tuple(map(_evidence, failed)), reason=reason)


def _cured(candidate: tuple[CompileEvidence, ...], parent: tuple[CompileEvidence, ...], cause: str) -> Finding | None:
    if cause in OFF_TENSOR_CORES and failures(parent, MMA) and not failures(candidate, MMA):
        passed = [r for launch in candidate for r in launch.remarks if r.name == MMA and r.passed]
        reason = "the compiler puts the mma on tensor cores now"
        return Finding(confidence=0.95, evidence=tuple(map(_evidence, passed[:1])), reason=reason)
    if cause == "register-spills" and stack_bytes(parent) and stack_bytes(candidate) == 0:
        reason = f"the spills are gone: no stack frame where the parent has {stack_bytes(parent):,} bytes"
        return Finding(confidence=SURE, evidence=(_frame(0, reason),), reason=reason)
    if cause == "tma-load-rejected" and failures(parent, TMA_LOAD_FAILED):
        if not failures(candidate, TMA_LOAD_FAILED):
            return Finding(confidence=SURE, reason="no TMA load is rejected any more")
        if _tma_stores(parent) > _tma_stores(candidate):
            return Finding(confidence=SURE, reason="the load stays rejected, but fewer stores go through TMA beside it")
    return None


def _without_effect(
    proposal: Proposal, candidate: tuple[CompileEvidence, ...], parent: tuple[CompileEvidence, ...], cause: str
) -> Finding | None:
    """The cause is one the compiler can see, the parent has it, and the candidate has it still."""
    remains = {
        **dict.fromkeys(OFF_TENSOR_CORES, bool(failures(parent, MMA)) and bool(failures(candidate, MMA))),
        "register-spills": bool(stack_bytes(parent)) and bool(stack_bytes(candidate)),
        "tma-load-rejected": bool(failures(parent, TMA_LOAD_FAILED)) and bool(failures(candidate, TMA_LOAD_FAILED)),
    }
    if not remains.get(cause, False):
        return None
    promised = "; it promised: " + proposal.promises[0].text if proposal.promises else ""
    return Finding(
        speedup=ExpectedSpeedup(0.9, 1.0, 1.1),
        factor=NO_EFFECT,
        reason=f"after the edit the compiler still reports {cause}{promised}",
    )


def _tma_stores(launches: tuple[CompileEvidence, ...]) -> int:
    stores = [r.where for launch in launches for r in launch.remarks if r.passed and r.instruction == TMA_STORE]
    return len(set(stores))


def _evidence(remark: Remark) -> Evidence:
    return Evidence("remark", remark.name, remark.instruction or None, where=remark.where, text=remark.text)


def _frame(size: int, text: str) -> Evidence:
    return Evidence("resource", "compile.stack_bytes", size, "bytes", text=text)
