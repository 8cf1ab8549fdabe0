"""How much faster the card allows the kernel to become, by its own bytes and operations.

A Python workload says what each configuration needs. Of commands one launch is known, the first: the DRAM bytes that a
profiler counted, or those of the arrays, if its call was heard, where these are fewer. A better kernel is expected to
move them as well, and what the benchmark times besides (other shapes, a backward pass) to leave no more to gain. That
says what is worth trying and proves nothing: by commands no result is refused as impossible.
"""

import math
from collections.abc import Mapping
from statistics import geometric_mean

from kdiag.diagnose.metrics import inputs_missing
from kdiag.executors.bench import Baseline
from kdiag.records import ArrayArgument, Evidence, Observations, number

from .compiler import launches_of
from .findings import Findings

COPY_GBS = "timing.copy_gbs"


def headroom(baseline: Baseline, now_ms: Mapping[str, float]) -> float | None:
    """The geometric mean over configurations of time/limit, at least 1; None if a configuration has no limit.

    The limit is the copy bandwidth or the matrix rate measured on this card, whichever takes longer: a kernel
    may beat neither, so this bounds the speed-up that is left from above.
    """
    limits = {row.configuration: row.limit_ms for row in baseline.configurations}
    left = [max(1.0, ms / limit) for name, ms in now_ms.items() if (limit := limits.get(name))]
    return geometric_mean(left) if left and len(left) == len(now_ms) else None


def times(baseline: Baseline) -> dict[str, float]:
    """Milliseconds by configuration of the unedited kernel."""
    return {row.configuration: row.ms for row in baseline.configurations}


def least(baseline: Baseline | None) -> dict[str, float]:
    """Milliseconds by configuration that no correct kernel can undercut, where the card and the workload say so."""
    rows = baseline.configurations if baseline is not None else ()
    return {row.configuration: row.least_ms for row in rows if row.least_ms is not None}


def describe(baseline: Baseline, now_ms: Mapping[str, float]) -> list[str]:
    """One line a configuration that has a limit: its time, and its share of what this card was measured to do."""
    rates = {"copy bandwidth": (baseline.copy_gbs, "GB/s"), "matrix rate": (baseline.matrix_tflops, "TFLOP/s")}
    lines = []
    for row in baseline.configurations:
        if row.limit_ms is None or row.limited_by is None or row.configuration not in now_ms:
            continue
        rate, unit = rates[row.limited_by]
        share = row.limit_ms / now_ms[row.configuration]
        reached = f"{share * rate:,.0f} of {rate:,.0f} {unit}" if rate else f"{unit} unknown"
        lines.append(f"{row.configuration}: {share:.0%} of the measured {row.limited_by} ({reached})")
    return lines


def observations(baseline: Baseline, now_ms: Mapping[str, float]) -> Observations:
    """What timing alone says: the speed of a copy, and how close the worst configuration is to the limit that binds it."""
    copy = Evidence("timing", COPY_GBS, baseline.copy_gbs, "GB/s")
    found = {COPY_GBS: copy} if baseline.copy_gbs else {}
    for row in baseline.configurations:
        if not row.limit_ms:
            continue
        name = "timing.pct_of_copy_bandwidth" if row.limited_by == "copy bandwidth" else "timing.pct_of_tensor_peak"
        pct = 100 * row.limit_ms / now_ms[row.configuration]
        known = found.get(name)
        if known is None or (isinstance(known.value, float) and pct < known.value):
            text = f"{pct:.0f} % of the measured {row.limited_by} ({row.configuration})"
            found[name] = Evidence("timing", name, pct, "%", text=text)
    return found


def counted(findings: Findings, baseline: Baseline, at_copy_pct: float | None) -> tuple[str, bool]:
    """What the counters of a benchmark's launch leave to gain, and whether that is nothing: DRAM alone takes the time, at
    `at_copy_pct` of a copy or more, and no launch was heard that has less than half as many elements.
    """
    pct = number(findings.observations, "pct_of_copy")
    if pct is None:
        named = {
            COPY_GBS: f"a copy ({baseline.copy_unknown or 'none was recorded'})",
            "work.bytes": "the arrays of the launch",
            "pct_of_copy": "more than half of the launch's arrays",
        }
        missing = (named.get(name, "counters") for name in inputs_missing("pct_of_copy", findings.observations))
        return f"what the copy bandwidth leaves is unknown without {' and '.join(dict.fromkeys(missing))}", False
    sizes = [
        sum(math.prod(each.shape) for each in launch.arguments if isinstance(each, ArrayArgument))
        for launch in launches_of(findings.compilation)
    ]
    waits = [each.id for each in findings.diagnosis.causes[:1]] == ["dram-bandwidth"] and min(sizes) >= sizes[0] / 2
    copy = f"the {baseline.copy_gbs:,.0f} GB/s that a copy reaches on this card"
    told = f"DRAM throughput is {pct:.0f} % of {copy}: at most {max(1.0, 100 / pct):.2f}x is left"
    return told, waits and at_copy_pct is not None and pct >= at_copy_pct
