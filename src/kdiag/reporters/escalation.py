"""What a person needs who is asked to decide: the evidence in figures, what was tried, and what can be done."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from kdiag.records import Diagnosis, Evidence, Iteration

SHOWN = 6  # facts a cause: those that carry most of its score come first


def escalation(question: str, diagnosis: Diagnosis, iterations: Sequence[Iteration], run: Path) -> str:
    """The question, the causes that score best with their numbers, the attempts so far, and the next commands."""
    resume = f"kdiag auto --resume {shlex.quote(str(run))} --yes"
    return "\n".join(
        [
            question,
            "Evidence:",
            *_evidence(diagnosis),
            "Tried so far:",
            *(_attempts(iterations) or ["  nothing yet"]),
            "What you can do:",
            f"  go on all the same:      {resume} --continue-anyway",
            f"  under another policy:    {resume} --policy adaptive",
            "  with a fuller profile:   kdiag auto ... --report REPORT.ncu-rep (kdiag profile says how to record one)",
            "  try one edit by hand:    kdiag plan KERNEL.py, then kdiag apply and kdiag verify",
        ]
    )


def _evidence(diagnosis: Diagnosis) -> list[str]:
    lines = []
    for cause in diagnosis.causes[:2]:
        lines.append(f"  {cause.id}, score {cause.score:.0%}:")
        lines += [f"    {_fact(fact)}" for fact in cause.evidence[:SHOWN]]
    if not lines:
        lines.append(f"  no cause explains what was seen (confidence {diagnosis.confidence:.0%})")
    missing = diagnosis.not_evaluated
    if missing:
        lines.append(f"  not evaluated, for want of a figure: {', '.join(missing[:SHOWN])}")
    return lines


def _fact(fact: Evidence) -> str:
    value = f"{fact.value:.4g}" if isinstance(fact.value, float) else str(fact.value)
    return fact.text or f"{fact.name} {value} {fact.unit}".rstrip()


def _attempts(iterations: Sequence[Iteration]) -> list[str]:
    return [
        f"  {row.n} {row.optimization} {row.variant}: {row.verdict}"
        + (f" {row.speedup:.3f}x" if row.speedup is not None else "")
        + (f", {row.reason}" if row.reason else "")
        for row in iterations
        if row.n > 0
    ]
