"""The recordings of planted faults beside the tests: `planted_recording.py REPORT TIMES OUT.json.xz` writes one.

REPORT is what ncu wrote of `record.py launch`, TIMES what `record.py time` wrote. Of each launch it keeps kdiag's own
observations, with four digits; what is computed from them is computed again when it is read. Of those with a fault it
keeps the verdict of the profiler's rules: the title of its bottleneck rule, and the rules with an estimated speed-up,
largest first.
"""

import json
import lzma
import sys
from pathlib import Path
from typing import Any

from kdiag.records import Evidence, Observations, number
from kdiag.rules.load_metrics import load_metrics

TEXT, LONGEST = 80, 400  # of a rule's message, so much of the end: that names the limit, of what stands within so much


def actions(report: Path) -> list[Any]:
    """The launches of a report, as ncu's own reader gives them."""
    import ncu_report

    context = ncu_report.load_report(str(report))
    ranges = [context.range_by_idx(each) for each in range(context.num_ranges())]
    return [each.action_by_idx(index) for each in ranges for index in range(each.num_actions())]


def vendor_rules(action: Any) -> dict[str, Any]:
    """The profiler's own verdict on one launch."""
    verdict, estimates = "", []
    for rule in action.rule_results_as_dicts():
        message = rule.get("rule_message") or {}
        if rule["rule_identifier"] == "SOLBottleneck":
            verdict = message.get("title", "")
        if estimate := rule.get("speedup_estimation"):
            text = message.get("message", "")[:LONGEST][-TEXT:]
            estimates.append([round(estimate["speedup"], 1), rule["rule_identifier"], message.get("title", ""), text])
    return {"bottleneck": verdict, "estimates": sorted(estimates, reverse=True)[:4]}


def main(report: Path, times: Path, out: Path) -> None:
    """See the module's text. Values of one counter stand together, None where a launch has none of it."""
    from kdiag.diagnose.report.read import read_launches

    rows = {row["case"]: row for row in json.loads(times.read_text())}
    found, seen, names = [], [], load_metrics()
    for launch, action in zip(read_launches(report), actions(report), strict=True):
        case, _, variant = launch.name.rpartition("_")
        known = {name: number(launch.observations, name) for name in launch.observations if name in names}
        seen.append({name: digits(value) for name, value in known.items() if value is not None})
        work = {key: rows[case][key] for key in ("work_bytes", "work_flops")}
        found.append({"case": case, "variant": variant, **work})
        if variant == "slow":
            found[-1]["vendor"] = vendor_rules(action)
    columns = {
        name: [each.get(name) for each in seen] for name in dict.fromkeys(name for each in seen for name in each)
    }
    times_of = ("slow_ms", "fast_ms", "speedup")
    cases = [row | {key: digits(row[key]) for key in times_of} for row in rows.values()]
    kept = {"cases": cases, "launches": found, "observations": columns}
    out.write_bytes(lzma.compress(json.dumps(kept, separators=(",", ":")).encode(), preset=9))


def digits(value: Any) -> Any:
    """Floats with four digits, anything else as it is."""
    if isinstance(value, list):
        return [digits(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def load(path: Path) -> dict[str, Any]:
    """What `main` wrote: cases, and launches with their observations by name."""
    data: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    for index, row in enumerate(data["launches"]):
        row["observations"] = {
            name: column[index] for name, column in data["observations"].items() if column[index] is not None
        }
    return data


def observed(launch: dict[str, Any], without: tuple[str, ...] = ()) -> Observations:
    """A launch of a recording as evidence: its counters, and the work of its workload."""
    units = {name: metric.unit for name, metric in load_metrics().items()}
    known = {
        name: Evidence("metric", name, value, units[name])
        for name, value in launch["observations"].items()
        if name in units and name not in without
    }
    work = {name.replace("_", "."): launch[name] for name in ("work_bytes", "work_flops")}
    return known | {name: Evidence("workload", name, value) for name, value in work.items() if value is not None}


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
