"""A project's own test and benchmark commands: latencies read, failures seen, parent and candidate in turn."""

import sys
from pathlib import Path

import pytest

from kdiag.executors.bench import Baseline, Trial
from kdiag.executors.command_bench import CommandBench, latencies
from kdiag.isolate import Died
from kdiag.workload import CommandWorkload

RECORD = "Cutile: {'forward': {'mean': 3.79, 'median': 3.78, 'nrep': 13}, 'backward': {'mean': 9.5}} ms"


def test_tilegym_records_are_named_by_their_test() -> None:
    output = f"tests/t.py::test_perf[4096]\n{RECORD}\nPASSED\ntests/t.py::test_perf[8192] \n{RECORD}\n"
    assert latencies(output) == {
        "test_perf[4096] Cutile forward": 3.78,
        "test_perf[4096] Cutile backward": 9.5,
        "test_perf[8192] Cutile forward": 3.78,
        "test_perf[8192] Cutile backward": 9.5,
    }


def test_json_lines() -> None:
    assert latencies('{"latency_ms": 0.5, "configuration": "n=4"}\n{"gbps": 4}\n{broken\n') == {"n=4": 0.5}


@pytest.mark.parametrize(
    "line", ["Cutile: {oops} ms", "Cutile: {'forward': {'median': -1}} ms", "Cutile: {'forward': 3} ms"]
)
def test_what_is_no_latency_is_left_out(line: str) -> None:
    assert latencies(line) == {}


def bench(folder: Path, test: str, measure: str, timeout_s: float = 30.0) -> CommandBench:
    target = folder / "kernel.py"
    python = (sys.executable, "-c")
    return CommandBench(
        CommandWorkload(folder / "kdiag.toml", target, (*python, test), (*python, measure)),
        folder,
        target,
        None,
        timeout_s,
    )


# The "kernel" is a file that holds its own latency in ms.
MEASURE = (
    "import json; print(json.dumps({'latency_ms': float(open('kernel.py').read()), 'configuration': 'n'}))"
)


@pytest.fixture
def sources(tmp_path: Path) -> tuple[Path, Path]:
    for name, ms in (("parent", "2.0"), ("candidate", "1.0")):
        (tmp_path / name).write_text(ms)
    return tmp_path / "parent", tmp_path / "candidate"


def test_a_trial_pairs_parent_and_candidate(tmp_path: Path, sources: tuple[Path, Path]) -> None:
    answer = bench(tmp_path, "pass", MEASURE).trial(*sources)
    assert isinstance(answer, Trial)
    (timing,) = answer.timings
    assert (answer.passed, timing.speedup, timing.noise_floor, timing.samples) == (True, 2.0, 0.0, 4)


def test_a_failing_test_means_no_timing(tmp_path: Path, sources: tuple[Path, Path]) -> None:
    answer = bench(tmp_path, "raise SystemExit('wrong result')", MEASURE).trial(*sources)
    assert isinstance(answer, Trial)
    assert (answer.passed, answer.timings) == (False, ())
    assert "wrong result" in answer.checks[0].reason


def test_a_baseline(tmp_path: Path, sources: tuple[Path, Path]) -> None:
    answer = bench(tmp_path, "pass", MEASURE).baseline(sources[0])
    assert isinstance(answer, Baseline)
    assert [(row.configuration, row.ms) for row in answer.configurations] == [("n", 2.0)]


@pytest.mark.parametrize(
    ("measure", "kind", "message"),
    [
        ("print('nothing')", "error", "printed no latency"),
        ("raise SystemExit(3)", "error", "exit code 3"),
        ("import time; time.sleep(60)", "timeout", "did not end within"),
    ],
)
def test_a_benchmark_that_gives_no_figure(
    tmp_path: Path, sources: tuple[Path, Path], measure: str, kind: str, message: str
) -> None:
    answer = bench(tmp_path, "pass", measure, timeout_s=2.0).baseline(sources[0])
    assert isinstance(answer, Died)
    assert (answer.kind, message in answer.message) == (kind, True)
