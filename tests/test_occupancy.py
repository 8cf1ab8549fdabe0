"""Occupancy by calculation, against what Nsight Compute reports for launches on many cards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.diagnose.compiler.occupancy import BlockNeeds, occupancy
from kdiag.rules.load_occupancy import load_occupancy
from recorded_reports import DATA, LEAN, needs_data

REPORTS = sorted(DATA.glob("*/*.ncu-rep"))
LIMITED = {"registers": "registers", "shared-memory": "shared_mem", "warps": "warps", "blocks": "blocks"}
LIMITS = {name: f"launch__occupancy_limit_{metric}" for name, metric in LIMITED.items()}


def launches(report):
    """The launch figures of every action in the report that has them all."""
    ncu_report = pytest.importorskip("ncu_report")
    sizes = ("block_size", "registers_per_thread", "shared_mem_per_block_static", "shared_mem_per_block_dynamic")
    names = [*LIMITS.values(), *(f"launch__{name}" for name in (*sizes, "shared_mem_config_size", "barrier_count"))]
    names += [f"device__attribute_compute_capability_{part}" for part in ("major", "minor")]
    names.append("sm__maximum_warps_per_active_cycle_pct")
    found = []
    context = ncu_report.load_report(str(report))
    actions = [context[index][each] for index in range(len(context)) for each in range(len(context[index]))]
    for action in actions:
        metrics = {name: action.metric_by_name(name) for name in names}
        values = {name: float(metric.value()) for name, metric in metrics.items() if metric is not None}
        if set(names) - set(values) <= {"launch__barrier_count"} and values["launch__block_size"]:
            found.append(values)
    return found


def needs_of(seen):
    static, dynamic = (seen[f"launch__shared_mem_per_block_{kind}"] for kind in ("static", "dynamic"))
    counts = ("block_size", "registers_per_thread", "barrier_count")
    threads, registers, barriers = (int(seen.get(f"launch__{name}", 0)) for name in counts)
    return BlockNeeds(threads, registers, int(static + dynamic), barriers)


@pytest.mark.skipif(not REPORTS, reason="no recorded reports here")
def test_the_limits_are_those_of_the_profiler_on_every_card():
    compared, capabilities = 0, set()
    for report in REPORTS:
        for seen in launches(report):
            capability = ".".join(
                f"{seen[f'device__attribute_compute_capability_{part}']:.0f}" for part in ("major", "minor")
            )
            needs = needs_of(seen)
            configured = occupancy(capability, needs, int(seen["launch__shared_mem_config_size"]))
            at_most = occupancy(capability, needs)
            for name, metric in LIMITS.items():
                if name != "shared-memory":
                    assert configured.limits[name] == seen[metric], (report.name, name, needs)
            # Until 2022 ncu divided all the shared memory there can be, since then what the driver set aside; where
            # the kernel uses none (before 8.0) it gives the limit of the blocks.
            by_shared = {each.limits.get("shared-memory", each.limits["blocks"]) for each in (configured, at_most)}
            assert seen[LIMITS["shared-memory"]] in by_shared, (report.name, needs)
            assert configured.occupancy_pct == pytest.approx(seen["sm__maximum_warps_per_active_cycle_pct"])
            compared += 1
            capabilities.add(capability)
    assert compared > 17
    assert {"7.5", "8.0", "8.6", "8.9", "9.0"} <= capabilities


@needs_data
def test_on_the_h200_even_the_limit_by_shared_memory_is_exact():
    for seen in launches(LEAN):
        computed = occupancy("sm_90", needs_of(seen), int(seen["launch__shared_mem_config_size"]))
        assert {metric: computed.limits[name] for name, metric in LIMITS.items()} == {
            metric: seen[metric] for metric in LIMITS.values()
        }


def test_what_limits_a_block_is_named():
    cases = {
        "registers": BlockNeeds(128, 255),
        "shared-memory": BlockNeeds(128, 32, 100_000),
        "warps": BlockNeeds(1024, 32),
        "blocks": BlockNeeds(32, 16),
        "barriers": BlockNeeds(32, 16, 0, 8),
    }
    for name, needs in cases.items():
        found = occupancy("sm_90", needs)
        assert found.limited_by == name


def test_a_block_that_cannot_run_has_no_occupancy_and_an_unknown_card_none_at_all():
    too_large = occupancy("sm_120", BlockNeeds(128, 32, 101_377))
    assert (too_large.blocks_per_sm, too_large.occupancy_pct) == (0, 0.0)
    assert occupancy("sm_66", BlockNeeds(128, 32)) is None
    assert occupancy("sm_90", BlockNeeds(0, 32)) is None


@given(st.sampled_from(sorted(load_occupancy())), st.integers(1, 1024), st.integers(16, 255), st.integers(0, 200_000))
def test_more_of_anything_never_makes_room_for_more_blocks(capability, threads, registers, shared):
    found = occupancy(capability, BlockNeeds(threads, registers, shared))
    assert 0 <= found.occupancy_pct <= 100
    larger = (
        BlockNeeds(threads + 32, registers, shared),
        BlockNeeds(threads, registers + 1, shared),
        BlockNeeds(threads, registers, shared + 128),
    )
    for needs in larger:
        more = occupancy(capability, needs)
        assert more.blocks_per_sm <= found.blocks_per_sm
