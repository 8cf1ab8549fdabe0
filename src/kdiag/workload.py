"""What `auto` needs to know about a kernel: the workload file, read without importing it, and loaded in a child.

A Python workload follows the protocol of `docs/workload.md`. It is imported only in child processes
(`load_module`, `load_kernel`), because it imports torch and runs the user's code; `read` looks at its text alone.
"""

import ast
import hashlib
import importlib.util
import json
import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from .errors import UsageError, WorkloadError
from .package_copy import PackageCopy, member_of

Item = TypeVar("Item")

NAMES_KERNEL = re.compile(rb"^(\xef\xbb\xbf)?KERNEL_FILE\s*=", re.MULTILINE)
REQUIRED = ("configs", "make_inputs", "run", "reference", "bytes_moved", "flops")


@dataclass(frozen=True)
class Part:
    """The `number`th of `count` parts of a list, in its order and as equal as they can be; 0 of 1 is all of it."""

    number: int = 0
    count: int = 1

    def of(self, whole: Sequence[Item]) -> list[Item]:
        begin, end = (len(whole) * n // self.count for n in (self.number, self.number + 1))
        return list(whole[begin:end])


@dataclass(frozen=True)
class Workload:
    """A Python workload: `path` is the workload file, `kernel_file` the source that may be edited.

    `part` of its configurations, and of its edge configurations, are meant.
    """

    path: Path
    kernel_file: Path
    declares_tolerance: bool
    part: Part = Part()


@dataclass(frozen=True)
class Call:
    """A call of a function of the kernel file, as `executors/recorded_calls` wrote it down: `arguments` are its words for
    the positional ones and for those by keyword, or say why they cannot be made anew.
    """

    test: str
    function: str
    arguments: str


@dataclass(frozen=True)
class CommandWorkload:
    """Commands that test and benchmark the kernel, run in the root of the worktree. `calls` are those that the benchmark
    makes of the kernel file, where they are known.
    """

    path: Path
    kernel_file: Path
    test: tuple[str, ...]
    bench: tuple[str, ...]
    calls: tuple[Call, ...] = ()


def read(path: Path) -> Workload | CommandWorkload:
    """Read a workload (`*.py`, a `kdiag.toml`, or a folder that holds a kdiag.toml or workload.py). Raises WorkloadError,
    UsageError for a file that is missing.
    """
    if path.is_dir():
        path = path / ("kdiag.toml" if (path / "kdiag.toml").exists() else "workload.py")
    if not path.is_file():
        raise UsageError(f"There is no workload at {path}; name a workload .py file or a kdiag.toml.")
    return _read_toml(path) if path.suffix == ".toml" else _read_python(path)


def named(what: Path, workload: Path | None) -> tuple[Path, Workload | CommandWorkload | None]:
    """The kernel file that a path is or, as a workload, names; and the workload, as `of_kernel_file` finds it."""
    if is_workload(what):
        found = read(what)
        if workload is None:
            return found.kernel_file, found
        what = found.kernel_file
    return what, of_kernel_file(what, workload)


def of_kernel_file(kernel_file: Path, named: Path | None) -> Workload | CommandWorkload | None:
    """The named workload, else a kdiag.toml or workload.py beside the kernel that is about this very file, else None.

    Raises WorkloadError for a named workload that is about another file.
    """
    if named is not None:
        found = read(named)
        if found.kernel_file.resolve() != kernel_file.resolve():
            raise WorkloadError(f"{named} is about {found.kernel_file}, not {kernel_file}; name its own workload.")
        return found
    for name in ("kdiag.toml", "workload.py"):
        path = kernel_file.parent / name
        if path.is_file() and (found := read(path)).kernel_file.resolve() == kernel_file.resolve():
            return found
    return None


def written(workload: Workload | CommandWorkload, folder: Path) -> Workload | CommandWorkload:
    """The workload in a file: commands that have none (their path is the kernel file) become `folder/kdiag.toml`.

    Raises UsageError if that exists.
    """
    if isinstance(workload, Workload) or workload.path != workload.kernel_file:
        return workload
    path = folder / "kdiag.toml"
    if path.exists():
        raise UsageError(f"{path} would be written over; remove it, or choose another --run-dir.")
    lines = [f"kernel = {json.dumps(str(workload.kernel_file), ensure_ascii=False)}"]
    for section, command in (("test", workload.test), ("bench", workload.bench)):
        lines += ["", f"[{section}]", f"command = {json.dumps(command, ensure_ascii=False)}"]
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return replace(workload, path=path)


def is_workload(path: Path) -> bool:
    """Whether the path is a workload by its form: a folder, a .toml, or a file that names its KERNEL_FILE."""
    return path.suffix == ".toml" or path.is_dir() or bool(NAMES_KERNEL.search(path.read_bytes()))


def _read_toml(path: Path) -> Workload | CommandWorkload:
    try:
        table = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WorkloadError(f"{path} is not valid TOML: {error}.") from None
    if "workload" in table:
        return _read_python(path.parent / _string(path, table, "workload"))
    kernel = path.parent / _string(path, table, "kernel")
    if not kernel.is_file():
        raise UsageError(f'{path} names the kernel file {kernel}, which does not exist; correct "kernel".')
    return CommandWorkload(path, kernel, _command(path, table, "test"), _command(path, table, "bench"))


def _string(path: Path, table: dict[str, object], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise WorkloadError(
            f'{path} needs either workload = "workload.py", or kernel = "kernel.py" with [test] and [bench] commands.'
        )
    return value


def _command(path: Path, table: dict[str, object], section: str) -> tuple[str, ...]:
    entry = table.get(section)
    command = entry.get("command") if isinstance(entry, dict) else None
    words = ["bash", "-c", command] if isinstance(command, str) and command.strip() else command
    if isinstance(words, list) and words and all(isinstance(word, str) and "\0" not in word for word in words):
        return tuple(words)
    raise WorkloadError(f'{path} needs [{section}] command = "...", a shell line or a list of words.')


def _read_python(path: Path) -> Workload:
    if not path.is_file():
        raise UsageError(f"There is no workload file at {path}.")
    try:
        tree = ast.parse(path.read_bytes(), str(path))  # as Python reads it: with its coding line, or UTF-8
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise WorkloadError(f"{path} is not valid Python: {error}.") from None
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    missing = [name for name in REQUIRED if name not in functions]
    if missing:
        raise WorkloadError(f"{path} lacks {', '.join(missing)}; docs/workload.md lists what a workload defines.")
    kernel = path.parent / _kernel_file(path, tree)
    if not kernel.is_file():
        raise UsageError(f"{path} names KERNEL_FILE {kernel}, which does not exist.")
    return Workload(path, kernel, "tolerance" in functions)


def _kernel_file(path: Path, tree: ast.Module) -> str:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="KERNEL_FILE")], value=ast.Constant(value=str(name))):
                return name
    raise WorkloadError(f'{path} needs KERNEL_FILE = "kernel.py", a plain string relative to the workload file.')


