"""What the remarks of tileiras say, as observations: how many places each kind of remark names, and which.

Loads, stores and matrix products are always remarked on, so a kind that is not there counts 0. About loops, shared
memory, hints and synchronization tileiras 13.4 has remarks that it was not seen to write for cuTile kernels (but for
the hint it left at its default); these say something only where they are written, and are else unavailable.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kdiag.records import CompileEvidence, Evidence, Remark


@dataclass(frozen=True)
class RemarkCount:
    """A count of places. With `of` it is unavailable unless the compiler wrote a remark of that beginning."""

    name: str
    test: Callable[[Remark], bool]
    text: str
    of: str = ""

    def known(self, remarks: Sequence[Remark]) -> bool:
        """Whether the compiler's remarks say anything about this."""
        return not self.of or any(remark.name.startswith(self.of) for remark in remarks)


OFF_TENSOR_CORES = RemarkCount(
    "compile.mma_off_tensor_cores",
    lambda r: r.name == "RemarkTensorCoreMMA" and not r.passed,
    "matrix products that run as FMA instructions",
)
COUNTS = (
    RemarkCount(
        "compile.tma_loads_rejected", lambda r: r.name == "RemarkMemoryTmaLoadFailed", "tile loads that cannot use TMA"
    ),
    RemarkCount(
        "compile.tma_stores_rejected",
        lambda r: r.name == "RemarkMemoryTmaStoreFailed",
        "tile stores that cannot use TMA",
    ),
    OFF_TENSOR_CORES,
    RemarkCount(
        "compile.mma_on_tensor_cores",
        lambda r: r.name == "RemarkTensorCoreMMA" and r.passed,
        "matrix products on tensor cores",
    ),
    RemarkCount(
        "compile.tma_loads",
        lambda r: r.name == "RemarkMemoryLoadInstructionSelected" and "TMA" in r.instruction,
        "tile loads through TMA",
    ),
    RemarkCount(
        "compile.global_loads",
        lambda r: r.name == "RemarkMemoryLoadInstructionSelected" and "TMA" not in r.instruction,
        "tile loads by ordinary instructions",
    ),
    RemarkCount(
        "compile.tma_stores",
        lambda r: r.name == "RemarkMemoryStoreInstructionSelected" and "TMA" in r.instruction,
        "tile stores through TMA",
    ),
    RemarkCount(
        "compile.global_stores",
        lambda r: r.name == "RemarkMemoryStoreInstructionSelected" and "TMA" not in r.instruction,
        "tile stores by ordinary instructions",
    ),
    RemarkCount(
        "compile.loops_pipelined",
        lambda r: r.name == "RemarkLoopPipeline" and r.passed,
        "loops whose loads are issued ahead",
        of="RemarkLoop",
    ),
    RemarkCount(
        "compile.loops_not_pipelined",
        lambda r: r.name == "RemarkLoopPipeline" and not r.passed,
        "loops whose loads are not issued ahead",
        of="RemarkLoop",
    ),
    RemarkCount(
        "compile.loops_unrolled",
        lambda r: r.name in {"RemarkLoopFullUnroll", "RemarkLoopPartialUnroll"} and r.passed,
        "loops unrolled",
        of="RemarkLoop",
    ),
    RemarkCount(
        "compile.hints_refused",
        lambda r: r.name == "RemarkHintOutOfRange" or (r.name == "RemarkHint" and not r.passed),
        "hints the compiler did not follow",
        of="RemarkHint",
    ),
    RemarkCount(
        "compile.synchronization_violations",
        lambda r: r.name == "RemarkSyncViolation",
        "violations of the synchronization protocol",
        of="RemarkSync",
    ),
)
_ALLOCATED = "RemarkMemorySmemAllocated"


def from_remarks(compiled: Sequence[CompileEvidence]) -> dict[str, Evidence]:
    """The observations of the remarks on a kernel's launches. Counts are of distinct source places."""
    remarks = [remark for evidence in compiled for remark in evidence.remarks]
    found = {}
    for count in COUNTS:
        if count.known(remarks):
            places = {remark.where: remark for remark in remarks if count.test(remark)}
            first = next(iter(places.values()), None)
            where = first.where if first else None
            found[count.name] = Evidence("remark", count.name, len(places), "", where, _said(count.text, first))
    return found | _allocated(remarks)


def lines_by_observation(compiled: Sequence[CompileEvidence], file: str) -> dict[str, frozenset[int]]:
    """The lines of `file` at which each observation is remarked on, over all launches of a kernel.

    `file` is the edited file's bare name; an observation that is unavailable is absent. A remark stands at the line on
    which the call that it is about begins.
    """
    remarks = [remark for evidence in compiled for remark in evidence.remarks]
    return {
        count.name: frozenset(r.where.line for r in remarks if count.test(r) and r.where.file == file)
        for count in COUNTS
        if count.known(remarks)
    }


def remark_lines(evidence: CompileEvidence) -> tuple[Evidence, ...]:
    """Everything the compiler could not do, one evidence for each place and kind, in the order of the source.

    `name` is the observation that counts it, or the name of a remark that none counts; `value` the instruction that
    was taken instead where the remark says so.
    """
    failed = {(remark.where, remark.name): remark for remark in evidence.remarks if not remark.passed}
    in_order = sorted(failed.values(), key=lambda r: (r.where.file, r.where.line, r.where.column, r.name))
    return tuple(_line(remark) for remark in in_order)


def _line(remark: Remark) -> Evidence:
    count = next((each for each in COUNTS if each.test(remark)), None)
    name = count.name if count else remark.name
    text = remark.text or (count.text if count else remark.name)
    return Evidence("remark", name, remark.instruction or None, "", remark.where, text)


def _said(text: str, remark: Remark | None) -> str:
    return f"{text}: {remark.text}" if remark is not None and remark.text else text


def _allocated(remarks: Sequence[Remark]) -> dict[str, Evidence]:
    """The largest allocation of shared memory that a remark reports."""
    sizes = {
        int(figure[0]): remark
        for remark in remarks
        if remark.name == _ALLOCATED and (figure := re.search(r"\d+", remark.text))
    }
    if not sizes:
        return {}
    most = max(sizes)
    name, text = "compile.smem_allocated_bytes", "shared memory a block, as the tile compiler allocates it"
    return {name: Evidence("remark", name, most, "byte", sizes[most].where, text)}
