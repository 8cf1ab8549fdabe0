"""Windows under a sampler that plays a series: overflow, refusals, and observations with their provenance."""

import json
import lzma
import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from kdiag.executors.pm_sampling.records import SamplingFailed
from kdiag.executors.pm_sampling.samples import Series
from kdiag.executors.pm_sampling.windows import accepted, data_notes, metric_set, runs_of, sampled_values
from kdiag.rules.load_metrics import load_metrics
from kdiag.rules.load_pm_sampling import MetricSet, MetricSetError, SampledMetric, load_metric_set, parse
from pm_stand_ins import WINDOW, FakeLaunches, FakeSampler, idle, series, working

METRICS = (
    SampledMetric("dram", "dram_pct", "mean"),
    SampledMetric("bytes", "dram_read_bytes", "launch", difference="counted in sectors"),
)
CHOSEN = MetricSet("sm_90", 20_000, "", WINDOW, {"default": (METRICS,)})
ROWS = [idle(dram=0, bytes=0)] * 3 + [working(dram=60, bytes=500)] * 40 + [idle(dram=0, bytes=0)] * 3


def test_an_accepted_window_becomes_observations():
    window = accepted(FakeSampler(series(ROWS)), FakeLaunches(launches=20, blocks=20), CHOSEN, METRICS)
    found = sampled_values([(window, METRICS)])
    assert {name: one.value for name, one in found.items()} == pytest.approx({"dram_pct": 60, "dram_read_bytes": 1000})
    read = found["dram_read_bytes"]
    assert (read.kind, read.name, read.unit) == ("metric", "bytes", "byte")
    assert read.text.startswith("PM sampling, L2 warm: ")
    assert read.text.endswith("counted in sectors")


def test_the_proof_is_sampled_with_every_run_and_once():
    sampler = FakeSampler(series(ROWS))
    accepted(sampler, FakeLaunches(20, 20), CHOSEN, (*METRICS, SampledMetric("active", "sm_clock_hz", "mean")))
    assert sampler.asked == [(("busy", "active", "blocks", "dram", "bytes"), 20_000)]


def test_an_overflow_raises_the_interval():
    sampler = FakeSampler(series(ROWS), overflows=2)
    assert accepted(sampler, FakeLaunches(20, 20), CHOSEN, METRICS).interval_ns == 80_000
    assert [interval for _, interval in sampler.asked] == [20_000, 40_000, 80_000]


def test_overflow_at_every_interval_is_a_reason():
    with pytest.raises(SamplingFailed, match="ran over at every sampling interval; use ncu"):
        accepted(FakeSampler(series(ROWS), overflows=99), FakeLaunches(20, 20), CHOSEN, METRICS)


def test_a_long_kernel_starts_with_an_interval_that_fits():
    sampler = FakeSampler(series(ROWS))
    accepted(sampler, FakeLaunches(20, 20, launch_ms=1000), CHOSEN, METRICS)
    assert sampler.asked[0][1] == 640_000


def test_over_several_passes_the_busiest_part_counts():
    runs = [(SampledMetric(name, "l2_pct", "mean"),) for name in ("a", "b")]
    sampler = FakeSampler(series([working(a=20, b=70)] * 40))
    windows = [(accepted(sampler, FakeLaunches(20, 20), CHOSEN, run), run) for run in runs]
    found = sampled_values(windows)
    assert (found["l2_pct"].name, found["l2_pct"].value) == ("b", pytest.approx(70))


def test_data_that_change_or_are_no_numbers_are_noted():
    assert data_notes((1.0, 2.0), (1.0, 2.0)) == ()
    assert "changes the data" in data_notes((1.0,), (2.0,))[0]
    assert "NaN or infinity" in data_notes((1.0,), (float("nan"),))[0]


def test_a_card_without_metrics_and_an_unknown_pass_say_so():
    with pytest.raises(SamplingFailed, match="no set of metrics to sample on sm_75; use ncu"):
        metric_set((7, 5))
    with pytest.raises(SamplingFailed, match="sm_90 has no pass l3; it has default"):
        runs_of(CHOSEN, ("l3",))


