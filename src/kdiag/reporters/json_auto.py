"""A run as the JSON object `kdiag.auto/1`."""

from kdiag.records import Iteration
from kdiag.reporters.json_number import finite
from kdiag.reporters.run_summary import RunSummary, achieved

SCHEMA = "kdiag.auto/1"


def to_json(summary: RunSummary) -> dict[str, object]:
    """The run with plain values only; times in ms, ratios of times as old over new, unavailable is None.

    An iteration's `speedup` is over its parent, the best version before it; the run's is over the baseline.
    """
    total = achieved(summary)
    return {
        "schema": SCHEMA,
        "kernel": summary.header.kernel,
        "gpu": summary.header.gpu,
        "policy": summary.header.policy,
        "baseline_ms": finite(total.baseline_ms),
        "best_ms": finite(total.best_ms),
        "speedup": finite(total.speedup),
        "stop_reason": summary.stop_reason,
        "iterations": [_iteration(row) for row in summary.iterations],
        "branch": summary.header.branch,
        "files": dict(summary.files),
    }


def _iteration(row: Iteration) -> dict[str, object]:
    return {
        "n": row.n,
        "optimization": row.optimization,
        "variant": row.variant,
        "correctness": row.correctness,
        "latency_ms": finite(row.latency_ms),
        "speedup": finite(row.speedup),
        "verdict": row.verdict,
        "reason": row.reason,
    }
