"""What the gates look at, put together from compiler, emulator and the files at hand: for every command alike."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from threading import Event

from kdiag import isolate
from kdiag.diagnose.compiler.observe import from_compilation
from kdiag.diagnose.compiler.observe_remarks import lines_by_observation
from kdiag.executors.gates.effect import Said
from kdiag.executors.gates.pipeline import Emulated, Inspection, without_device
from kdiag.executors.gates.scope import Protected, Texts, scope
from kdiag.records import Compilation, CompileFailure, GateRecord, Promise
from kdiag.workload import source_hash

from .compiler import Compiler, of_kernel
from .emulator import Emulator
from .spent import waiting


@dataclass(frozen=True)
class Pair:
    """A parent and a candidate, as texts. `planned` is what the edit makes of the parent, None for an edit by hand.

    `exact`: the edit is said to change no bit of a result. `earlier` is the machine code of what was tried before.
    """

    parent: str
    candidate: str
    promises: Sequence[Promise] = ()
    exact: bool = False
    earlier: frozenset[tuple[str, ...]] = frozenset()
    planned: str | None = None


def inspection_of(pair: Pair, kernel: str, compiler: Compiler) -> Inspection:
    """What the gates that ask the compiler look at."""
    sources = (pair.parent, pair.candidate)

    def compiled() -> tuple[Compilation, Compilation]:
        answers = compiler.compile(sources)
        before, after = (answers[source_hash(source)] for source in sources)
        return of_kernel(before, kernel), of_kernel(after, kernel, before)

    return Inspection(
        scope=lambda: scope(Protected(), Texts(pair.parent, pair.planned, pair.candidate)),
        compiled=compiled,
        says=lambda compilation: said(compilation, compiler),
        earlier=pair.earlier,
        promises=pair.promises,
        exact=pair.exact,
    )


def inspect(
    pair: Pair, kernel: str, emulator: Emulator, in_scope: Callable[[], GateRecord] | None = None
) -> tuple[GateRecord, ...]:
    """Gates 1 to 5. A candidate that the compiler has not seen is emulated while it compiles.

    `in_scope` looks at more than the two texts.
    """
    compiler, sources = emulator.compiler, (pair.parent, pair.candidate)
    inspection = inspection_of(pair, kernel, compiler)
    over = Event()
    with ThreadPoolExecutor(1, initializer=isolate.over.set, initargs=(over,)) as pool:
        new = source_hash(pair.candidate) not in compiler.known
        ahead = pool.submit(emulator.emulate, sources) if new else None

        @waiting("compiler")
        def emulated() -> Emulated:
            parent, candidate = ahead.result() if ahead is not None else emulator.emulate(sources)
            return parent, candidate

        try:
            records = without_device(replace(inspection, scope=in_scope or inspection.scope, emulated=emulated))
            with waiting("compiler"):
                wait([ahead] if ahead else [])  # also for what a gate has made needless
            return records
        except KeyboardInterrupt:
            isolate.end_server()
            isolate.finish(over, [ahead] if ahead else [])  # or the pool would wait for its children to the end
            raise


def said(compilation: Compilation, compiler: Compiler) -> Said:
    """What the compiler says of a kernel, for the effect gate."""
    if isinstance(compilation, CompileFailure):
        return Said()
    return Said(from_compilation(compilation), lines_by_observation(compilation, compiler.file_name))
