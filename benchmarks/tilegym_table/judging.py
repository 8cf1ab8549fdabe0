"""Applied edits through the gates, and what they would do wrong where no gate looked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kdiag.diagnose.compiler.cache import cache_folder
from kdiag.diagnose.compiler.observe import from_compilation
from kdiag.diagnose.compiler.observe_remarks import lines_by_observation
from kdiag.executors.correctness.judging import DEFAULT_TOLERANCE
from kdiag.executors.gates import compiles, effect, emulation, no_op
from kdiag.executors.gates.effect import Said
from kdiag.isolate import Died
from kdiag.records import Compilation, CompileFailure, GateRecord
from kdiag.workload import source_hash
from tilegym_cases import Compared
from tilegym_references import TF32_EPSILON
from tilegym_table.compiling import CompileJob, compile_calls
from tilegym_table.emulating import EmulateJob, emulate_cases
from tilegym_table.originals import GATE_CASES
from tilegym_table.records import TARGETS, Checkout, Emulated, Judged, Kernel, Offer, Original, Version
from tilegym_table.workers import Workers

COMPILE_S, EMULATE_S = 120.0, 120.0
ROUNDED_OPERANDS = ("D",)  # optimizations that round float32 operands to tfloat32


@dataclass
class Candidate:
    """One edited text of a kernel's file, the offers it came from, and what was found out of it."""

    original: Original
    version: Version
    offers: list[Offer] = field(default_factory=list)
    compiled: dict[str, Compilation] = field(default_factory=dict)
    emulated: Mapping[int, Emulated] | Died = field(default_factory=dict)

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that it was offered for."""
        return tuple(target for target in TARGETS if any(offer.target == target for offer in self.offers))


def judge(
    checkout: Checkout, offers: Sequence[Offer], known: Mapping[Kernel, Original], workers: Workers
) -> list[Judged]:
    """Every applied offer with its verdict; offers with the same text are compiled and emulated once."""
    candidates = _candidates(checkout, offers, known)
    jobs = [(one, target) for one in candidates for target in one.targets if one.original.calls]
    requests = [_compile_job(checkout, one, target) for one, target in jobs]
    for (one, target), answer in zip(jobs, workers.each(compile_calls, requests, COMPILE_S), strict=True):
        one.compiled[target] = _compilation(one.original.kernel, answer)
    to_emulate = [one for one in candidates if one.original.emulated]
    cases = [EmulateJob(checkout, one.version, tuple(one.original.emulated), checkout.work) for one in to_emulate]
    for one, found in zip(to_emulate, workers.each(emulate_cases, cases, EMULATE_S), strict=True):
        one.emulated = found
    return [_judged(one, offer) for one in candidates for offer in one.offers]


def _candidates(checkout: Checkout, offers: Sequence[Offer], known: Mapping[Kernel, Original]) -> list[Candidate]:
    found: dict[tuple[Kernel, str], Candidate] = {}
    for offer in offers:
        if offer.said != "applied":
            continue
        digest = source_hash(offer.text)
        path = checkout.work / digest[:16] / offer.kernel.file.rpartition("/")[2]
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(offer.text.encode())
        version = Version(offer.kernel.file, path, digest)
        key = (offer.kernel, digest)
        found.setdefault(key, Candidate(known[offer.kernel], version)).offers.append(offer)
    return list(found.values())


def _compile_job(checkout: Checkout, one: Candidate, target: str) -> CompileJob:
    original = one.original
    return CompileJob(checkout, one.version, original.calls, target, cache_folder(), original.kernel)


def _compilation(kernel: Kernel, answer: dict[Kernel, Compilation] | Died) -> Compilation:
    if isinstance(answer, Died):
        return CompileFailure(answer.kind, answer.message + answer.raised_at, kernel.name)
    return answer.get(kernel, CompileFailure("not-launched", "its wrapper no longer launches it", kernel.name))


def _judged(one: Candidate, offer: Offer) -> Judged:
    wrongs = _wrongs(one, offer)
    for record in _gates(one, offer, wrongs[:GATE_CASES]):
        if record.outcome == "failed":
            return Judged(offer, record.gate, record.reason, next(filter(None, wrongs), ""))
    return Judged(offer, "", "", next(filter(None, wrongs), ""))


def _gates(one: Candidate, offer: Offer, seen: Sequence[str]) -> list[GateRecord]:
    """The gates that need no GPU, in order; those after a failed one do not matter."""
    records = []
    if offer.target in one.compiled:
        parent, candidate = one.original.compiled[offer.target], one.compiled[offer.target]
        records = [
            compiles.compiles(candidate, parent),
            no_op.not_a_no_op(candidate, parent),
            effect.effect(offer.promises, _said(parent, one), _said(candidate, one)),
        ]
    wrong = next(filter(None, seen), "")
    return [*records, GateRecord(emulation.GATE, "failed" if wrong else "passed", wrong)]


def _said(compilation: Compilation, one: Candidate) -> Said:
    """What the compiler says of a kernel, for the effect gate."""
    if isinstance(compilation, CompileFailure):
        return Said()
    return Said(from_compilation(compilation), lines_by_observation(compilation, one.version.path.name))


def _wrongs(one: Candidate, offer: Offer) -> list[str]:
    """What is wrong with each small call, "" for nothing."""
    if isinstance(one.emulated, Died):
        return [f"the emulation died: {one.emulated.message}{one.emulated.raised_at}"]
    return [
        _wrong(before, after, offer)
        for index, before in one.original.emulated.items()
        if (after := one.emulated.get(index)) is not None
    ]


def _wrong(before: Emulated, after: Emulated, offer: Offer) -> str:
    if after.failure:
        return f"{after.case} raises {after.failure}"
    if new := after.faults - before.faults:
        return f"{after.case}: new faults {', '.join(' of '.join(filter(None, one)) for one in sorted(new))}"
    if after.equal:
        return ""
    if offer.safety == "safe":
        return f"{after.case}: bits differ although the edit is said to be safe"
    for old, new_one in zip(before.errors, after.errors, strict=True):
        if not new_one.error <= _tolerated(old, offer):
            return f"{after.case}: error {new_one.error:.3g}, before {old.error:.3g}, largest element {old.scale:.3g}"
    return ""


def _tolerated(before: Compared, offer: Offer) -> float:
    """The error that an edit which changes rounding may leave in a tensor."""
    rounding = 2 * TF32_EPSILON if offer.optimization in ROUNDED_OPERANDS else 0.0
    declared = max(DEFAULT_TOLERANCE.get(before.dtype, 0.0), rounding) * before.scale
    return max(before.allowed, 2 * before.error, declared)