# Their values have four digits.
RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("pm_*.json.xz"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recorded_window_of_a_real_card_is_accepted_and_says_what_it_must(path):
    played = json.loads(lzma.decompress(path.read_bytes()))
    columns = (tuple(played[name]) for name in ("names", "starts_ns", "ends_ns"))
    recorded = Series(*columns, tuple(map(tuple, played["values"])))
    chosen = load_metric_set(played["architecture"])
    metrics = chosen.passes["default"][0]
    launches = FakeLaunches(played["launches"], played["blocks"], played["launch_ms"])
    found = sampled_values([(accepted(FakeSampler(recorded), launches, chosen, metrics), metrics)])
    value = {name: one.value for name, one in found.items()}
    assert set(value) == {metric.metric for metric in metrics}
    # Cycles and clock are counted apart from CUDA's timer, so their quotient must be the time of a launch.
    assert value["sm_elapsed_cycles"] / value["sm_clock_hz"] * 1e3 == pytest.approx(played["launch_ms"], rel=0.05)
    moved = value["dram_read_bytes"] + value["dram_write_bytes"]
    peak = value["dram_peak_bytes_per_cycle"] * value["dram_clock_hz"]
    assert 100 * moved / (played["launch_ms"] / 1e3) / peak == pytest.approx(value["dram_pct"], rel=0.05)
    with pytest.raises(SamplingFailed, match="another kernel"):
        accepted(FakeSampler(recorded), replace(launches, launches=launches.launches - 3), chosen, metrics)


def architectures():
    folder = files("kdiag.rules").joinpath("pm_sampling")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


@pytest.mark.parametrize("architecture", architectures())
def test_every_set_of_metrics_holds_what_a_diagnosis_starts_from(architecture):
    found = load_metric_set(architecture)
    assert found.architecture == architecture
    default = {metric.metric for run in found.passes["default"] for metric in run}
    assert {"dram_pct", "issue_pct", "tensor_pct", "xu_pct", "occupancy_pct", "sm_clock_hz"} <= default
    assert len(found.passes["default"]) == 1
    for runs in found.passes.values():
        for run in runs:
            assert len({metric.name for metric in run}) == len(run)
            for metric in run:
                per_launch = metric.name.rpartition(".")[2] in ("sum", "avg")
                assert per_launch == (metric.reduce == "launch"), metric.name
                assert (load_metrics()[metric.metric].unit == "%") == ("pct" in metric.name), metric.name


def test_a_card_that_is_like_another_differs_by_what_its_file_says():
    hopper, ampere = load_metric_set("sm_90"), load_metric_set("sm_86")
    assert ampere.window == replace(hopper.window, blocks="gr__ctas_launched.sum")
    theirs, ours = ({metric.name for metric in found.passes["default"][0]} for found in (hopper, ampere))
    assert ours - theirs == {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"}
    assert len(theirs - ours) == 6
    assert set(hopper.passes) > set(ampere.passes) == {"default"}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"run": []}, "needs a pass 'default'"),
        ({"run": [{"pass": "default", "metrics": []}]}, "no run may be empty"),
        ({"window": {"busy": "b"}}, "active"),
        ({"interval_ns": "soon"}, "soon"),
        ({"run": [{"pass": "default", "metrics": [{"name": "x", "metric": "no_such", "reduce": "mean"}]}]}, "no_such"),
        ({"run": [{"pass": "default", "metrics": [{"name": "x", "metric": "dram_pct", "reduce": "max"}]}]}, "max"),
    ],
)
def test_a_wrong_set_of_metrics_is_refused(change, complaint):
    text = files("kdiag.rules").joinpath("pm_sampling", "sm_90.toml").read_text()
    with pytest.raises(MetricSetError, match=complaint):
        parse(tomllib.loads(text) | change)


def test_no_blocks_counter_is_no_metric_to_sample():
    assert replace(WINDOW, blocks="").names == ("busy", "active")
