"""A pytest file for a kernel that has no tests, from its workload: what a run checks, for whoever wants to repeat it."""

from pathlib import Path

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


def write(workload: Workload, version: Path, folder: Path) -> Path:
    """Write the tests of `version`, a version of the workload's kernel file, into `folder`; return their path."""
    path = folder / f"test_{workload.kernel_file.stem}.py"
    names = {"workload": str(workload.path.resolve()), "kernel_file": str(workload.kernel_file.resolve())}
    write_atomically(path, TEMPLATE.format(name=workload.kernel_file.name, version=str(version), **names))
    return path
