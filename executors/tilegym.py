"""A TileGym checkout: where an operator's kernel file is, where its tests are, and the commands that run them.

Kernel files are `src/tilegym/ops/cutile/**/<operator>.py` and `src/tilegym/suites/<suite>/cutile/**/<operator>.py`,
their tests `tests/ops/**/test_<operator>.py` and `tests/suites/<suite>/**/test_<operator>.py`. A test function called
`test_perf...` measures, the others check; the backend is a word of the test's id.
"""

import difflib
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kdiag.errors import UsageError
from kdiag.workload import CommandWorkload, read_source

OPS = Path("src/tilegym/ops/cutile")
SUITES = Path("src/tilegym/suites")
REGISTERED = re.compile(r"@register_impl\(\s*[\"']([^\"']+)[\"']")
MEASURES = re.compile(r"^\s*def test_perf\w*\(", re.MULTILINE)
CHECK_ONLY = "test_ and cutile and not test_perf"
MEASURE_ONLY = "test_perf and cutile"
OR_WORKLOAD = "or write a workload (docs/workload.md)"


@dataclass(frozen=True)
class Operator:
    """One operator of a checkout, with the files that may hold its tests: one, or none, or they are not told apart."""

    checkout: Path
    kernel_file: Path
    test_files: tuple[Path, ...]

    @property
    def name(self) -> Path:
        """The kernel file, relative to the checkout."""
        return self.kernel_file.relative_to(self.checkout)

    @property
    def measured(self) -> bool:
        return any(MEASURES.search(read_source(self.checkout / file)) for file in self.test_files)


def checkout_of(path: Path) -> Path | None:
    """The TileGym checkout that `path` is, or lies in; None if it lies in none."""
    folders = (path.resolve(), *path.resolve().parents)
    return next((folder for folder in folders if (folder / OPS).is_dir()), None)


def find_operator(start: Path, name: str) -> Operator:
    """The operator whose file is called `name`, or that is registered by it; "liger/rms_norm" is a suite's.

    Raises UsageError, naming the choices, if `start` is in no checkout or there is not one such operator.
    """
    checkout = checkout_of(start)
    if checkout is None:
        raise UsageError(
            f"{start.resolve()} is in no TileGym checkout: none of its folders holds {OPS}; "
            "change into one, or name it: kdiag auto --tilegym OPERATOR FOLDER."
        )
    files = _kernel_files(checkout)
    found = [file for file in files if _is_called(file, name.removesuffix(".py"))]
    found = found or [file for file in files if name in REGISTERED.findall(read_source(checkout / file))]
    ours = [file for file in found if file.is_relative_to(OPS)]
    found = ours if len(ours) == 1 else found
    if len(found) != 1:
        raise UsageError(_choices(name, found, files))
    return Operator(checkout, checkout / found[0], _test_files(checkout, found[0]))


def operator_of(kernel_file: Path) -> Operator | None:
    """The operator whose kernel file this is; None if it lies in no checkout's folders for kernels."""
    checkout = checkout_of(kernel_file)
    file = kernel_file.resolve().relative_to(checkout) if checkout else kernel_file
    if checkout is None or file not in _kernel_files(checkout):
        return None
    return Operator(checkout, checkout / file, _test_files(checkout, file))


def workload_of(operator: Operator, test: str | None, bench: str | None) -> CommandWorkload:
    """The commands for an operator; `test` and `bench` are shell lines that replace what was not found.

    The workload's path is that of the kernel file: nothing is written yet. Raises UsageError if a command is missing.
    """
    missing = [option for option, line in (("--test", test), ("--bench", bench)) if line is None]
    if missing and len(operator.test_files) != 1:
        found = _names(operator.test_files)
        what = f"has several test files ({found})" if found else f"has no test_{operator.name.stem}.py in tests"
        raise UsageError(f"{operator.name} {what}; give {' and '.join(missing)}, {OR_WORKLOAD}.")
    if bench is None and not operator.measured:
        raise UsageError(
            f"{operator.test_files[0]} has no test_perf, so nothing measures {operator.name}; give --bench, a command "
            f'that prints {{"latency_ms": 1.5, "configuration": "n=4096"}} lines, {OR_WORKLOAD}.'
        )
    return CommandWorkload(
        operator.kernel_file,
        operator.kernel_file,
        _shell(test) if test is not None else _pytest(operator, CHECK_ONLY),
        _shell(bench) if bench is not None else _pytest(operator, MEASURE_ONLY, "--print-record"),
    )


def _shell(line: str) -> tuple[str, ...]:
    return ("bash", "-c", line)


def _pytest(operator: Operator, selection: str, *options: str) -> tuple[str, ...]:
    """`python -m pytest TEST_FILE -k SELECTION ... -v`, with the Python that runs kdiag."""
    return (sys.executable, "-m", "pytest", str(operator.test_files[0]), "-k", selection, *options, "-v")


def _is_called(file: Path, name: str) -> bool:
    """Whether the path ends with the name, a folder `cutile` in it said or left out."""
    path = f"/{file.with_suffix('').as_posix()}"
    return any(known.endswith(f"/{name}") for known in (path, path.replace("/cutile/", "/")))


def _kernel_files(checkout: Path) -> list[Path]:
    """Every kernel file, relative to the checkout."""
    folders = (checkout / OPS, *sorted((checkout / SUITES).glob("*/cutile")))
    files = (file for folder in folders for file in sorted(folder.rglob("*.py")))
    return [file.relative_to(checkout) for file in files if file.name != "__init__.py"]


def _test_files(checkout: Path, file: Path) -> tuple[Path, ...]:
    """The tests of a kernel file, by its name: those in a folder called like its own, else all of its suite."""
    suite = file.relative_to(SUITES).parts[0] if file.is_relative_to(SUITES) else None
    folder = Path("tests") / ("ops" if suite is None else f"suites/{suite}")
    found = sorted((checkout / folder).rglob(f"test_{file.stem}.py"))
    beside = [test for test in found if test.parent.name in (file.parent.name, suite, "ops")]
    return tuple(test.relative_to(checkout) for test in (beside if len(beside) == 1 else found))


def _choices(name: str, found: list[Path], files: list[Path]) -> str:
    if found:
        return f"{name} is several operators: {_names(found)}; name one of these files."
    near = difflib.get_close_matches(name, [file.stem for file in files], n=5, cutoff=0.5)
    advice = f"did you mean {_names(near)}?" if near else f"name a file below {OPS}."
    return f"TileGym has no cuTile operator {name}; {advice}"


def _names(things: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(map(str, things)))
