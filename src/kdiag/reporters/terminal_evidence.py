"""What shows the causes of each launch, and what to do about the first: the paragraphs below the table of a profile."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from kdiag.records import Cause, CompileEvidence, Evidence, LaunchProfile, Profile, Roofline
from kdiag.rules.load_causes import load_causes

CAUSES_SHOWN = 2
INDICES_SHOWN = 4
NAMES_SHOWN = 6
COLOURS = {
    "memory": "blue",
    "compute": "green",
    "latency": "yellow",
    "scheduling": "magenta",
    "host": "cyan",
    "unknown": "red",
}

# Where an observation comes from, by the prefix of its name, and how to get it; counters have none.
SOURCES: Mapping[str, str] = {
    "": "counters",
    "compile": "the compiler (--workload)",
    "source": "the kernel's source (--workload)",
    "work": "the bytes and operations it needs (--workload)",
    "timing": "timing on a GPU (kdiag profile WORKLOAD there)",
}


def render_evidence(profile: Profile, console: Console) -> None:
    """Print a paragraph for each group of launches with one verdict, those with most of the time first.

    What could not be evaluated is printed once if it is the same for all.
    """
    groups = sorted(_groups(profile.kernels), key=lambda group: -sum(each.share_pct or 0.0 for each in group))
    open_questions = [_not_evaluated(group[0]) for group in groups]
    shared = open_questions[0] if len(set(open_questions)) == 1 else ""
    for group, open_question in zip(groups, open_questions, strict=True):
        _paragraph(console, group, "" if shared else open_question)
    if shared:
        console.print()
        console.print(Text(f"not evaluated: {shared} (--json lists them)", "dim"))


def named(cause: Cause) -> str:
    return "unknown" if cause.id == "unknown" else f"{cause.id} {100 * cause.score:.0f}%"


def _groups(launches: Sequence[LaunchProfile]) -> list[list[LaunchProfile]]:
    """Launches of one kernel with the same causes and constants, the longest of each group first."""
    groups: dict[object, list[LaunchProfile]] = {}
    for launch in launches:
        causes = tuple(cause.id for cause in launch.diagnosis.causes[:CAUSES_SHOWN])
        constants = tuple(launch.constants.items())
        key = (launch.name, launch.diagnosis.bottleneck, causes, constants, launch.compiled is None)
        groups.setdefault(key, []).append(launch)
    return [sorted(group, key=lambda each: -(each.duration_us or 0.0)) for group in groups.values()]


def _paragraph(console: Console, group: Sequence[LaunchProfile], open_question: str) -> None:
    launch = group[0]
    diagnosis = launch.diagnosis
    console.print()
    console.print(Text.assemble(f"{_indices(group)} ", (launch.name, "bold"), f"  {_title(group)}"))
    colour = COLOURS.get(diagnosis.bottleneck, "default")
    for cause in diagnosis.causes[:CAUSES_SHOWN]:
        sentences = "; ".join(dict.fromkeys(_sentence(each) for each in cause.evidence))
        said = sentences or "what was collected does not decide"
        _indented(console, Text.assemble((named(cause), colour), f": {said}"))
    if launch.contradictions:
        _indented(console, Text("the counters contradict each other, so none of them is used", "red"))
    _indented(console, Text.assemble(("do: ", "dim"), _advice(launch)))
    for label, text in (
        ("first rule out: ", ", ".join(_unjudged(launch))),
        ("shows as well, as its consequence: ", ", ".join(diagnosis.consequences)),
        ("roof: ", _roofline(launch.roofline)),
        ("code: ", "" if launch.compiled is None else _compiled(launch.compiled)),
        ("not evaluated: ", open_question),
    ):
        if text:
            _indented(console, Text(label + text, "dim"))


def _indented(console: Console, text: Text) -> None:
    console.print(Padding(text, (0, 0, 0, 3)))


def _indices(group: Sequence[LaunchProfile]) -> str:
    """The longest launch first; of many, the first few."""
    shown = ", ".join(f"#{each.index}" for each in group[:INDICES_SHOWN])
    more = len(group) - INDICES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _title(group: Sequence[LaunchProfile]) -> str:
    """The bottleneck, and what tells this launch from others of the kernel."""
    launch = group[0]
    constants = ", ".join(f"{name}={value}" for name, value in launch.constants.items())
    shares = [each.share_pct for each in group if each.share_pct is not None]
    share = f"{sum(shares):.0f} % of the time" if len(shares) == len(group) else ""
    nvtx = f"in {'/'.join(launch.nvtx)}" if launch.nvtx else ""
    return ", ".join(part for part in (launch.diagnosis.bottleneck, share, constants, nvtx) if part)


def _sentence(evidence: Evidence) -> str:
    where = evidence.where
    place = f" ({where.file}:{where.line}:{where.column})" if where is not None else ""
    return evidence.text + place


def _advice(launch: LaunchProfile) -> str:
    if launch.contradictions:
        return "Record the launch again, and check what the workload says of its bytes and operations."
    if _nothing_measured(launch):
        return "Record the launch again: the profiler measured nothing of it."
    return load_causes()[launch.diagnosis.causes[0].id].what_to_do


def _unjudged(launch: LaunchProfile) -> list[str]:
    """Causes that would explain the first one and could not be judged for want of counters."""
    first, rules = launch.diagnosis.causes[0].id, load_causes()
    lines = [line.partition(": needs ") for line in launch.diagnosis.not_evaluated]
    return [cause for cause, _, needs in lines if first in rules[cause].outranks and not _source(needs.split(", "))]


def _roofline(roofline: Roofline) -> str:
    """Percent of the peak of every level and pipe that was in use, and the excess where it is known."""
    parts = [
        f"{name} {pct:.0f} %"
        for name, pct in [
            *((level.level.upper(), level.pct_of_limit) for level in roofline.levels),
            *((pipe.pipe, pipe.pct_of_limit) for pipe in roofline.pipes),
        ]
        if pct is not None and pct >= 0.5
    ]
    if roofline.intensity_flop_per_byte is not None:
        parts.append(f"{roofline.intensity_flop_per_byte:.3g} FLOP/byte")
    if roofline.excess_traffic is not None:
        parts.append(f"DRAM moved {roofline.excess_traffic:.2f} times the bytes the workload needs")
    return ", ".join(parts)


def _compiled(compiled: CompileEvidence) -> str:
    parts = [
        f"{compiled.registers} registers" if compiled.registers else "",
        f"{compiled.stack_bytes} bytes of stack (spills)" if compiled.stack_bytes else "",
        f"{compiled.shared_bytes} bytes of shared memory" if compiled.shared_bytes else "",
        f"{compiled.occupancy_pct:.3g} % occupancy, limited by {compiled.limited_by}"
        if compiled.occupancy_pct is not None
        else "",
    ]
    return ", ".join(part for part in parts if part)


def _nothing_measured(launch: LaunchProfile) -> bool:
    figures = (launch.sol.compute_pct, launch.sol.memory_pct, launch.duration_us)
    return all(figure is None for figure in figures) and launch.compiled is None


def _not_evaluated(launch: LaunchProfile) -> str:
    """The causes that could not be judged, by what would be needed; of many, how many."""
    if _nothing_measured(launch):
        return "all causes, since nothing was measured of this launch"
    causes: dict[str, list[str]] = {}
    for line in launch.diagnosis.not_evaluated:
        cause, _, needs = line.partition(": needs ")
        causes.setdefault(_source(needs.split(", ")), []).append(cause)
    return "; ".join(f"{_listed(names)} for want of {SOURCES[source]}" for source, names in causes.items())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= NAMES_SHOWN else f"{len(names)} causes"


def _source(metrics: Iterable[str]) -> str:
    """The prefix of the first metric that has one: `excess_traffic` is made of counters and `work.bytes`."""
    known = [name.partition(".")[0] if "." in name else "" for name in metrics]
    return next((name for name in known if name), "")
