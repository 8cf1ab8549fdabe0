"""What a benchmark was heard calling is called again: same functions, same arguments, and so the same launches."""

import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from bundled import EXAMPLES
from kdiag.errors import WorkloadError
from kdiag.executors.command_bench import CommandBench
from kdiag.executors.pytest_report import heard, listening
from kdiag.loop.compiler import Compiler, of_kernel
from kdiag.loop.strategy import Strategy
from kdiag.records import CompileFailure
from kdiag.workload import CommandWorkload

SOFTMAX = EXAMPLES / "softmax/softmax.py"
OPS = """
import torch
told = set()
def plain(x):
    if not isinstance(x, torch.Tensor):
        return x
    return x.dtype, tuple(x.shape), x.stride(), x.requires_grad, x.tolist() if x.dtype == torch.int64 else None
def many(x, lengths, dtype, *rest, flag=True, **more):
    told.add(str([*map(plain, (x, lengths, dtype, *rest)), flag, more]))
def tuned(n, tile=64, *, stages=2):
    pass
def steps(n):
    yield n
class Layer:
    def forward(self, n):
        return tuned(n, 32)
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        told.add(str([plain(x), by]))
        return x * by
"""
TEST = """
import torch, ops
def test_many():
    x = torch.zeros(4, 6).t().requires_grad_()
    for _ in range(9):
        ops.many(x, torch.tensor([3]).expand(2), torch.float16, [1, 2.5, None], "s", flag=False, shape=torch.Size([4]))
def test_scale():
    ops.Scale.apply(torch.ones(3, dtype=torch.bfloat16), 2)
    ops.Scale.apply(torch.ones(5, dtype=torch.bfloat16), 2)
def test_told():
    print(sorted(ops.told))
def test_opaque():
    list(ops.steps(1))
    ops.Layer().forward(1)
    ops.tuned(torch.nested.nested_tensor([torch.ones(1)]))
def test_sweep():
    for n in range(99):
        ops.tuned(n)
"""
AGAIN = """
import sys; sys.path.insert(0, ".")
import ops
from pathlib import Path
from kdiag.diagnose.capture.recorded import jobs
from kdiag.executors.pytest_report import heard
for job in jobs(ops, heard(Path("calls"))): job()
print(sorted(ops.told))
"""
BENCH = """
import contextlib, softmax, torch
def test_right():
    pass
def test_perf(record_property):
    for shape in ((7,), *((1024, 2048), (2048, 2048)) * 9):
        with contextlib.suppress(Exception):  # there may be no GPU
            softmax.softmax(torch.zeros(shape))
    record_property("benchmark", {"Cutile": {"forward": {"mean": 1.0, "median": 1.0}}})
"""


def output(folder, *words, **environment):
    """The lines that a Python in the folder prints, which has kdiag to import unless the environment says otherwise."""
    environment = {"PATH": "", "PYTHONPATH": str(EXAMPLES.parent / "src"), **environment}
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_calls_are_made_again_as_they_were_heard(tmp_path):
    (tmp_path / "ops.py").write_text(OPS)
    (tmp_path / "test_ops.py").write_text(TEST)
    pytest_s = ("-m", "pytest", "-q", "-s", "test_ops.py")
    lines = output(tmp_path, *pytest_s, **listening({}, tmp_path / "ops.py", tmp_path / "calls"))
    calls = heard(tmp_path / "calls")
    names = [("test_many", "many"), *[("test_scale", "Scale.apply")] * 2]
    names += [("test_opaque", name) for name in ("Layer.forward", "tuned", "tuned")] + [("test_sweep", "tuned")] * 64
    assert [(call.test, call.function) for call in calls] == names
    assert [call.arguments for call in calls[3:7:3]] == ['"an argument is a Layer"', '[[0], {"dict": {}}]']
    (tmp_path / "again.py").write_text(AGAIN)
    assert output(tmp_path, "again.py")[0] in [line.lstrip(".") for line in lines]


def test_what_cannot_be_called_again_is_told(tmp_path):
    pytest.importorskip("torch")
    from kdiag.diagnose.capture.recorded import jobs

    (tmp_path / "calls").write_text(
        '["test_a", "run", "an argument is a Thing"]\n["test_b", "gone", [[], {"dict": {}}]]\n'
    )
    opaque, gone = heard(tmp_path / "calls")
    with pytest.raises(WorkloadError, match="run, which test_a calls, cannot be called again: an argument is a Thing"):
        jobs(ModuleType("ops"), (opaque,))
    with pytest.raises(WorkloadError, match="no gone, which test_b calls"):
        jobs(ModuleType("ops"), (opaque, gone))
    (tmp_path / "calls").write_text('["test_a", "run", [[], {"dict": {}}]]\n["test_b')
    assert heard(tmp_path / "calls") == ()


@pytest.mark.compiler
def test_what_the_benchmark_launches_is_compiled(tmp_path):
    original, target = tmp_path / "original.py", tmp_path / "softmax.py"
    original.write_bytes(SOFTMAX.read_bytes())
    target.write_bytes(SOFTMAX.read_bytes())
    (tmp_path / "test_it.py").write_text(BENCH)
    words = (sys.executable, "-m", "pytest", "-q", "test_it.py", "-k")
    workload = CommandWorkload(tmp_path / "kdiag.toml", target, (*words, "right"), (*words, "perf"))
    compiler = Compiler(workload, target.name, "sm_90", tmp_path / "candidates")
    source = target.read_text()
    assert isinstance(compiler.compile_one(source), CompileFailure)
    Strategy(SimpleNamespace(compiler=compiler, ahead=SimpleNamespace(begin=pytest.fail)), None).foresee(source, ())

    measured = CommandBench(workload, tmp_path, target, None, (), lambda _report, _kernel: {}).baseline(original)
    assert measured.passed
    assert "no call" in compiler.hear((), source)
    assert "no call of the benchmark can be made" in compiler.hear(measured.calls[:1], source)
    assert "2 of 3 calls" in compiler.hear(measured.calls, source)
    broken = source.replace("tile = 1", "assert rows < 2048; tile = 1")
    assert isinstance(compiler.compile_one(broken), CompileFailure)
    wider = source.replace("(rows, 1, 1)", "(rows * 2, 1, 1)")
    assert wider != source
    for text, grids in ((source, [(1024, 1, 1), (2048, 1, 1)]), (wider, [(2048, 1, 1), (4096, 1, 1)])):
        compiled = of_kernel(compiler.compile_one(text), "softmax_kernel")
        assert not isinstance(compiled, CompileFailure)
        assert [(each.launch.configuration, each.launch.grid) for each in compiled] == list(enumerate(grids))
