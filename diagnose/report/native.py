"""The process that runs NVIDIA's report reader: `python -m kdiag.diagnose.report.native REPORT`, names on standard input.

A process of its own, because the native code ends the one it runs in over some damaged files (its checks abort), and
over sound ones where PyTorch's libraries are loaded beside it (ncu_report 2025.3.1). It prints one JSON object:
{"launches": [{"symbol", "base_name", "gpu_name", "nvtx", "whole", "figures": {name: number}}]}; NaN is written as NaN.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

MISSING = 3  # the exit code where the package is not installed

# What a result that is no single kernel is called, by ncu_report's IAction.WorkloadType_*.
_WORKLOADS = {1: "range", 2: "command list", 3: "graph", 4: "subgrid schedule"}


def main(path: str, names: Sequence[str]) -> int:
    """Print what the report at `path` holds under `names`, in base units."""
    try:
        import ncu_report
    except ImportError:
        return MISSING
    context = ncu_report.load_report(path)
    ranges = [context.range_by_idx(each) for each in range(context.num_ranges())]
    actions = [each.action_by_idx(index) for each in ranges for index in range(each.num_actions())]
    json.dump({"launches": [launch(action, names) for action in actions]}, sys.stdout)
    return 0


def launch(action: Any, names: Sequence[str]) -> dict[str, Any]:
    """One result; a launch without metrics is one whose end is missing."""
    kind = _WORKLOADS.get(action.workload_type(), "")
    name = action.name() or kind
    device = action.metric_by_name("device__attribute_display_name")
    return {
        "symbol": action.name(action.NameBase_DEMANGLED) or name,
        "base_name": name,
        "gpu_name": _text(device.value()) if device is not None else None,
        "nvtx": _nvtx(action),
        # Every whole launch has the card's name; listing all metrics, which takes a while, is for what else there may be.
        "whole": bool(name) and (device is not None or len(action.metric_names()) > 0),
        "figures": {each: value for each in names if (value := _figure(action, each)) is not None},
    }


def _figure(action: Any, name: str) -> float | None:
    """`value()` of a metric with instances is the figure of the whole launch, for every name in metrics.toml."""
    metric = action.metric_by_name(name)
    value = None if metric is None else metric.value()
    return float(value) if isinstance(value, (int, float)) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() and value.isprintable() else None


def _nvtx(action: Any) -> list[str]:
    """The NVTX ranges around the launch, outermost first; those of other domains than the default with their domain."""
    state = action.nvtx_state()
    if state is None:
        return []
    domains = [state.domain_by_id(each) for each in state.domains()]
    return [
        text if domain.name() == "<default domain>" else f"{domain.name()}:{text}"
        for domain in domains
        for text in (*domain.push_pop_ranges(), *domain.start_end_ranges())
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], json.load(sys.stdin)))
