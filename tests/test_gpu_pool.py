"""Configurations spread over GPUs, with two workers on the CPU in their place."""

import os
import time

import pytest

pytest.importorskip("torch")

from kdiag import isolate
from kdiag.errors import UsageError
from kdiag.executors import device_bench, device_jobs, device_race, gpu_pool
from kdiag.executors.bench import Baseline, ConfigurationBaseline, Trial
from kdiag.executors.device_bench import DeviceBench
from kdiag.isolate import Died
from kdiag.records import ConfigurationCheck, ConfigurationTiming, Gpu
from kdiag.workload import load_part, read

CARD = Gpu("stand-in", "9.0", 132)
WORKLOAD = "KERNEL_FILE = 'kernel.py'\ndef configs(): return list(range(5))\n" + "".join(
    f"def {name}(*_): ...\n" for name in ("make_inputs", "run", "reference", "bytes_moved", "flops")
)


def where(config):
    return f"{config} on {os.environ[gpu_pool.VISIBLE]}"


def baseline(request):
    rows = [ConfigurationBaseline(where(config), 1.0, 0.0) for config in load_part(request.workload).configs()]
    return Baseline((ConfigurationCheck("n", True, 0.0, 1.0),), tuple(rows), copy_gbs=4000.0)


def trial(request):
    """Both parts at once, or the first one waits for the second in vain."""
    part, meeting = request.workload.part, request.workload.path.parent
    (meeting / str(part.number)).touch()
    while len(list(meeting.glob("[01]"))) < part.count:
        time.sleep(0.01)
    fault = request.candidate.path.read_text()
    if fault == "dies" and part.number == 1:
        os._exit(7)
    checks = (ConfigurationCheck(str(part.number), fault != "wrong" or part.number == 0, 0.0, 1.0),)
    names = map(where, load_part(request.workload).configs())
    return Trial(checks, tuple(ConfigurationTiming(name, 1, 1, 1, 1, 1, 0, 9) for name in names))


@pytest.fixture
def workload(tmp_path, monkeypatch):
    (tmp_path / "workload.py").write_text(WORKLOAD)
    (tmp_path / "kernel.py").write_text("fine")
    monkeypatch.setattr(device_jobs, "baseline", baseline)
    monkeypatch.setattr(device_jobs, "trial", trial)
    return read(tmp_path)


def bench(workload, gpus):
    return DeviceBench(workload, CARD, (), lambda _path, _kernel: {}, 120.0, gpus)


def test_each_configuration_is_measured_on_one_gpu_and_all_gpus_at_once(workload):
    measured = bench(workload, gpu_pool.executors(("3", "GPU-7")))
    expected = [f"{n} on {'3' if n < 2 else 'GPU-7'}" for n in range(5)]
    kernel = workload.kernel_file
    whole, answer = measured.baseline(kernel), measured.trial(kernel, kernel)
    assert [row.configuration for row in whole.configurations] == expected
    assert (whole.copy_gbs, len(whole.checks)) == (4000.0, 2)
    assert [timing.configuration for timing in answer.timings] == expected
    assert answer.passed


def test_what_is_wrong_or_dies_on_one_gpu_is_so_for_all(workload):
    measured, candidate = (bench(workload, gpu_pool.executors(("0", "1"))), workload.path.parent / "candidate.py")
    candidate.write_text("wrong")
    answer = measured.trial(workload.kernel_file, candidate)
    assert (answer.passed, answer.timings, len(answer.checks)) == (False, (), 2)
    candidate.write_text("dies")
    answer = measured.trial(workload.kernel_file, candidate)
    assert "exit code 7" in answer.message


def sleep(_):
    time.sleep(600)


def check(request):
    if request.candidate.path.read_text() == "dies":
        os._exit(7)
    return Trial((ConfigurationCheck(where(request.candidate.path.stem), True, 0.0, 1.0),), ())


def test_candidates_are_checked_by_the_gpus_in_turn(workload, monkeypatch, tmp_path):
    monkeypatch.setattr(device_jobs, "check", check)
    candidates = [tmp_path / f"{n}.py" for n in range(5)]
    for each in candidates:
        each.write_text("dies" if each.stem == "3" else "fine")
    answers = bench(workload, gpu_pool.executors(("3", "GPU-7"))).checks(workload.kernel_file, candidates)
    said = [answer.message if isinstance(answer, Died) else answer.checks[0].configuration for answer in answers]
    assert said[:3] + said[4:] == ["0 on 3", "1 on GPU-7", "2 on 3", "4 on 3"]
    assert "exit code 7" in said[3]


def heat(request):
    """Racers are as many times as fast as the parent as they say, on the second GPU a little less."""
    part, meeting = request.workload.part, request.workload.path.parent
    (meeting / f"{request.least} {part.number}").touch()
    while len(list(meeting.glob(f"{request.least} *"))) < part.count:
        time.sleep(0.01)
    ratios = [float(racer.path.read_text()) - 0.1 * part.number for racer in request.racers]
    if min(ratios) < 0:
        os._exit(7)
    return request.least + part.number, [(ratio,) * len(load_part(request.workload).configs()) for ratio in ratios]


def test_a_race_times_each_configuration_on_its_gpu_and_its_heats_agree(workload, monkeypatch, tmp_path):
    monkeypatch.setattr(device_race, "heat", heat)
    racers = [tmp_path / f"{n}.py" for n in range(4)]
    for each, ratio in zip(racers, (1.0, 3.0, 2.0, 0.5), strict=True):
        each.write_text(str(ratio))
    measured = bench(workload, gpu_pool.executors(("0", "1")))
    found = measured.race(workload.kernel_file, racers, 2.0)
    assert found.rounds == (4, 8, 8, 4)
    assert found.speedups[1] == (3.0, 3.0, 2.9, 2.9, 2.9)
    racers[3].write_text("0.05")  # dies on the second
    assert "exit code 7" in measured.race(workload.kernel_file, racers, 2.0).message


def test_all_gpus_end_at_the_deadline_of_who_asks():
    with isolate.ending_within(0.2):
        (answer,) = gpu_pool.on_each(gpu_pool.executors(("0",)), sleep, [None], timeout_s=600)
    assert answer.kind == "timeout"


@pytest.mark.parametrize(
    ("selection", "already", "names"), [("all", "", ("0", "1")), ("1,0", "", ("1", "0")), ("1", "4,GPU-6", ("GPU-6",))]
)
def test_numbers_count_what_is_visible(monkeypatch, selection, already, names):
    monkeypatch.setenv(gpu_pool.VISIBLE, already)
    assert gpu_pool.visible(selection, 2) == names


@pytest.mark.parametrize("selection", ["2", "", "0,0", "-1", "one"])
def test_a_gpu_that_is_not_there_is_refused(selection):
    with pytest.raises(UsageError, match=r"no GPU 2: torch sees 2|no choice of GPUs"):
        gpu_pool.visible(selection, 2)


def probe(_):
    return Gpu("one" if os.environ[gpu_pool.VISIBLE] == "0" else "another", "9.0", 132)


def two(_):
    return 2


def test_cards_of_several_kinds_are_refused(workload, monkeypatch):
    monkeypatch.setattr(device_jobs, "devices", two)
    monkeypatch.setattr(device_jobs, "probe", probe)
    assert device_bench.choose_gpus("1", workload) == (("1",), Gpu("another", "9.0", 132))
    with pytest.raises(UsageError, match="must be cards of one kind, and is: another, one"):
        device_bench.choose_gpus("all", workload)
