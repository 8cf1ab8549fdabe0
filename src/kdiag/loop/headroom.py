"""How much faster the card allows the kernel to become, by its own bytes and operations."""

from collections.abc import Mapping
from statistics import geometric_mean

from kdiag.executors.bench import Baseline
from kdiag.records import ConfigurationTiming, Evidence, Observations


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


def after(timings: tuple[ConfigurationTiming, ...], before: Mapping[str, float]) -> dict[str, float]:
    """Milliseconds by configuration once a candidate was kept: the old time over the paired speed-up."""
    return {**before, **{timing.configuration: timing.candidate_ms for timing in timings}}


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
    """What timing alone says: how close the worst configuration is to the limit that binds it."""
    found: dict[str, Evidence] = {}
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
