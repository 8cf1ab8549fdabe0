"""Whether the order of memory operations costs a kernel anything: its machine code with the order and without."""

from kdiag.diagnose.compiler.without_order import compile_without_order
from kdiag.records import Compilation, CompileEvidence, CompileFailure, Evidence
from kdiag.workload import Workload

from .compiler import TIMEOUT_S, Compiler, of_kernel

NAME = "compile.token_order_barriers"


def probe(source: str, kernel: str, compiler: Compiler) -> Evidence:
    """What the compiler's order of memory operations adds to the kernel, over all launches of the workload.

    The value is the number of barriers that fall away without it; 0 with a text that says so where the machine code
    is the same, and None where it could not be had.
    """
    if not isinstance(compiler.workload, Workload):
        return _unavailable("there is no Python workload to capture launches from")
    ordered = of_kernel(compiler.compile_one(source), kernel)
    if isinstance(ordered, CompileFailure):
        return _unavailable(ordered.message)
    path = compiler.path(source)
    free = compile_without_order(compiler.workload, path, compiler.target, timeout_s=TIMEOUT_S)
    return compare(ordered, of_kernel(free, kernel))


def compare(ordered: tuple[CompileEvidence, ...], free: Compilation) -> Evidence:
    """The evidence from both compilations of the same launches."""
    if isinstance(free, CompileFailure):
        return _unavailable(free.message)
    if all(one.code_hash == other.code_hash for one, other in zip(ordered, free, strict=True)):
        text = "the machine code is the same without any order of memory operations: there is nothing to gain"
        return Evidence("resource", NAME, 0, "inst", text=text)
    before, after = (sum(each.instructions.get("barrier", 0) for each in found) for found in (ordered, free))
    text = (
        f"without any order of memory operations the machine code is another one, with {after} barriers in place of"
        f" {before}; whether that is faster only a measurement says"
    )
    return Evidence("resource", NAME, before - after, "inst", text=text)


def _unavailable(why: str) -> Evidence:
    return Evidence("resource", NAME, None, text=f"the cost of ordered memory operations is unknown: {why}")
