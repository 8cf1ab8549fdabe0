"""Puts three diagnoses beside the known answer for every launch: kdiag's, the profiler's own rules', and a 60 % rule.

    python compare.py recorded PLANTED.json.xz     the planted faults, as `planted_recording.py` wrote them
    python compare.py report REPORT TRUTH.json     a report and a list of right answers, one object a launch

docs/diagnosis.md says what the 60 % rule is, and which of the profiler's rules counts.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planted_recording import actions, load, observed, vendor_rules

from kdiag.diagnose.classify import classify
from kdiag.records import Diagnosis, Observations

# rule identifier, words of its title or message -> the cause it speaks of
VENDOR: tuple[tuple[str, str, str], ...] = (
    ("MemoryCacheAccessPattern", "", "uncoalesced"),
    ("UncoalescedGlobalAccess", "", "uncoalesced"),
    ("SharedMemoryConflicts", "", "bank-conflicts"),
    ("TheoreticalOccupancy", "number of required registers", "occupancy-registers"),
    ("TheoreticalOccupancy", "required amount of shared memory", "occupancy-shared-memory"),
    ("TheoreticalOccupancy", "number of blocks", "occupancy-blocks"),
    ("SOLFPRoofline", "FP64", "fp64-pipe"),
    ("LaunchConfiguration", "Tail Effect", "tail-effect"),
    ("LaunchConfiguration", "Small Grid", "grid-too-small"),
    ("CPIStall", "Barrier", "barrier"),
    ("CPIStall", "Long Scoreboard", "bytes-in-flight"),
    ("CPIStall", "Mio Throttle", "shared-memory-bandwidth"),
    ("CPIStall", "Lg Throttle", "l1-bandwidth"),
    ("FPInstructions", "", "instruction-issue"),
    ("WorkloadImbalance", "", "sm-imbalance"),
    ("HighPipeUtilization", "XU", "special-functions-and-division"),
    ("HighPipeUtilization", "Tensor", "tensor-pipe"),
)
CLASSES = {
    "Small Grid": "latency",
    "Latency Issue": "latency",
    "High Compute Throughput": "compute",
    "High Memory Throughput": "memory",
    "Balanced Throughput": "balanced",
}


@dataclass(frozen=True)
class Row:
    """One launch: what is right, what is known, and what the profiler says."""

    name: str
    bottlenecks: tuple[str, ...]
    causes: tuple[str, ...]
    gain: str
    observations: Observations
    vendor: Mapping[str, Any]


def recorded(path: Path) -> Iterator[Row]:
    """The launches with a planted fault."""
    data = load(path)
    cases = {case["case"]: case for case in data["cases"]}
    for launch in data["launches"]:
        if launch["variant"] == "slow":
            case = cases[launch["case"]]
            right = tuple(case["bottlenecks"]), tuple(case["causes"])
            gain = f"{case['speedup'][0]:.2f}x: {case['intervention']}"
            yield Row(launch["case"], *right, gain, observed(launch), launch["vendor"])


def reported(report: Path, truth: Path) -> Iterator[Row]:
    from kdiag.diagnose.report.read import read_launches

    for launch, action, right in zip(
        read_launches(report), actions(report), json.loads(truth.read_text()), strict=True
    ):
        settings = " ".join(f"{name}={value}" for name, value in right["configuration"].items())
        yield Row(
            f"{launch.name} {settings}".strip(),
            tuple(right["bottleneck_any_of"]),
            tuple(right["root_cause_any_of"]),
            "",
            launch.observations,
            vendor_rules(action),
        )


def sixty(observations: Observations) -> str:
    """The class by the 60 % rule."""
    compute, memory = (observations[name].value for name in ("compute_pct", "memory_pct"))
    assert isinstance(compute, float)
    assert isinstance(memory, float)
    if max(compute, memory) < 60:
        return "latency"
    return "compute" if compute >= memory else "memory"


def vendor_verdict(row: Row) -> tuple[str, str]:
    """Class and cause by the profiler's rules. "High Throughput" is of the side that the 60 % rule names."""
    title = row.vendor["bottleneck"]
    bottleneck = CLASSES.get(title) or sixty(row.observations)
    for _, rule, name, text in row.vendor["estimates"]:
        for wanted, words, cause in VENDOR:
            if rule == wanted and words.lower() in f"{name} {text}".lower():
                return bottleneck, cause
    return bottleneck, "none named"


def mark(found: str, right: tuple[str, ...]) -> str:
    """The answer, in bold where it is right."""
    return f"**{found}**" if found in right else found


def line(row: Row, diagnosis: Diagnosis) -> str:
    bottleneck, cause = vendor_verdict(row)
    cells = [
        row.name,
        row.gain,
        " or ".join(row.causes),
        f"{mark(diagnosis.bottleneck, row.bottlenecks)}: {mark(diagnosis.causes[0].id, row.causes)}",
        f"{mark(bottleneck, row.bottlenecks)}: {mark(cause, row.causes)}",
        mark(sixty(row.observations), row.bottlenecks),
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table and the counts. Ends with 1 if kdiag is wrong anywhere."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    rows = list(recorded(Path(sys.argv[2])) if sys.argv[1] == "recorded" else reported(*map(Path, sys.argv[2:4])))
    print("| launch | without the fault | right cause | kdiag | profiler's rules | 60 % rule |")
    print("|---|---|---|---|---|---|")
    found = [(row, classify(row.observations)) for row in rows]
    for row, diagnosis in found:
        print(line(row, diagnosis))
    right = sum(d.causes[0].id in row.causes for row, d in found)
    classes = sum(d.bottleneck in row.bottlenecks for row, d in found)
    vendor = [vendor_verdict(row) for row in rows]
    print(f"\nof {len(rows)}: kdiag cause {right}, class {classes};", end=" ")
    print(f"profiler's rules cause {sum(c in r.causes for r, (_, c) in zip(rows, vendor, strict=True))},", end=" ")
    print(f"class {sum(b in r.bottlenecks for r, (b, _) in zip(rows, vendor, strict=True))};", end=" ")
    print(f"60 % rule class {sum(sixty(r.observations) in r.bottlenecks for r in rows)}")
    sys.exit(0 if right == classes == len(rows) else 1)


if __name__ == "__main__":
    main()
