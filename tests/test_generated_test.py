"""A kernel without tests is given some, in the run's folder; one that has tests is not."""

import subprocess
import sys

import pytest

from auto_runs import project
from kdiag import cli
from kdiag.loop.generated_test import existing, write
from kdiag.workload import read

torch = pytest.importorskip("torch")


def test_tests_are_found_by_name_anywhere_in_the_repository(tmp_path):
    made = project(tmp_path, "softmax")
    kernel = made.root / "softmax.py"
    assert existing(kernel) is None
    (made.root / "tests").mkdir()
    (made.root / "tests" / "test_row_softmax_gpu.py").touch()
    assert existing(kernel) is None  # git does not know it
    made.git("add", "-A")
    assert existing(kernel) == "tests/test_row_softmax_gpu.py"


@pytest.mark.parametrize(("edit", "outcome"), [(("", ""), "1 passed"), (("* 0.5", "* 0.25"), "1 failed")])
def test_what_is_written_passes_what_is_right_and_nothing_else(tmp_path, edit, outcome):
    (tmp_path / "halve.py").write_text("def halve(x):\n    return x * 0.5\n")
    (tmp_path / "workload.py").write_text(
        "import torch\nKERNEL_FILE = 'halve.py'\n"
        "def configs(): return [{'n': 1000}]\n"
        "def make_inputs(config, device, seed):\n"
        "    return {'x': torch.randn(config['n'], generator=torch.Generator(device).manual_seed(seed))}\n"
        "def run(module, inputs): return module.halve(inputs['x'])\n"
        "def reference(inputs): return inputs['x'].double() * 0.5\n"
        "def bytes_moved(config): return 0\ndef flops(config): return 0\n"
    )
    workload = read(tmp_path / "workload.py")
    version = tmp_path / "edited" / "halve.py"
    version.parent.mkdir()
    version.write_text(workload.kernel_file.read_text().replace(*edit))
    path = write(workload, version, tmp_path / "run")
    text = path.read_text().replace("torch.cuda.is_available()", "True")  # what it tests here needs no GPU
    path.write_text(text.replace("search=WORKLOAD.parent)", "search=WORKLOAD.parent), 'cpu'"))
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", path], capture_output=True, text=True, check=False)
    assert outcome in done.stdout, done.stdout


def test_a_run_says_where_they_are(tmp_path, capsys):
    made = project(tmp_path, "vector_add")
    code = cli.run(["auto", str(made.root), "--run-dir", str(made.run_dir), "--yes", "--budget", "0"])
    assert code == 0
    assert f"pytest {made.run_dir}/test_vector_add.py repeats the checks" in capsys.readouterr().err.replace("\n", " ")
    assert str(made.run_dir / "worktree") in (made.run_dir / "test_vector_add.py").read_text()
