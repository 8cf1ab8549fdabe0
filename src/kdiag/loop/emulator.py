"""Candidate sources, each emulated once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kdiag import isolate
from kdiag.executors.bench import Source
from kdiag.executors.emulator.cases import Cases, cannot_emulate, choose, emulate_source
from kdiag.records import EmulatedSource
from kdiag.workload import Workload

from .ahead import AskedOnce
from .compiler import Compiler
from .spent import waiting


@dataclass
class Emulator:
    """Runs variants of one kernel file on the CPU, as a card of the compiler's target would, and remembers the results.

    The files are those of the compiler; what is emulated is the workload's edge configurations.
    """

    compiler: Compiler
    _asked: AskedOnce[str, EmulatedSource] = field(default_factory=lambda: AskedOnce({}))
    _cases: AskedOnce[None, Cases | str] = field(default_factory=lambda: AskedOnce({}))

    @waiting("compiler")
    def emulate(self, sources: Sequence[str]) -> tuple[EmulatedSource | str, ...]:
        """The runs of each source, in parallel; or a sentence that says why there are none."""
        cases = self._chosen()
        workload = self.compiler.workload
        if isinstance(cases, str) or not isinstance(workload, Workload):
            return (str(cases),) * len(sources)

        def run(new: Sequence[str]) -> tuple[EmulatedSource, ...]:
            files = [Source.of(self.compiler.path(source)) for source in new]
            return isolate.together(
                lambda file: emulate_source(workload, file, self.compiler.target, cases), files, at_once=len(files)
            )

        runs = self._asked.answers(sources, run)
        return tuple(runs[source] for source in sources)

    def _chosen(self) -> Cases | str:
        """What is emulated of the workload, found out once; a text says why nothing is."""
        return self._cases.answers([None], lambda _: [self._choose()])[None]

    def _choose(self) -> Cases | str:
        workload = self.compiler.workload
        if not isinstance(workload, Workload):
            return "there is no Python workload to run"
        isolate.warm_up()
        return cannot_emulate() or choose(workload)
