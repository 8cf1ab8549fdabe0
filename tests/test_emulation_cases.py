"""Which runs on the CPU are had of a kernel file, how they survive what a kernel does, and that they are kept."""

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.compiler

import gate_workload
from kdiag import isolate
from kdiag import workload as workloads
from kdiag.executors.bench import Source
from kdiag.executors.emulator import cases, results
from kdiag.executors.emulator.cases import Cases, choose, emulate_source
from kdiag.executors.emulator.perturbations import PERTURBATIONS, perturb
from kdiag.executors.gates.emulation import emulation


@pytest.fixture
def kernel(tmp_path):
    return gate_workload.write(tmp_path)


def workload_of(kernel):
    return workloads.read(kernel.parent)


def chosen(kernel):
    found = choose(workload_of(kernel))
    assert isinstance(found, Cases), found
    return found


def emulated(kernel, file=None):
    return emulate_source(workload_of(kernel), Source.of(file or kernel), "sm_90", chosen(kernel))


def edited(kernel, old, new):
    path = kernel.parent / "workload.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_every_edge_configuration_is_run_with_two_seeds_and_shuffled_and_perturbed(kernel):
    found = chosen(kernel)
    assert [str(case) for case in found.required[:3]] == [
        "rows=5 columns=37",
        "rows=5 columns=37, seed=2",
        "rows=5 columns=37, shuffled blocks",
    ]
    assert {case.configuration for case in found.required} == {"rows=5 columns=37", "rows=1 columns=64"}
    assert {case.perturbation for case in found.optional} == set(PERTURBATIONS) == set(cases.PERTURBED)


def test_without_edge_configurations_the_smallest_are_run(kernel):
    edited(kernel, "def edge_configs", "def other_configs")
    assert [case.configuration for case in chosen(kernel).required[::3]] == [
        "rows=64 columns=48",
        "rows=512 columns=64",
    ]


def test_what_is_too_large_is_said_to_be(kernel):
    edited(kernel, "def edge_configs", "def other_configs")
    edited(kernel, "return 8 *", "return 2**20 *")
    assert "even rows=64 columns=48 is too large to emulate" in str(choose(workload_of(kernel)))


def test_a_workload_that_cannot_be_read(kernel):
    edited(kernel, 'return [{"rows": 5', 'return 1 / 0, [{"rows": 5')
    assert "division by zero (workload.py:" in str(choose(workload_of(kernel)))


def test_results_are_kept_for_the_same_text(kernel, monkeypatch):
    found, first = chosen(kernel), emulated(kernel)
    assert len(first.ran) == len(found.required) + len(found.optional)
    assert not first.missing
    assert all(ran.check.passed for case, ran in first.ran.items() if not case.perturbation)

    def no_child(*_, **__):
        raise AssertionError("a child was started")

    monkeypatch.setattr(isolate, "run", no_child)
    same = emulate_source(workload_of(kernel), Source.of(kernel), "sm_90", found)
    assert {case: ran.outputs for case, ran in same.ran.items()} == {c: r.outputs for c, r in first.ran.items()}
    with pytest.raises(AssertionError, match="a child was started"):
        emulate_source(workload_of(kernel), Source.of(kernel), "sm_100", found)


def test_a_result_rests_on_the_files_that_were_imported(kernel, monkeypatch):
    (kernel.parent / "beside.py").write_text("SCALE = 1.0\n")
    kernel.write_text(kernel.read_text().replace("import torch\n", "import torch\nfrom beside import SCALE\n"))
    emulated(kernel)
    found = chosen(kernel)
    workload, source = workload_of(kernel), Source.of(kernel)
    monkeypatch.setattr(isolate, "run", lambda *_, **__: pytest.fail("not kept"))
    emulate_source(workload, source, "sm_90", found)
    (kernel.parent / "beside.py").write_text("SCALE = 2.0\n")
    with pytest.raises(pytest.fail.Exception, match="not kept"):
        emulate_source(workload, source, "sm_90", found)


def test_without_a_cache_the_results_are_the_same(kernel, monkeypatch):
    kept = emulated(kernel)
    monkeypatch.setattr(results, "folder", lambda: None)
    assert {c: r.outputs for c, r in emulated(kernel).ran.items()} == {c: r.outputs for c, r in kept.ran.items()}