def read_source(path: Path) -> str:
    """The text of a kernel file, line ends untouched. Raises WorkloadError if it cannot be read as UTF-8."""
    if path.exists() and not path.is_file():
        raise WorkloadError(f"{path} is not a regular file; name the .py file that defines the kernel.")
    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise WorkloadError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise WorkloadError(f"{path} is not UTF-8 text; save it as that, or name the .py file of the kernel.") from None


def load_module(path: Path, *, search: Path, source_hash: str | None = None) -> ModuleType:
    """Import the file `path` under a name of its own, with `search` first on `sys.path`. Child processes only.

    With `source_hash` (SHA-256 of the text) the import proves that what was measured is what was written:
    raises WorkloadError if the file says something else. What it lacks is said of the file.
    """
    _read_verified(path, source_hash)
    if str(search) not in sys.path:
        sys.path.insert(0, str(search))
    name = f"kdiag_loaded_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    loader = SourceFileLoader(name, str(path))  # whatever ending the name has: `kdiag verify` takes any
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # A module of that name is asked last (PEP 562), which leaves no frame of kdiag's in the traceback.
    vars(module)["__getattr__"] = partial(getattr, ModuleType(path.name))
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def load_part(workload: Workload) -> ModuleType:
    """Import the workload file; its configurations are those of the part that is meant. Child processes only."""
    module = load_module(workload.path, search=workload.path.parent)
    for name in ("configs", "edge_configs") if workload.part.count > 1 else ():
        if (whole := getattr(module, name, None)) is not None:
            setattr(module, name, partial(_part_of, workload.part, whole))
    return module


def _part_of(part: Part, whole: Callable[[], Sequence[Item]]) -> list[Item]:
    return part.of(list(whole()))


def load_kernel(kernel_file: Path, source: Path, *, source_hash: str | None = None) -> ModuleType:
    """Import `source`, a version of `kernel_file`, in its place. Child processes only.

    A kernel file of a package is imported as its member: relative imports work, and the package's other modules get
    this version as well (see `package_copy`). With `source_hash` as for `load_module`, whose WorkloadError it raises.
    """
    folder, name = member_of(kernel_file)
    if "." not in name:
        return load_module(source, search=kernel_file.parent, source_hash=source_hash)
    data = _read_verified(source, source_hash)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    if str(kernel_file.parent) not in sys.path:  # last: a module of the package must not hide another of its name
        sys.path.append(str(kernel_file.parent))
    return PackageCopy(name, source, data).load()


def _read_verified(path: Path, expected: str | None) -> bytes:
    """What a file holds. Raises WorkloadError if that is not what is expected."""
    data = path.read_bytes()
    if expected is not None and hashlib.sha256(data).hexdigest() != expected:
        raise WorkloadError(f"{path} changed on disk after it was written; nothing was measured.")
    return data


def source_hash(text: str) -> str:
    """SHA-256 of a source text, the identity of a candidate throughout a run."""
    return hashlib.sha256(text.encode()).hexdigest()
