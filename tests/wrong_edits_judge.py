"""Judges wrong edits in one process, by the gates that run on the CPU: emulation first, which is the fastest here."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch

from kdiag.executors.correctness.judging import label
from kdiag.executors.emulator.case_request import Sized
from kdiag.executors.emulator.case_run import emulated
from kdiag.executors.emulator.cases import cases_of
from kdiag.executors.emulator.emulation import Emulations, emulations
from kdiag.executors.emulator.faults import NotEmulated
from kdiag.executors.gates.emulation import emulation
from kdiag.executors.gates.no_op import not_a_no_op
from kdiag.loop.compiler import Compiler
from kdiag.records import CompileFailure, ConfigurationCheck, EmulatedCase, EmulatedSource, EmulationCase, GateRecord
from kdiag.workload import Workload, load_module, source_hash
from wrong_edits import FOLDERS, kernel_file, workload_text

TRIES = 3


@dataclass
class Judge:
    """Runs the cases of one kernel; `folder` gets its files. Once a case tells that an edit is wrong, no other is run."""

    kernel: str
    folder: Path
    made: Emulations
    parent: dict[EmulationCase, EmulatedCase] = field(default_factory=dict)

    def __post_init__(self):
        self.folder.mkdir(parents=True)
        self.source = kernel_file(self.kernel).read_text()
        workload = self.folder / "workload.py"
        workload.write_text(workload_text(self.kernel))
        (self.folder / kernel_file(self.kernel).name).write_text(self.source)
        self.workload = Workload(workload, self.folder / kernel_file(self.kernel).name, False)
        self.described = load_module(workload, search=self.folder)
        edge = hasattr(self.described, "edge_configs")
        configs = self.described.edge_configs() if edge else self.described.configs()
        cases = cases_of([Sized(label(config), edge, n, 0.0) for n, config in enumerate(configs)])
        self.cases = (*cases.required, *cases.optional)
        module = self.load(self.source)
        self.parent = {case: emulated(case, self.described, module, self.made) for case in self.cases}

    def load(self, source):
        path = self.folder / source_hash(source)[:16] / kernel_file(self.kernel).name
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
        return load_module(path, search=self.folder)

    def emulation(self, edit, *, exact):
        """The emulation gate's word, after as few cases as it takes."""
        record, whole = GateRecord("emulation", "could-not-run"), EmulatedSource(self.parent)
        ran = {}
        missing = {}
        module = None
        for case in self.cases:
            try:
                module = module or self.load(edit.source)
                ran[case] = emulated(case, self.described, module, self.made)
            except NotEmulated as error:
                missing[case] = str(error)
            except Exception as error:  # noqa: BLE001 - in kdiag this ends a child
                reason = f"{type(error).__name__}: {error}"
                check = ConfigurationCheck(str(case), False, None, None, reason)
                ran[case] = EmulatedCase(check, failure=reason)
            record = emulation(whole, EmulatedSource(ran, missing), exact=exact)
            if record.outcome == "failed":
                break
        return record


@contextmanager
def judges(folder, kernels=tuple(FOLDERS)):
    """A judge for each kernel, on one BLAS and one torch thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with emulations("sm_90") as made:
            yield {kernel: Judge(kernel, folder / kernel, made) for kernel in kernels}
    finally:
        torch.set_num_threads(threads)


def no_ops(judge, edits):
    """The no-op gate's word on each edit. The compiler runs in children, several at a time; late ones are asked again."""
    compiler = Compiler(judge.workload, judge.workload.kernel_file.name, "sm_90", judge.folder / "compiled")
    sources = [judge.source, *(edit.source for edit in edits)]
    for _ in range(TRIES):
        answers = compiler.compile(sources)
        late = [key for key, one in answers.items() if isinstance(one, CompileFailure) and one.kind == "timeout"]
        for key in late:
            del compiler.known[key]
        if not late:
            break
    parent = answers[source_hash(judge.source)]
    return [not_a_no_op(answers[source_hash(edit.source)], parent) for edit in edits]
