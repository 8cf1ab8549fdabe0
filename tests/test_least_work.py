"""What a launch needs at least is said only of the launch whose configuration is certain and that is alone in it."""

from pathlib import Path

import pytest

from kdiag import isolate
from kdiag.diagnose.metrics import with_derived
from kdiag.diagnose.source.read import read_source
from kdiag.diagnose.work import Work, bytes_of_arrays
from kdiag.loop.least_work import configuration_of, least_work
from kdiag.records import ArrayArgument, CompileEvidence, CompileFailure, Launch, number
from kdiag.workload import Workload
from observing import observe

WORKLOAD = Workload(Path("workload.py"), Path("kernel.py"), False)
WORK = (Work(100.0, 10.0), Work(200.0, None), Work(300.0, 30.0))


def launched(kernel, grid, configuration):
    launch = Launch(kernel, grid, (), configuration)
    return CompileEvidence(kernel, "sm_90", launch, 32, 0, 0, 100, "hash", (), 0.1)


COMPILED = (
    launched("k", (8, 1, 1), 0),
    launched("k", (16, 1, 1), 1),
    launched("k", (8, 1, 1), 2),
    launched("other", (4, 1, 1), 2),
)


@pytest.fixture(autouse=True)
def work(monkeypatch):
    monkeypatch.setattr(isolate, "run", lambda *_, **__: WORK)


@pytest.mark.parametrize(("configuration", "expected"), [(0, 100.0), (1, 200.0), (2, None), (3, None)])
def test_the_work_of_a_configuration_belongs_to_its_only_launch(configuration, expected):
    found = least_work(WORKLOAD, COMPILED, "k", "sm_90", configuration)
    assert (found["work.bytes"].value if found else None) == expected


def test_a_kernel_that_is_launched_twice_shares_the_work():
    twice = (launched("k", (8, 1, 1), 0), launched("k", (8, 1, 1), 0))
    assert least_work(WORKLOAD, twice, "k", "sm_90", 0) == {}


def test_what_did_not_compile_has_no_work():
    failure = CompileFailure("error", "no")
    assert least_work(WORKLOAD, failure, "k", "sm_90", 0) == {}
    assert configuration_of(failure, "k", (8,)) is None


@pytest.mark.parametrize(
    ("kernel", "grid", "expected"),
    [("k", (16,), 1), ("k", (8, 1), None), ("k", (9,), None), ("other", (4, 1, 1), 2), ("k", None, None)],
)
def test_a_grid_tells_the_configuration_if_only_one_has_it(kernel, grid, expected):
    assert configuration_of(COMPILED, kernel, grid) == expected


ARRAYS = (
    ArrayArgument("x", "bfloat16", (64, 32), (32, 1)),
    ArrayArgument("y", "float32", (64, 32), (32, 1)),
    ArrayArgument("z", "float8_e4m3fn", (10,), (1,)),
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ct.store(y, (0, 0), ct.load(x, (0, 0), (T, T)))", 64 * 32 * (2 + 4)),
        ("ct.store(x, (0, 0), ct.load(x, (0, 0), (T, T)) * 2)", 64 * 32 * (2 + 2)),
        ("t = ct.load(x, (0, 0), (T, T)) + ct.load(x, (1, 0), (T, T))\n    ct.scatter(z, 0, t)", 64 * 32 * 2 + 10),
        ("ct.load(x, (0, 0), (T, T))", None),
        ("ct.store(y.slice(0, 0, 4), (0, 0), ct.load(x, (0, 0), (T, T)))", None),
        ("ct.store(y, (0, 0), ct.load(x, (0, 0), (T, T)))\n    ct.atomic_add(z, 0, 1)", None),
    ],
)
def test_what_the_arrays_of_a_launch_say(body, expected):
    text = f"import cuda.tile as ct\n@ct.kernel\ndef k(x, y, z, T: ct.Constant[int]):\n    {body}\n"
    (facts,) = read_source(text, "k.py").kernels
    assert bytes_of_arrays(Launch("k", (1,), ARRAYS), facts) == expected


def test_the_workload_is_believed_before_the_arrays():
    arrays = with_derived(observe(dram_bytes=400.0, work__array_bytes=100.0))
    both = with_derived(observe(dram_bytes=400.0, work__array_bytes=100.0, work__bytes=200.0))
    assert [number(each, "excess_traffic") for each in (arrays, both)] == [4.0, 2.0]
