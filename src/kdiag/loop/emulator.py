"""Candidate sources, each emulated once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kdiag import isolate
from kdiag.executors.bench import Source
from kdiag.executors.emulator.cases import Cases, cannot_emulate, choose, emulate_source
from kdiag.loop.compiler import Compiler
from kdiag.records import EmulatedSource
from kdiag.workload import Workload, source_hash


@dataclass
class Emulator:
    """Runs variants of one kernel file on the CPU, as a card of the compiler's target would, and remembers the results.

    The files are those of the compiler; what is emulated is the workload's edge configurations.
    """

    compiler: Compiler
    known: dict[str, EmulatedSource] = field(default_factory=dict)
    _cases: Cases | str | None = None

    def emulate(self, sources: Sequence[str]) -> tuple[EmulatedSource | str, ...]:
        """The runs of each source, in parallel; or a sentence that says why there are none."""
        cases = self._chosen()
        workload = self.compiler.workload
        if isinstance(cases, str) or not isinstance(workload, Workload):
            return (str(cases),) * len(sources)
        new = [source for source in dict.fromkeys(sources) if source_hash(source) not in self.known]
        files = [Source.of(self.compiler.path(source)) for source in new]
        runs = isolate.together(
            lambda file: emulate_source(workload, file, self.compiler.target, cases), files, at_once=len(files)
        )
        self.known.update((source_hash(source), run) for source, run in zip(new, runs, strict=True))
        return tuple(self.known[source_hash(source)] for source in sources)

    def _chosen(self) -> Cases | str:
        """What is emulated of the workload, found out once; a text says why nothing is."""
        if self._cases is None:
            workload = self.compiler.workload
            if not isinstance(workload, Workload):
                self._cases = "there is no Python workload to run"
            else:
                isolate.warm_up()
                self._cases = cannot_emulate() or choose(workload)
        return self._cases
