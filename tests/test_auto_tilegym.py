"""`kdiag auto --tilegym` in a small checkout with TileGym's layout, whose tests are run by pytest itself."""

import pytest

from auto_runs import EXAMPLES, Project, auto, auto_alone

pytestmark = pytest.mark.compiler

# What the kernel file imports, so that its tests start at once; `python -m pytest` finds these first.
STAND_IN = """class Anything:
    def __getattr__(self, name): return Anything()
    def __call__(self, *args, **more): return args[0] if args and callable(args[0]) else Anything()
    def __getitem__(self, key): return Anything()
    __ror__ = __or__ = __getitem__
def __getattr__(name):
    if name.startswith("__"): raise AttributeError(name)
    return Anything()
"""
CONFTEST = """def pytest_addoption(parser):
    parser.addoption("--print-record", action="store_true")
"""
TESTS = """import inspect
import pytest
from tilegym.ops.cutile import softmax

MS = 0.7 if "exp2" in inspect.getsource(softmax) else 1.0

@pytest.mark.parametrize("backend", ["cutile", "triton"])
def test_op(backend):
    if backend != "cutile":
        pytest.fail("the triton test was selected")

@pytest.mark.parametrize("n", [1024, 4096])
@pytest.mark.parametrize("framework", ["cutile", "pytorch"])
def test_perf(framework, n, record_property):
    record_property("benchmark", {framework: {"forward": {"mean": 9.0, "median": MS * n / 1024, "std": float("nan")}}})
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # half of the time that pytest takes to start
    made = Project(tmp_path / "user", tmp_path / "run")
    files = {
        "src/tilegym/__init__.py": "",
        "src/tilegym/ops/__init__.py": "",
        "src/tilegym/ops/cutile/__init__.py": "",
        "src/tilegym/ops/cutile/softmax.py": (EXAMPLES / "softmax" / "softmax.py").read_text(),
        "tests/conftest.py": CONFTEST,
        "tests/ops/test_softmax.py": TESTS,
        "torch.py": STAND_IN,
        "cuda/__init__.py": "",
        "cuda/tile.py": STAND_IN,
    }
    for name, text in files.items():
        path = made.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    made.git("init", "-q")
    made.commit()
    return made


def test_an_operator_is_tuned_by_its_own_tests_and_resumed_from_its_journal(checkout, capsys):
    code, summary = auto(checkout, capsys, "--tilegym", "softmax", "--max-iterations", "1")
    assert code == 0, summary
    kept = summary["iterations"][1]
    assert (kept["optimization"], kept["verdict"], round(kept["speedup"], 2)) == ("H", "keep", 1.43)
    row = next(event for event in checkout.journal if event["event"] == "iteration")["iteration"]
    assert row["checks"][0]["passed"]
    timed = [event["iteration"] for event in checkout.journal if event["event"] == "iteration"][1]["timings"]
    assert [timing["configuration"] for timing in timed] == [
        "test_perf[cutile-1024] cutile forward",
        "test_perf[cutile-4096] cutile forward",
    ]
    assert checkout.git("status", "--porcelain") == ""
    code, resumed = auto_alone(capsys, "--resume", str(checkout.run_dir), "--budget", "0")
    assert code == 0, resumed
    assert resumed["iterations"] == summary["iterations"]
    assert resumed["stop_reason"] == summary["stop_reason"]
