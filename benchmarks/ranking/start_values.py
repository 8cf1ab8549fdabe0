"""Writes the bundled trials, rules/start_values/<card>.json.xz, from what `measure.py` measured.

    PYTHONPATH=src:benchmarks python benchmarks/ranking/start_values.py STEPS.json.xz rules/start_values/h200.json.xz

Kernels that are held out are left out.
"""

import argparse
import json
import lzma
import tempfile
from dataclasses import astuple
from pathlib import Path

from ranking.records import KernelSteps, Step, read

from kdiag.loop.candidates import proposed
from kdiag.loop.compiler import Compiler, of_kernel
from kdiag.loop.experience import features
from kdiag.loop.findings import Findings
from kdiag.planner.compile_evidence import effect
from kdiag.workload import source_hash


def entry(found: KernelSteps, scratch: Path) -> dict[str, object]:
    """One kernel: what kind it is, its leading cause, and what each step gave."""
    source, compiler, findings = found.findings(scratch)
    effects = _effects(source, found.kernel, findings, compiler)
    causes = findings.diagnosis.causes
    return {
        "kernel": Path(found.folder).name,
        "features": features(findings),
        "cause": causes[0].id if causes else "",
        "bottleneck": findings.diagnosis.bottleneck,
        "steps": [
            row + effects.get((step.optimization, step.variant), []) for step in found.steps if (row := _row(step))
        ],
    }


def _effects(source: str, kernel: str, findings: Findings, compiler: Compiler) -> dict[tuple[str, str], list[object]]:
    """The effect of each variant, but of those where it says nothing."""
    proposals = [each for each in proposed(source, kernel, findings, compiler) if each.source]
    known = compiler.compile([source, *(each.source for each in proposals if each.source)])
    found: dict[tuple[str, str], list[object]] = {}
    for each in proposals:
        compiled = of_kernel(known[source_hash(each.source or "")], kernel, known[source_hash(source)])
        does = effect(each.variant, compiled, findings.compilation)
        if does.growth is not None or does.spilled:
            found[each.variant.optimization, each.variant.name] = list(astuple(does))
    return found


def _row(step: Step) -> list[object] | None:
    """Optimization, variant and speed-up, or in its place the verdict; None for what says nothing of the edit."""
    name: list[object] = [step.optimization, step.variant]
    if step.speedup is not None:
        return [*name, round(step.speedup, 3)]
    verdicts = {"no-op": "no-op", "wrong": "revert", "crash: no answer": "crash"}
    verdict = next((verdict for begin, verdict in verdicts.items() if step.outcome.startswith(begin)), None)
    return [*name, verdict] if verdict else None  # no memory beside others: of the measurement, not of the edit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    measured = read(options.steps)
    with tempfile.TemporaryDirectory(prefix="kdiag-start-") as scratch:
        kernels = [entry(k, Path(scratch) / k.kernel) for k in measured.kernels if not k.held_out]
    head = {"gpu": measured.gpu, "architecture": "sm_90", "date": measured.date, "toolchain": "cuda-tile 1.7.0"}
    lines = ",\n".join(json.dumps(each, separators=(",", ":")) for each in kernels)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(head)[:-1] + ', "kernels": [\n' + lines + "\n]}\n"
    options.out.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
