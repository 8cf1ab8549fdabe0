"""A pytest file for a kernel that has no tests, from its workload: what a run checks, for whoever wants to repeat it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from kdiag.errors import UsageError
from kdiag.executors import git
from kdiag.reporters.markdown import write_atomically
from kdiag.workload import Workload

TEMPLATE = '''"""Is {name} right? The checks of {workload}, written by kdiag because no tests of {name} were found."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("the kernel needs a GPU", allow_module_level=True)

from kdiag.executors.correctness.controls import prove
from kdiag.executors.correctness.subject import SEEDS, Subject
from kdiag.workload import load_kernel, load_module

WORKLOAD, KERNEL_FILE = Path({workload!r}), Path({kernel_file!r})
VERSION = Path({version!r})
SUBJECT = Subject(load_module(WORKLOAD, search=WORKLOAD.parent))
MODULE = load_kernel(KERNEL_FILE, VERSION)
EDGES = getattr(SUBJECT.workload, "edge_configs", list)()


@pytest.mark.parametrize("config", [*SUBJECT.workload.configs(), *EDGES], ids=str)
def test_computes_the_reference(config):
    prove(SUBJECT, MODULE, config)  # wrong outputs and changed inputs are noticed
    for seed in SEEDS:
        check = SUBJECT.check(MODULE, config, str(config), seed)
        assert check.passed, check.reason
'''


def existing(kernel_file: Path) -> str | None:
    """A file of its repository that is named as tests of the kernel file, relative to the root; None if there is none."""
    top = git.top_level(kernel_file)
    tracked = map(Path, (git.ask(top, "ls-files") or "").splitlines())
    names = f"test_*{kernel_file.stem}*.py", f"{kernel_file.stem}*_test.py"
    return next((str(path) for path in tracked if any(map(path.match, names))), None)


def checks(workload: Workload) -> str:
    """What the tests check, in a line."""
    within = "tolerance()" if workload.declares_tolerance else "the rounding of its type"
    every = "every configuration of configs() and edge_configs(), with several seeds"
    return f"{every}: reference() within {within}; wrong outputs and changed inputs must fail"


@contextlib.contextmanager
def offered(workload: Workload, version: Path, run_dir: Path) -> Iterator[Path]:
    """Tests of `version` of the workload's kernel file, written into `run_dir`: their path.

    They go at the end of the block, with the folders made for them, unless a run has begun there. Raises UsageError if
    the file exists.
    """
    made = [folder for folder in (run_dir, *run_dir.parents) if not folder.exists()]
    path = run_dir / f"test_{workload.kernel_file.stem}.py"
    names = {"workload": str(workload.path.resolve()), "kernel_file": str(workload.kernel_file.resolve())}
    if path.exists():
        raise UsageError(f"{path} would be written over; remove it, or choose another --run-dir.")
    try:
        write_atomically(path, TEMPLATE.format(name=workload.kernel_file.name, version=str(version), **names))
        yield path
    finally:
        if not (run_dir / "journal.jsonl").exists():
            path.unlink(missing_ok=True)
            for folder in made:
                with contextlib.suppress(OSError):  # what else was put there stays
                    folder.rmdir()