def test_an_exception_costs_its_own_case(kernel):
    check = "    if bool((x < 0).all()):\n        raise ValueError('no positive element')\n    y = torch"
    strict = gate_workload.variant(kernel, "    y = torch", check)
    found = emulated(kernel, strict)
    failed = [case.perturbation for case, ran in found.ran.items() if ran.failure]
    assert set(failed) == {"all negative"}
    assert "ValueError: no positive element (variant.py:" in next(r.failure for r in found.ran.values() if r.failure)
    assert emulation(found, emulated(kernel), exact=True).outcome == "passed"
    assert emulation(emulated(kernel), found, exact=True).outcome == "failed"


def test_a_file_that_cannot_be_imported_fails_as_a_whole(kernel, monkeypatch):
    broken = gate_workload.variant(kernel, "import torch", "import torch_that_is_not_there")
    started = []
    run = isolate.run

    def counted(job, request, *, timeout_s):
        started.append(job)
        return run(job, request, timeout_s=timeout_s)

    found = chosen(kernel)
    monkeypatch.setattr(isolate, "run", counted)
    ran = emulate_source(workload_of(kernel), Source.of(broken), "sm_90", found)
    assert len(started) == 2
    assert all("ModuleNotFoundError" in one.failure for one in ran.ran.values())


def test_what_does_not_end_is_given_up(kernel, monkeypatch):
    monkeypatch.setattr(cases, "TIMEOUT_S", 2.0)
    endless = gate_workload.variant(kernel, "    return y", "    while True:\n        pass")
    found = emulated(kernel, endless)
    assert (found.late_s, len(found.ran)) == (2.0, 0)
    assert set(found.missing.values()) == {"no result within 2 s"}


def test_a_child_that_is_killed_could_not_run(kernel):
    killed = gate_workload.variant(kernel, "    return y", "    import os\n    os.kill(os.getpid(), 9)")
    record = emulation(emulated(kernel), emulated(kernel, killed), exact=True)
    assert (record.outcome, "SIGKILL" in record.reason) == ("could-not-run", True)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("values / largest", "values / ct.where(ct.abs(largest) > 2e-3, largest, 2e-3)", "small values"),
        ("(x.shape[0],)", "(x.shape[0] + 1,)", ""),
        ("(row, columns), values /", "(row, columns % 32), values /", "race"),
        ("ct.scatter(y, (row, columns), values / largest, check_bounds=True)", "pass", "nan where"),
    ],
)
def test_wrong_kernels(kernel, old, new, sentence):
    record = emulation(emulated(kernel), emulated(kernel, gate_workload.variant(kernel, old, new)), exact=True)
    assert record.outcome == ("failed" if sentence else "passed"), record
    assert sentence in record.reason


def test_perturbations_keep_views_integers_and_narrow_types():
    whole = torch.arange(-6.0, 6.0)
    inputs = {
        "part": whole[::2],
        "list": [whole.view(3, 4).T],
        "index": torch.arange(-3, 3),
        "spread": torch.ones(1).expand(5),
        "narrow": torch.ones(4).to(torch.float8_e5m2),
        "none": None,
        "empty": torch.empty(0),
    }
    strides = inputs["part"].stride(), inputs["list"][0].stride()
    for name in PERTURBATIONS:
        perturb(inputs, name)
    assert (inputs["part"].stride(), inputs["list"][0].stride()) == strides
    assert inputs["part"].data_ptr() == whole.data_ptr()
    assert inputs["index"].tolist() == [-3, -2, -1, 0, 1, 2]
    assert inputs["spread"].tolist() == [1.0] * 5
    assert torch.isnan(whole).any()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", [-1.5, 0.75, 2.0]),
        ("all negative", [-1.5, -0.75, -2.0]),
        ("all positive", [1.5, 0.75, 2.0]),
        ("large values", [-48.0, 24.0, 64.0]),
        ("ties", [-1.5, 1.0, 2.0]),
    ],
)
def test_what_perturbations_do(name, expected):
    values = {"x": torch.tensor([-1.5, 0.75, 2.0], dtype=torch.bfloat16)}
    perturb(values, name)
    assert values["x"].tolist() == expected
