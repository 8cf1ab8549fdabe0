"""From findings to a ranked plan: every edit's proposals, what the compiler says of each, and their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kdiag.executors.edits.registry import propose
from kdiag.loop.compiler import Compiler, of_kernel
from kdiag.loop.findings import Findings
from kdiag.planner.rank import PlanInputs, rank
from kdiag.records import Suggestion

Rounding = Literal["yes", "ask", "no"]


@dataclass(frozen=True)
class PlanRequest:
    """One source to plan for. `headroom` is how many times faster the card's limits allow at most."""

    source: str
    kernel: str
    findings: Findings
    allow_rounding: Rounding
    headroom: float | None = None
    tried: Mapping[tuple[str, str], str] | None = None


def plan(request: PlanRequest, compiler: Compiler) -> tuple[Suggestion, ...]:
    """Rank every proposal for the source; candidates are compiled in parallel if a compiler is here."""
    proposals = propose(request.source, compiler.file_name, request.kernel, compiler.target)
    compiled = compiler.compile([proposal.source for proposal in proposals if proposal.source is not None])
    inputs = PlanInputs(
        target=compiler.target,
        diagnosis=request.findings.diagnosis,
        headroom=request.headroom,
        proposals=proposals,
        compiled={key: of_kernel(value, request.kernel) for key, value in compiled.items()},
        parent=request.findings.compilation,
        allow_rounding=request.allow_rounding,
        tried=request.tried or {},
    )
    return rank(inputs)
