"""A profile as a table, a line for each launch, and below it the evidence for what the table says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kdiag.records import Cause, CompileEvidence, Evidence, Gpu, LaunchProfile, Profile, Roofline
from kdiag.rules.load_causes import load_causes

PIPED_WIDTH = 100
CAUSES_SHOWN = 2
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
    "timing": "timing on a GPU (a workload)",
}


def render(profile: Profile) -> None:
    """Print the profile to stdout, as wide as the terminal, or 100 columns when it is piped."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PIPED_WIDTH)
    console.print(_heading(profile))
    console.print(_table(profile))
    for line in _beside(profile):
        console.print(Text(line, "dim"))
    open_questions = [_not_evaluated(launch) for launch in profile.kernels]
    shared = open_questions[0] if len(set(open_questions)) == 1 else ""
    for launch, open_question in zip(profile.kernels, open_questions, strict=True):
        _evidence(console, launch, "" if shared else open_question)
    if shared:
        console.print()
        console.print(Text(f"not evaluated: {shared}", "dim"))


def _heading(profile: Profile) -> Text:
    return Text.assemble((profile.source, "bold"), "\n", _card(profile.gpu), "\n", _limits(profile.gpu))


def _card(gpu: Gpu) -> str:
    parts = [gpu.name]
    if gpu.compute_capability is not None:
        parts.append(f"compute capability {gpu.compute_capability}")
    if gpu.sm_count is not None:
        parts.append(f"{gpu.sm_count} SMs")
    return ", ".join(parts)


def _limits(gpu: Gpu) -> str:
    limits = gpu.limits
    if limits.source == "unknown":
        return (
            "limits: neither measured nor in the table of cards, so no roofline (ncu --set full records them)"
        )
    parts = [
        f"DRAM {limits.dram_gbs:,.0f} GB/s" if limits.dram_gbs else "",
        f"L2 {limits.l2_gbs:,.0f} GB/s" if limits.l2_gbs else "",
        f"fp32 {limits.fp32_tflops:.0f} TFLOP/s" if limits.fp32_tflops else "",
        *(
            f"{dtype} {limits.tensor_tflops[dtype]:.0f}"
            for dtype in ("tf32", "bf16")
            if dtype in limits.tensor_tflops
        ),
    ]
    return f"limits from the {limits.source}: " + ", ".join(part for part in parts if part)


def _table(profile: Profile) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("#", justify="right")
    table.add_column("kernel", max_width=24)  # the only column that gives way when the line is too long
    table.add_column("grid", no_wrap=True)
    for title in ("time", "SM%", "mem%", "DRAM", "roof"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("bottleneck", no_wrap=True)
    table.add_column("cause (confidence)", no_wrap=True)
    for launch in profile.kernels:
        table.add_row(*_row(launch))
    return table


def _row(launch: LaunchProfile) -> tuple[Text, ...]:
    bottleneck, colour = launch.diagnosis.bottleneck, COLOURS.get(launch.diagnosis.bottleneck, "default")
    figures = (
        launch.sol.compute_pct,
        launch.sol.memory_pct,
        launch.sol.dram_pct,
        launch.roofline.pct_of_limit,
    )
    return (
        Text(str(launch.index)),
        Text(launch.name, "bold", no_wrap=True, overflow="ellipsis"),
        Text(_shape(launch.grid)),
        Text(_time(launch.duration_us)),
        *(Text("-", "dim") if value is None else Text(f"{value:.0f}") for value in figures),
        Text(bottleneck, colour),
        Text(_cause(launch.diagnosis.causes[0]), colour),
    )


def _beside(profile: Profile) -> list[str]:
    """What else was launched, and what could not be had."""
    lines = []
    if profile.others:
        rows = [
            f"{other.launches} x {other.name} ({other.role}, {_share(other.share_pct)})"
            for other in profile.others
        ]
        lines.append("beside these, not diagnosed: " + ", ".join(rows))
    return [*lines, *(f"note: {note}" for note in profile.notes)]


def _share(share_pct: float | None) -> str:
    return "time unknown" if share_pct is None else f"{share_pct:.0f} % of the time"


def _shape(shape: tuple[int, ...] | None) -> str:
    """Write a grid without its trailing ones, or "-" when it is unavailable."""
    if shape is None:
        return "-"
    length = max((place for place, size in enumerate(shape, start=1) if size != 1), default=1)
    return "x".join(str(size) for size in shape[:length])


def _time(duration_us: float | None) -> str:
    if duration_us is None:
        return "-"
    if duration_us < 1e3:
        return f"{duration_us:.1f} us"
    return f"{duration_us / 1e3:.2f} ms" if duration_us < 1e6 else f"{duration_us / 1e6:.2f} s"


def _cause(cause: Cause) -> str:
    return "unknown" if cause.id == "unknown" else f"{cause.id} {100 * cause.score:.0f}%"


def _evidence(console: Console, launch: LaunchProfile, open_question: str) -> None:
    """Print what shows the best causes of one launch, and what to do about the first."""
    diagnosis = launch.diagnosis
    console.print()
    console.print(Text.assemble(f"#{launch.index} ", (launch.name, "bold"), f"  {_title(launch)}"))
    colour = COLOURS.get(diagnosis.bottleneck, "default")
    for cause in diagnosis.causes[:CAUSES_SHOWN]:
        sentences = "; ".join(_sentence(each) for each in cause.evidence)
        said = sentences or "what was collected does not decide"
        _indented(console, Text.assemble((_cause(cause), colour), f": {said}"))
    if launch.contradictions:
        _indented(console, Text("the counters contradict each other, so none of them is used", "red"))
    _indented(console, Text.assemble(("do: ", "dim"), load_causes()[diagnosis.causes[0].id].what_to_do))
    for label, text in (
        ("roof: ", _roofline(launch.roofline)),
        ("code: ", "" if launch.compiled is None else _compiled(launch.compiled)),
        ("not evaluated: ", open_question),
    ):
        if text:
            _indented(console, Text(label + text, "dim"))


def _indented(console: Console, text: Text) -> None:
    console.print(Padding(text, (0, 0, 0, 3)))


def _title(launch: LaunchProfile) -> str:
    """The bottleneck, and what tells this launch from others of the kernel."""
    constants = ", ".join(f"{name}={value}" for name, value in launch.constants.items())
    share = "" if launch.share_pct is None else f"{launch.share_pct:.0f} % of the time"
    return ", ".join(part for part in (launch.diagnosis.bottleneck, share, constants) if part)


def _sentence(evidence: Evidence) -> str:
    where = evidence.where
    place = f" ({where.file}:{where.line}:{where.column})" if where is not None else ""
    return evidence.text + place


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
        parts.append(f"{roofline.excess_traffic:.2f} x the bytes it needs")
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


def _not_evaluated(launch: LaunchProfile) -> str:
    """The causes that could not be judged, by what would be needed."""
    measured = (launch.sol.compute_pct, launch.sol.memory_pct, launch.duration_us)
    if all(figure is None for figure in measured) and launch.compiled is None:
        return "nothing was measured of this launch"
    causes: dict[str, list[str]] = {}
    for line in launch.diagnosis.not_evaluated:
        cause, _, needs = line.partition(": needs ")
        causes.setdefault(_source(needs.split(", ")), []).append(cause)
    return "; ".join(f"{', '.join(names)}: for want of {SOURCES[source]}" for source, names in causes.items())


def _source(metrics: Iterable[str]) -> str:
    """The prefix of the first metric that has one: `excess_traffic` is made of counters and `work.bytes`."""
    known = [name.partition(".")[0] if "." in name else "" for name in metrics]
    return next((name for name in known if name), "")
