"""From a request to counters or a reason, and the capture of the launch; the GPU itself stands aside."""

import pytest

from bundled import EXAMPLES
from kdiag import isolate, workload
from kdiag.executors.ncu.collect import NoCounters
from kdiag.executors.pm_sampling import sample as pm_sampling
from kdiag.executors.pm_sampling.records import SamplingFailed
from kdiag.isolate import Died


def softmax():
    described = workload.read(EXAMPLES / "softmax")
    return pm_sampling.request(described, described.kernel_file)


@pytest.mark.parametrize(
    ("package", "command"), [("torch", 'pip install "kdiag[gpu]"'), ("cupti", 'pip install "cupti-python>=13.4"')]
)
def test_a_missing_package_is_named_with_what_to_do(monkeypatch, package, command):
    monkeypatch.setattr(pm_sampling, "find_spec", lambda name: None if name == package else object())
    answer = pm_sampling.sample(softmax())
    assert f"needs {package}" in answer.reason
    assert command in answer.reason


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("The card is busy.", "The card is busy."),
        ("no answer within 120 s", "Sampling the counters failed: no answer within 120 s."),
    ],
)
def test_a_child_that_died_becomes_one_sentence(monkeypatch, message, reason):
    pytest.importorskip("torch")
    pytest.importorskip("cuda.tile")
    monkeypatch.setattr(pm_sampling, "find_spec", lambda name: object())
    monkeypatch.setattr(isolate, "run", lambda *_args, **_options: Died("error", message))
    assert pm_sampling.sample(softmax()) == NoCounters(reason)


@pytest.fixture
def launches(monkeypatch):
    """`pm_launches` with a `ct.launch` that only counts."""
    pytest.importorskip("torch")
    ct = pytest.importorskip("cuda.tile")
    from kdiag.executors.pm_sampling import launches as pm_launches

    monkeypatch.setattr(ct, "launch", lambda *_arguments, **_options: None)
    return pm_launches


def test_what_runs_inside_is_recorded_with_its_arguments(launches):
    import cuda.tile as ct

    @ct.kernel
    def kernel() -> None: ...

    data = object()
    with launches.recorded_launches() as found:
        ct.launch(None, (4, 3), kernel, (data, 1), programmatic_dependent_launch=True)
        ct.launch(None, 7, kernel, ())
    ct.launch(None, (9,), kernel, ())
    assert [(one.name, one.grid, one.blocks) for one in found] == [("kernel", (4, 3), 12), ("kernel", (7,), 7)]
    assert found[0].arguments[0] is data
    assert found[0].options == {"programmatic_dependent_launch": True}


def test_the_fingerprint_tells_changed_data(launches):
    import torch

    data = torch.ones(8)
    launch = launches.GpuLaunch("kernel", (1,), None, (data, 3, torch.zeros(0)), {})
    before = launches.fingerprint(launch)
    assert before == (8.0,)
    data[0] = 2
    assert launches.fingerprint(launch) != before


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [("layer_norm", "did not launch layer_norm: it launched softmax_kernel"), ("softmax_kernel", None), ("", None)],
)
def test_the_kernel_is_found_among_the_launches(launches, monkeypatch, kernel, reason):
    import torch

    from kdiag.executors import device_jobs
    from kdiag.executors.pm_sampling import job as pm_jobs

    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: None)
    monkeypatch.setattr(device_jobs, "load_part", on_the_cpu(device_jobs.load_part))
    request = pm_sampling.request(softmax().workload, EXAMPLES / "softmax" / "softmax.py", kernel)
    if reason is None:
        launch, notes = pm_jobs.captured(request)
        assert (launch.name, launch.grid, notes) == ("softmax_kernel", (8, 1, 1), ())
    else:
        with pytest.raises(SamplingFailed, match=reason):
            pm_jobs.captured(request)


def on_the_cpu(load):
    """Load a workload whose inputs are small and on the CPU."""

    def loaded(path, **options):
        module = load(path, **options)
        if hasattr(module, "make_inputs"):
            make = module.make_inputs
            module.configs = lambda: [{"rows": 8, "columns": 16, "dtype": "bfloat16"}]
            module.make_inputs = lambda config, _device, seed: make(config, "cpu", seed)
        return module

    return loaded
