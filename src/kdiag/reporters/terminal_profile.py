"""A profile as a table, a line for each launch, and below it the evidence for what the table says."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kdiag.records import Cause, Gpu, LaunchProfile, Profile
from kdiag.rules.load_causes import load_causes

PIPED_WIDTH = 100
CAUSES_SHOWN = 2
COLOURS = {
    "memory": "blue",
    "compute": "green",
    "latency": "yellow",
    "scheduling": "magenta",
    "unknown": "red",
}


def render(profile: Profile) -> None:
    """Print the profile to stdout, as wide as the terminal, or 100 columns when it is piped."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PIPED_WIDTH)
    console.print(_heading(profile))
    console.print(_table(profile))
    for launch in profile.kernels:
        _evidence(console, launch)


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
        return "limits: not in this report, so no roofline (ncu --set full records them)"
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


def _evidence(console: Console, launch: LaunchProfile) -> None:
    """Print what shows the best causes of one launch, and what to do about the first."""
    diagnosis = launch.diagnosis
    console.print()
    console.print(Text.assemble(f"#{launch.index} ", (launch.name, "bold"), f"  {diagnosis.bottleneck}"))
    for cause in diagnosis.causes[:CAUSES_SHOWN]:
        sentences = "; ".join(each.text for each in cause.evidence) or "what was collected does not decide"
        line = Text.assemble((_cause(cause), COLOURS.get(diagnosis.bottleneck, "default")), f": {sentences}")
        console.print(Padding(line, (0, 0, 0, 3)))
    advice = load_causes()[diagnosis.causes[0].id].what_to_do
    console.print(Padding(Text.assemble(("do: ", "dim"), advice), (0, 0, 0, 3)))
    if all(figure is None for figure in (launch.sol.compute_pct, launch.sol.memory_pct, launch.duration_us)):
        console.print(
            Padding(Text("not evaluated: nothing was measured of this launch", "dim"), (0, 0, 0, 3))
        )
    elif diagnosis.not_evaluated:
        names = ", ".join(line.partition(":")[0] for line in diagnosis.not_evaluated)
        console.print(Padding(Text(f"not evaluated, counters missing: {names}", "dim"), (0, 0, 0, 3)))
