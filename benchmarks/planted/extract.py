"""Writes what a report of `record.py launch` says of every planted launch, small enough to keep: `extract.py REPORT TIMES OUT`.

Beside kdiag's own observations it keeps the verdict of the profiler's rules: the title of its bottleneck rule, and the
rules with an estimated speed-up, largest first.
"""

import json
import sys
from pathlib import Path
from typing import Any

import ncu_report

from kdiag.diagnose.report.read import read_launches
from kdiag.records import number


def vendor_rules(action: Any) -> dict[str, Any]:
    """The profiler's own verdict on one launch."""
    verdict, estimates = "", []
    for rule in action.rule_results_as_dicts():
        message = rule.get("rule_message") or {}
        if rule["rule_identifier"] == "SOLBottleneck":
            verdict = message.get("title", "")
        estimate = rule.get("speedup_estimation")
        if estimate:
            text = message.get("message", "")[:400]
            estimates.append([round(estimate["speedup"], 1), rule["rule_identifier"], message.get("title", ""), text])
    return {"bottleneck": verdict, "estimates": sorted(estimates, reverse=True)[:4]}


def main(report: Path, times: Path, out: Path) -> None:
    """See the module's text."""
    rows = {row["case"]: row for row in json.loads(times.read_text())}
    context = ncu_report.load_report(str(report))
    ranges = [context.range_by_idx(each) for each in range(context.num_ranges())]
    actions = [each.action_by_idx(index) for each in ranges for index in range(each.num_actions())]
    found = []
    for launch in read_launches(report):
        case, _, variant = launch.name.rpartition("_")
        known = launch.observations
        found.append(
            {
                "case": case,
                "variant": variant,
                "symbol": launch.symbol,
                **{key: rows[case][key] for key in ("work_bytes", "work_flops")},
                "observations": {name: number(known, name) for name in known},
                "vendor": vendor_rules(actions[launch.index]),
            }
        )
    out.write_text(json.dumps({"cases": list(rows.values()), "launches": found}, indent=0))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
