"""A run as the JSON object `kdiag.auto/1`."""

from .json_number import fields
from .run_summary import RunSummary, achieved, clocks, loop_s

SCHEMA = "kdiag.auto/1"
ROW = "n optimization variant correctness latency_ms speedup verdict reason"


def to_json(summary: RunSummary) -> dict[str, object]:
    """The run with plain values only; times in ms, ratios of times as old over new, unavailable is None.

    An iteration's `speedup` is over its parent, the best version before it; the run's is over the baseline.
    """
    return {
        "schema": SCHEMA,
        **fields(summary.header, "kernel gpu policy"),
        **fields(achieved(summary), "baseline_ms best_ms speedup"),
        "clocks": [fields(each, "sm_mhz memory_mhz") for each in clocks(summary)],
        "loop_s": loop_s(summary),
        "stop_reason": summary.stop_reason,
        "iterations": [fields(row, ROW) for row in summary.iterations],
        "branch": summary.header.branch,
        "files": dict(summary.files),
    }
