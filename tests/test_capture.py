"""What is recorded of a workload without a GPU, and that the signature is the one the run time gives the launch."""

import sys

import pytest

from bundled import EXAMPLES

pytest.importorskip("cuda.tile")
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.compiler

import cuda.tile as ct

from kdiag import workload as workloads
from kdiag.cutile.signature import signature
from kdiag.diagnose.capture.workload import capture
from kdiag.errors import UsageError, WorkloadError
from kdiag.records import ArrayArgument, ScalarArgument
from scaled_vector import INPUTS, KERNEL, LAUNCH, WORKLOAD


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Capture the launches of a workload written from a wrapper's body and the making of its input."""
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(body=LAUNCH, *, inputs=INPUTS, large=100, target="sm_90"):
        (tmp_path / "scale.py").write_text(KERNEL.replace(LAUNCH, body.replace("\n", "\n    ")))
        text = WORKLOAD.replace(INPUTS, inputs.replace("\n", "\n    ")).replace("100", str(large))
        (tmp_path / "workload.py").write_text(text)
        described = workloads.read(tmp_path / "workload.py")
        return capture(described, described.kernel_file, target)

    yield run
    # Only the modules of this test: a restored `sys.modules` would forget half of what torch imports late.
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def symbol(function, *values):
    return str(signature(ct.kernel(function), values).symbol)


def array(*shape, dtype=torch.float32):
    return torch.empty(shape, dtype=dtype, device="meta")


# ---- symbols


@pytest.mark.parametrize("name", [path.stem for path in EXAMPLES.glob("*/*.ncu-rep*")])
def test_symbols_are_those_that_a_profile_of_the_same_launches_shows(name, monkeypatch):
    ncu_report = pytest.importorskip("ncu_report")
    monkeypatch.setattr(sys, "path", list(sys.path))
    described = workloads.read(EXAMPLES / name)
    launches = ncu_report.load_report(str(next((EXAMPLES / name).glob("*.ncu-rep*")))).range_by_idx(0)
    profiled = {launches.action_by_idx(index).name() for index in range(launches.num_actions())}
    captured = capture(described, described.kernel_file, "sm_90")
    assert profiled <= {one.signature.symbol for one in captured}


def test_values_that_do_not_fit_32_bits_are_refused_as_the_launch_would():
    def plain(x, n):
        pass

    def wide(x: ct.IndexedWithInt64, n: ct.ScalarInt64):
        pass

    with pytest.raises(WorkloadError, match="IndexedWithInt64"):
        symbol(plain, array(1 << 31), 1)
    with pytest.raises(WorkloadError, match="ScalarInt64"):
        symbol(plain, array(16), 1 << 31)
    assert symbol(wide, array(1 << 31), 1 << 31).endswith("w_Si64")


def test_a_kernel_takes_as_many_arguments_as_it_has_parameters():
    with pytest.raises(WorkloadError, match="takes 1 arguments"):
        symbol(lambda a: None)


# ---- capture


def test_every_configuration_is_recorded_with_its_arguments(record):
    first, second = (one.launch for one in record())
    assert (first.kernel, first.grid, first.configuration) == ("scale_kernel", (2, 1, 1), 0)
    assert (second.grid, second.configuration) == ((4, 1, 1), 1)
    assert first.arguments == (
        ArrayArgument("x", "float32", (64,), (1,), 16),
        ArrayArgument("y", "float32", (64,), (1,), 16),
        ScalarArgument("TILE", 32, constant=True),
    )


def test_inputs_larger_than_any_memory_cost_nothing(record):
    generated = (
        "generator = torch.Generator(device=device).manual_seed(seed)\n"
        'return {"x": torch.randn(config["n"], generator=generator, device=device)}'
    )
    wide = LAUNCH.replace("32", "256")
    assert record(wide, inputs=generated, large=2**31 - 1)[1].launch.grid == (2**23, 1, 1)


@pytest.mark.parametrize(
    "body",
    [
        f"assert x.is_cuda and x.device.type == 'cuda' and torch.cuda.is_available()\n{LAUNCH}",
        f"with torch.cuda.device(x.device):\n    {LAUNCH}",
        f"scratch = torch.zeros(4, device=x.device); y = scratch.to('cuda:0').new_empty(x.shape)\n{LAUNCH}",
        f"from cuda.tile import launch\n{LAUNCH.removeprefix('ct.')}",
        f"if x.sum().item() < 0: raise SystemExit\n{LAUNCH}",
        f"{LAUNCH.replace('scale_kernel,', 'scale_kernel.replace_hints(occupancy=2),')}",
        f"x = torch.ones(x.numel()).cuda()\n{LAUNCH}",
        "grid = lambda c: (ct.cdiv(x.numel(), c[0]), 1, 1)\n"
        "best = ct.tune.exhaustive_search([(32,), (64,)], torch.cuda.current_stream(), grid, scale_kernel, None).best\n"
        f"{LAUNCH.replace('32))', 'best.config[0]))')}",
    ],
    ids=["asserts", "device", "scratch", "import", "values", "hints", "cuda", "tune"],
)
def test_what_wrappers_do_on_a_gpu_works_here(record, body):
    launches = [one.launch for one in record(body)]
    assert [launch.grid for launch in launches] == [(2, 1, 1), (4, 1, 1)]
    assert all(launch.arguments[2] == ScalarArgument("TILE", 32, constant=True) for launch in launches)


def test_grids_by_the_number_of_multiprocessors(record):
    count = "torch.cuda.get_device_properties(x.device).multi_processor_count"
    body = LAUNCH.replace("(-(-x.numel() // 32), 1, 1)", f"({count},)")
    assert record(body)[0].launch.grid == (132,)
    assert record(body, target="sm_80")[0].launch.grid == (108,)


def test_torch_is_as_before_afterwards(record):
    before = (torch.cuda.is_available, torch.Generator, ct.launch)
    record()
    assert (torch.cuda.is_available, torch.Generator, ct.launch) == before
    assert not torch.empty(1).is_cuda


def test_a_workload_that_launches_nothing_and_a_card_nobody_knows(record):
    with pytest.raises(WorkloadError, match="launches no cuTile kernel"):
        record("pass")
    with pytest.raises(WorkloadError, match=r"no @ct\.kernel"):
        record(LAUNCH.replace("scale_kernel", "scale"))
    with pytest.raises(UsageError, match="sm_77"):
        record(target="sm_77")
