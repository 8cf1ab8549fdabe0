"""Gathers all that is known about a kernel into one brief."""

import ast
import shlex
from dataclasses import dataclass
from pathlib import Path

from kdiag.records import Brief, Iteration, Place, Suggestion
from kdiag.rules.load_ideas import ideas_for
from kdiag.workload import CommandWorkload, Workload

from .compiler import Compiler
from .findings import Findings
from .token_order import probe

CONSTRAINTS = (
    "What the kernel computes, for every input that it accepts.",
    "Tests, references, workloads and benchmarks.",
    "The signature of the launch wrapper, and every file but the kernel's own.",
    "Numbers that only have to be close may move within the tolerance of the workload, and no further.",
    "No configuration may become more than 2 % slower.",
)


@dataclass(frozen=True)
class BriefRequest:
    """One source with what was found out about it, the plan made from that, and what a run has tried before."""

    kernel_file: Path
    source: str
    kernel: str
    findings: Findings
    suggestions: tuple[Suggestion, ...]
    tried: tuple[Iteration, ...] = ()


def brief(request: BriefRequest, compiler: Compiler) -> Brief:
    """The brief of a kernel that `request.source` defines; compiles it once more, without order of memory operations."""
    diagnosis = request.findings.diagnosis
    causes = [cause.id for cause in diagnosis.causes] or [diagnosis.bottleneck]
    line, text = _excerpt(request.source, request.kernel)
    return Brief(
        kernel=request.kernel,
        target=compiler.target,
        where=Place(str(request.kernel_file), line),
        source=text,
        compilation=request.findings.compilation,
        diagnosis=diagnosis,
        headroom=request.findings.headroom,
        order=probe(request.source, request.kernel, compiler),
        suggestions=request.suggestions,
        tried=request.tried,
        ideas=ideas_for(causes, request.kernel) or ideas_for(["unknown"], request.kernel),
        constraints=CONSTRAINTS,
        verify=_commands(request, compiler),
        notes=request.findings.notes,
    )


def _excerpt(source: str, kernel: str) -> tuple[int, str]:
    """The line at which the kernel's decorators begin, and its text."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == kernel:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return first, "\n".join(lines[first - 1 : node.end_lineno]) + "\n"
    return 1, ""


def _commands(request: BriefRequest, compiler: Compiler) -> tuple[str, ...]:
    """The commands that check a changed kernel, the cheap ones first."""
    file, kernel = shlex.quote(str(request.kernel_file)), shlex.quote(request.kernel)
    chosen = f"--kernel {kernel} --target {compiler.target}"
    if isinstance(compiler.workload, CommandWorkload):
        return (shlex.join(compiler.workload.test), shlex.join(compiler.workload.bench))
    if not isinstance(compiler.workload, Workload):
        return (f"kdiag plan {file} {chosen}",)
    workload = shlex.quote(str(compiler.workload.path))
    return (
        f"kdiag plan {file} {chosen} --workload {workload}",
        f"kdiag emulate {workload}",
        f"kdiag profile {workload}",
        f"kdiag auto {workload} --kernel {kernel}",
    )
