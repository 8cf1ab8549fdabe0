"""What the gates look at, put together from compiler, emulator and the files at hand: for `auto` and `verify` alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kdiag import isolate
from kdiag.diagnose.compiler.observe import from_compilation
from kdiag.diagnose.compiler.observe_remarks import lines_by_observation
from kdiag.executors.gates.effect import Said
from kdiag.executors.gates.pipeline import Subject, without_device
from kdiag.loop.compiler import Compiler, of_kernel
from kdiag.loop.emulator import Emulator
from kdiag.records import Compilation, CompileFailure, EmulatedSource, GateRecord, Promise
from kdiag.workload import source_hash


@dataclass(frozen=True)
class Pair:
    """A parent and a candidate, as texts. `exact`: the edit is said to change no bit of a result."""

    parent: str
    candidate: str
    promises: Sequence[Promise] = ()
    exact: bool = False
    earlier: frozenset[tuple[str, ...]] = frozenset()


def inspect(
    pair: Pair, kernel: str, emulator: Emulator, scope: Callable[[], GateRecord]
) -> tuple[GateRecord, ...]:
    """Gates 1 to 5. A candidate that the compiler has not seen is emulated while it compiles."""
    compiler, sources = emulator.compiler, (pair.parent, pair.candidate)

    def compiled() -> tuple[Compilation, Compilation]:
        answers = compiler.compile(sources)
        parent, candidate = (of_kernel(answers[source_hash(source)], kernel) for source in sources)
        return parent, candidate

    with ThreadPoolExecutor(1) as pool:
        new = source_hash(pair.candidate) not in compiler.known
        ahead = pool.submit(emulator.emulate, sources) if new else None

        def emulated() -> tuple[EmulatedSource | str, EmulatedSource | str]:
            parent, candidate = ahead.result() if ahead is not None else emulator.emulate(sources)
            return parent, candidate

        subject = Subject(
            scope=scope,
            compiled=compiled,
            says=lambda compilation: said(compilation, compiler),
            emulated=emulated,
            earlier=pair.earlier,
            promises=pair.promises,
            exact=pair.exact,
        )
        try:
            return without_device(subject)
        except KeyboardInterrupt:
            isolate.kill_all()  # or the pool would wait for its children to the end
            raise


def said(compilation: Compilation, compiler: Compiler) -> Said:
    """What the compiler says of a kernel, for the effect gate."""
    if isinstance(compilation, CompileFailure):
        return Said()
    return Said(from_compilation(compilation), lines_by_observation(compilation, compiler.file_name))
