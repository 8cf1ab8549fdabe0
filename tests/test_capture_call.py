"""Capturing one call of a launch wrapper, in a child process."""

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.compiler

from kdiag.diagnose.capture.call import CallRequest, launches_of_call
from kdiag.errors import WorkloadError
from kdiag.records import ArrayArgument, ScalarArgument

OPERATOR = """
import cuda.tile as ct
import torch
from .shapes import TILE

@ct.kernel
def scale(x, y, n: int, TILE: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (TILE,)) * 2)

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return launched(x)

    @staticmethod
    def backward(ctx, gradient):
        return launched(gradient.contiguous())

def launched(x):
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(x.numel(), TILE), 1, 1), scale, (x, y, x.numel(), TILE))
    return y

def operator(x):
    return Scale.apply(x)

def with_gradient(x):
    operator(x).sum().backward()

@torch.compile
def compiled(x):
    return operator(x) + 1

def asked(x):
    card = torch.cuda.get_device_properties(x.device)
    assert card.total_memory > card.L2_cache_size > card.shared_memory_per_block_optin
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(x.device), torch.cuda.device_of(x):
        start.record()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            operator(x)
        graph.replay()
        end.record()
    torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
    torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0 and not torch.cuda.is_current_stream_capturing()
    assert torch.cuda.mem_get_info()[1] == card.total_memory and torch.cuda.max_memory_allocated() == 0
    torch.empty(4, pin_memory=True).pin_memory().to("cuda", non_blocking=True)

def fails(x):
    assert x.numel() == 1

def nothing(x):
    pass

def arguments():
    return (torch.ones(1000, device="cuda"),)
"""


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "operators"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "shapes.py").write_text("TILE = 256\n")
    (folder / "scale.py").write_text(OPERATOR)
    return folder / "scale.py"


def ones():
    return (torch.ones(1000, device="cuda"),)


def tracked():
    return {"x": torch.ones(1000, device="cuda", requires_grad=True)}


def captured(function, arguments=ones):
    return launches_of_call(CallRequest(function, arguments, "sm_90"), timeout_s=60)


def test_an_operator_of_a_package_is_captured_by_its_file(package):
    (launch,) = captured(f"{package}:operator")
    assert (launch.kernel, launch.grid) == ("scale", (4, 1, 1))
    assert launch.arguments == (
        ArrayArgument("x", "float32", (1000,), (1,), 16),
        ArrayArgument("y", "float32", (1000,), (1,), 16),
        ScalarArgument("n", 1000, constant=False),
        ScalarArgument("TILE", 256, constant=True),
    )


def test_modules_on_a_search_path_and_arguments_made_beside_the_operator(package):
    request = CallRequest("operators.scale:operator", f"{package}:arguments", "sm_90", (str(package.parents[1]),))
    assert [launch.kernel for launch in launches_of_call(request, timeout_s=60)] == ["scale"]


@pytest.mark.parametrize(
    ("name", "arguments", "launches"),
    [("with_gradient", tracked, 2), ("asked", ones, 1), ("compiled", ones, 1), ("launched", [torch.ones(1000)], 1)],
)
def test_what_operators_do_on_a_gpu_works_here(package, name, arguments, launches):
    assert [launch.grid for launch in captured(f"{package}:{name}", arguments)] == [(4, 1, 1)] * launches


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("operators.nowhere:operator", "cannot be imported"),
        ("{path}:missing", "has no missing"),
        ("{path}:TILE", "int, which cannot be called"),
        ("{path}", "does not name a function"),
        ("{path}.py:operator", "There is no file"),
        ("{path}:nothing", "launches no cuTile kernel"),
        ("{path}:fails", r"AssertionError.*\(scale\.py:\d+\)"),
    ],
)
def test_what_fails_is_named_in_one_sentence(package, function, message):
    with pytest.raises(WorkloadError, match=message) as error:
        captured(function.format(path=package))
    assert "\n" not in str(error.value)
