"""On a GPU: the bench tells equal kernels from faster ones, and sees what a profiler sees. Run with `pytest -m gpu`."""

from dataclasses import replace

import pytest

from bundled import EXAMPLES

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.gpu

from kdiag import workload as workloads
from kdiag.diagnose.classify import classify
from kdiag.diagnose.report.read import read_launches
from kdiag.executors.bench import Counters, Trial
from kdiag.executors.decide import CandidateOutcome, decide, needs_confirmation
from kdiag.executors.device_bench import DeviceBench, probe_gpu
from kdiag.executors.sanitizer import Memcheck
from kdiag.rules.load_metric_sets import counters, parse_capability
from kdiag.rules.load_policies import load


@pytest.fixture(scope="module", params=["softmax", "matmul_bf16", "vector_add"])
def bench(request):
    described = workloads.read(EXAMPLES / request.param)
    gpu = probe_gpu()
    assert gpu is not None, "these tests need a CUDA GPU"
    names = counters(parse_capability(gpu.compute_capability))
    return DeviceBench(described, gpu, names, lambda path, kernel: read_launches(path, kernel)[0].observations)


def test_a_kernel_is_never_faster_than_itself(bench, tmp_path):
    source = bench.workload.kernel_file
    twin = tmp_path / source.name
    twin.write_text(source.read_text() + "\n# the same kernel\n")
    policy = load("adaptive")
    for _ in range(5):
        verdicts = []
        for _ in range(2):  # a small gain is measured again before it is kept, as the loop does
            answer = bench.trial(source, twin)
            verdicts.append(decide(CandidateOutcome(checks=answer.checks, timings=answer.timings), policy))
            if verdicts[-1].name != "keep":
                break
            assert needs_confirmation(answer.timings, policy), answer.timings
        assert verdicts[-1].name in ("inconclusive", "revert"), verdicts


def test_no_kernel_beats_the_limit_that_was_measured_beside_it(bench):
    answer = bench.baseline(bench.workload.kernel_file)
    assert answer.passed
    for row in answer.configurations:
        assert row.ms > 0.97 * row.limit_ms


def test_counters_come_from_the_kernel_alone(bench):
    name = {"softmax": "softmax_kernel", "matmul": "matmul_kernel", "vector_add": "vector_add_kernel"}
    answer = bench.counters(bench.workload.kernel_file, name[bench.workload.kernel_file.stem])
    assert isinstance(answer, Counters), answer
    assert classify(answer.observations).bottleneck != "unknown"


def test_a_changed_file_is_not_measured(bench, tmp_path):
    broken = tmp_path / bench.workload.kernel_file.name
    broken.write_text("raise RuntimeError('this kernel cannot be imported')\n")
    answer = replace(bench, timeout_s=60.0).trial(bench.workload.kernel_file, broken)
    assert not isinstance(answer, Trial)
    assert "cannot be imported" in answer.message


def test_compute_sanitizer_sees_an_access_outside_an_array(tmp_path):
    described = workloads.read(EXAMPLES / "softmax")
    wrong = tmp_path / "softmax.py"
    wrong.write_text(described.kernel_file.read_text().replace("check_bounds=True", "check_bounds=False"))
    memcheck = Memcheck(described)
    assert memcheck(described.kernel_file).outcome == "passed"
    assert "Invalid __global__ read" in memcheck(wrong).reason
