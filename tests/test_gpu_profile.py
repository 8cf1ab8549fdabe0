"""On a GPU: what `kdiag profile` measures live is what Nsight Compute replays. Run with `pytest -m gpu`."""

import pytest

from bundled import EXAMPLES

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.gpu

from kdiag import workload as workloads
from kdiag.diagnose.report.read import read_launches
from kdiag.executors.ncu.collect import NoCounters, collect
from kdiag.executors.ncu.command import compute_capability
from kdiag.executors.pm_sampling.sample import PmCounters, request, sample
from kdiag.loop.profile_workload import WorkloadRequest, profile_workload
from kdiag.records import number
from kdiag.rules.load_metric_sets import counters

RIGHT = {
    "softmax": ("special-functions-and-division", "instruction-issue"),
    "matmul_bf16": ("tensor-pipe",),
    "vector_add": ("dram-bandwidth",),
}
# Sampled with L2 warm and at the clocks of sustained load, replayed with L2 flushed: 10 % of the peak apart at most.
COMPARED = ("dram_pct", "issue_pct", "xu_pct", "tensor_pct", "occupancy_pct", "shared_pct")

KERNEL = """
import cuda.tile as ct
import torch


@ct.kernel
def add_one(x, y, T: ct.Constant[int]):
    ct.store(y, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(T,)) + 1.0)


def run(x, y):
    for _ in range(200):
        ct.launch(torch.cuda.current_stream(), (1, 1, 1), add_one, (x, y, 1024))
    return y
"""
WORKLOAD = """
import torch

KERNEL_FILE = "kernel.py"
def configs(): return [{}]
def make_inputs(config, device, seed): return {"x": torch.zeros(1024, device=device), "y": torch.zeros(1024, device=device)}
def run(module, inputs): return module.run(inputs["x"], inputs["y"])
def reference(inputs): return inputs["x"] + 1
def bytes_moved(config): return 200 * 8192
def flops(config): return 0
"""


@pytest.mark.parametrize("name", RIGHT)
def test_a_live_profile_names_the_cause(name):
    said = []
    asked = WorkloadRequest(EXAMPLES / name, None, None, None, None, ncu=False)
    (launch,) = profile_workload(asked, said.append).kernels
    assert launch.diagnosis.causes[0].id in RIGHT[name]
    assert launch.contradictions == ()
    assert launch.compiled is not None
    assert launch.roofline.excess_traffic is not None
    assert said == []


@pytest.mark.parametrize("name", RIGHT)
def test_sampled_counters_are_those_of_the_profiler(name, tmp_path):
    work = workloads.read(EXAMPLES / name)
    sampled = sample(request(work, work.kernel_file))
    assert isinstance(sampled, PmCounters), sampled
    assert sampled.busy_pct > 90
    report = collect(work, work.kernel_file, sampled.kernel, counters(compute_capability()), tmp_path / "r.ncu-rep")
    assert not isinstance(report, NoCounters), report
    replayed = read_launches(report)[0].observations
    apart = {
        metric: (mine, theirs)
        for metric in COMPARED
        if (mine := number(sampled.observations, metric)) is not None
        and (theirs := number(replayed, metric)) is not None
        and abs(mine - theirs) > 10
    }
    assert apart == {}


def test_two_hundred_small_launches_are_the_hosts_problem(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "workload.py").write_text(WORKLOAD)
    asked = WorkloadRequest(tmp_path / "workload.py", None, None, None, None, ncu=False)
    (launch,) = profile_workload(asked, lambda _: None).kernels
    assert launch.diagnosis.bottleneck == "host"
    assert launch.diagnosis.causes[0].id in ("launch-bound", "host-overhead")
