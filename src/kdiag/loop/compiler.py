"""Candidate sources on disk, each compiled once."""

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kdiag.diagnose.compiler.compile import compile_workload
from kdiag.diagnose.compiler.observe import from_compilation
from kdiag.records import Compilation, CompileFailure, Launch, number
from kdiag.workload import Call, CommandWorkload, Workload, source_hash

from .ahead import AskedOnce
from .spent import waiting

# What tileiras 13.4 takes as --gpu-name.
TARGETS = tuple(f"sm_{n}" for n in (80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121))
TIMEOUT_S = 20.0  # a kernel compiles in 0.2 to 1 s; tiles that take longer spill (512x512: 31 s, 33 KB frame)


@dataclass
class Compiler:
    """Compiles variants of one kernel file for one target and remembers what each said.

    `folder` receives a file for every source, `<hash>/<kernel file name>`, which is also what a bench imports; `names`
    are those of sources that the user has in files of other names, by hash, for messages.
    """

    workload: Workload | CommandWorkload | None
    file_name: str
    target: str
    folder: Path
    known: dict[str, Compilation] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._asked = AskedOnce(self.known)

    def path(self, source: str) -> Path:
        """The file that holds exactly this source; several threads may ask for it."""
        key = source_hash(source)
        path = self.folder / key[:16] / self.names.get(key, self.file_name)
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f"{path.name}.{threading.get_ident()}")
            part.write_bytes(source.encode())
            part.replace(path)  # whole or not there
        return path

    @waiting("compiler")
    def compile(self, sources: Sequence[str]) -> dict[str, Compilation]:
        """What the compiler says of each source, keyed by source hash; in parallel, each source once."""
        texts = {source_hash(source): source for source in sources}
        return self._asked.answers(texts, lambda new: self._compile([texts[key] for key in new]))

    def _compile(self, sources: Sequence[str]) -> Sequence[Compilation]:
        if isinstance(self.workload, Workload) or (self.workload is not None and self.workload.calls):
            paths = [self.path(source) for source in sources]
            return compile_workload(self.workload, paths, self.target, timeout_s=TIMEOUT_S)
        missing = "there is no Python workload, and no call of a benchmark, to capture launches from"
        return [CompileFailure("unavailable", missing)] * len(sources)

    def hear(self, calls: tuple[Call, ...], original: str) -> str:
        """Compile from now on what these calls of a benchmark launch; returns what to tell the user.

        Calls that the original cannot make here are left out for every version; a version has to make all others.
        """
        if not calls:
            return "no call of the kernel file was heard in the benchmark: candidates are run without being compiled"
        whole, made = self._of(calls), calls
        if isinstance(failure := whole.compile_one(original), CompileFailure):
            made = tuple(call for call in calls if launches_of(self._of((call,)).compile_one(original)))
            if not made:
                return f"no call of the benchmark can be made without a GPU: {failure.message}"
            whole = self._of(made)
        self.workload = whole.workload
        self.known.clear()
        self.known.update(whole.known)
        return f"candidates are compiled for {len(made)} of {len(calls)} calls that the benchmark makes"

    def _of(self, calls: tuple[Call, ...]) -> "Compiler":
        assert isinstance(self.workload, CommandWorkload)
        return replace(self, workload=replace(self.workload, calls=calls), known={})

    def compile_one(self, source: str) -> Compilation:
        return self.compile([source])[source_hash(source)]


def launches_of(compilation: Compilation) -> tuple[Launch, ...]:
    """The launches that were captured of what was compiled; none of a failure."""
    return () if isinstance(compilation, CompileFailure) else tuple(each.launch for each in compilation)


def of_kernel(compilation: Compilation, kernel: str, before: Compilation = ()) -> Compilation:
    """Only the launches of one kernel; a failure stays what it is, and no launch is one.

    `before` is everything that the source launched before an edit: what is launched in the kernel's place, by a name
    that is not among these, counts as the kernel.
    """
    if isinstance(compilation, CompileFailure):
        return compilation
    known = () if isinstance(before, CompileFailure) else before
    names = {evidence.kernel for evidence in known}
    launches = tuple(evidence for evidence in compilation if evidence.kernel == kernel)
    launches = launches or tuple(e for e in compilation if names and e.kernel not in names)
    if launches:
        return launches
    others = ", ".join(dict.fromkeys(evidence.kernel for evidence in compilation))
    return CompileFailure("not-launched", f"the workload launches {others} and not {kernel}", kernel)


def registers(compilation: Compilation) -> float:
    """The most registers a thread that a launch takes, infinitely many where none is known."""
    said = {} if isinstance(compilation, CompileFailure) else from_compilation(compilation)
    return number(said, "compile.registers") or math.inf


def in_place(compiler: Compiler, source: str, kernel: str, parent: str) -> Compilation:
    """What the compiler says of the kernel in an edit of `parent`, or of what is launched in its place."""
    return of_kernel(compiler.compile_one(source), kernel, compiler.compile_one(parent))


def launched_kernel(compiler: Compiler, source: str, kernel: str, original: str) -> str:
    """The kernel's name, or that of what an edit of the `original` launches in its place."""
    found = in_place(compiler, source, kernel, original)
    return kernel if isinstance(found, CompileFailure) else found[0].kernel
