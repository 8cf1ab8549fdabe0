"""All that an exhaustive search would time: the sources that one or two edits in a row make of a kernel."""

from ranking.measure import offered

from kdiag.executors.gates.no_op import machine_code
from kdiag.loop.compiler import Compiler, of_kernel
from kdiag.planner.compile_evidence import stack_bytes
from kdiag.records import CompileFailure

EDITS = 2


def space(source: str, kernel: str, compiler: Compiler) -> dict[str, tuple[str, ...]]:
    """Each source with the edits that made it.

    What runs the same machine code, as the no-op gate sees it, is there once, with the fewest edits; what spills more
    than the unedited kernel, or does not compile, is left out, and nothing is tried on top of it.
    """
    everything = compiler.compile_one(source)
    unedited = of_kernel(everything, kernel)
    known, edited, found = {machine_code(unedited)}, {source: ()}, dict[str, tuple[str, ...]]()
    for _ in range(EDITS):
        offers = dict[str, tuple[str, ...]]()
        for text, names in edited.items():
            for made, other in offered(text, kernel, compiler, everything):
                offers.setdefault(other, (*names, f"{made.variant.optimization} {made.variant.name}"))
        edited = {}
        for text, compiled in zip(offers, compiler.compile(list(offers)).values(), strict=True):
            candidate = of_kernel(compiled, kernel, everything)
            if isinstance(candidate, CompileFailure) or (stack_bytes(candidate) or 0) > (stack_bytes(unedited) or 0):
                continue
            if machine_code(candidate) not in known:
                known.add(machine_code(candidate))
                edited[text] = offers[text]
        found |= edited
    return found
