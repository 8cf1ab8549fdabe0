"""A kernel without tests is given some, in the run's folder; one that has tests is not."""

import subprocess
import sys
from unittest.mock import Mock

import click
import pytest
from click.testing import CliRunner

from auto_runs import project
from kdiag import cli
from kdiag.errors import UsageError
from kdiag.loop.generated_test import existing, offered
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
    with offered(workload, version, tmp_path / "run") as path:
        (tmp_path / "run" / "journal.jsonl").touch()
    with pytest.raises(UsageError, match="would be written over"), offered(workload, version, tmp_path / "run"):
        pass
    text = path.read_text().replace("torch.cuda.is_available()", "True")  # what it tests here needs no GPU
    path.write_text(text.replace("search=WORKLOAD.parent)", "search=WORKLOAD.parent), 'cpu'"))
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", path], capture_output=True, text=True, check=False)
    assert outcome in done.stdout, done.stdout


@pytest.mark.parametrize("answer", [None, "y\n", "n\n"])
def test_they_are_read_before_the_only_question_and_a_no_leaves_nothing(tmp_path, monkeypatch, answer):
    made, asked, confirm, no = project(tmp_path, "vector_add"), [], click.confirm, answer == "n\n"
    before, run_dir = made.fingerprint(), tmp_path / "new" / "run"
    path, other = run_dir / "test_vector_add.py", run_dir.parent / "other"

    def ask(*words, **options):
        other.touch()
        asked.append(path.read_text())
        return confirm(*words, **options)

    monkeypatch.setattr(click, "confirm", ask)
    monkeypatch.setattr("kdiag.commands.auto.sys", Mock(**{"stdin.isatty.return_value": True}))
    monkeypatch.setattr("kdiag.loop.auto.Run.execute", lambda _: "all is said")
    words = ["auto", str(made.root), "--run-dir", str(run_dir), *(() if answer else ("--yes",))]
    done = CliRunner().invoke(cli.cli, words, input=answer)
    assert (done.exit_code, "Aborted!" in done.output, made.fingerprint()) == (no, no, before), done.output
    checks = "of configs() and edge_configs(), with several seeds: reference() within tolerance(); wrong outputs"
    shown = (f": {path}\n" in done.output, checks in done.output, f"{run_dir}/worktree" in "".join(asked))
    assert (len(asked), done.output.count("[Y/n]"), *shown) == (bool(answer),) * 5
    assert (f"pytest {path} repeats the checks" in done.output) is path.exists() is not no
    assert ("version; --yes took it as confirmed\n" in done.output) is (answer is None)
    if no:
        assert (list(run_dir.parent.iterdir()), made.git("branch", "--list", "cutile-perf-*")) == ([other], "")
