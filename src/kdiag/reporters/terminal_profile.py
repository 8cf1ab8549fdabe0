"""A profile as a table, a line for each launch; what shows it comes below, from `terminal_evidence`."""

from rich.table import Table
from rich.text import Text

from kdiag.records import Gpu, LaunchProfile, Profile

from .stdout import stdout_console
from .terminal_evidence import COLOURS, named, render_evidence


def render(profile: Profile) -> None:
    """Print the profile to stdout, as wide as the terminal, or 100 columns when it is piped."""
    console = stdout_console()
    console.print(_heading(profile))
    console.print(_table(profile))
    for line in _beside(profile):
        console.print(Text(line, "dim"))
    render_evidence(profile, console)


def _heading(profile: Profile) -> Text:
    compiled_only = all(each.duration_us is None and each.compiled is not None for each in profile.kernels)
    limits = "" if compiled_only else f"\n{_limits(profile.gpu)}"
    return Text.assemble((profile.source, "bold"), "\n", _card(profile.gpu), limits)


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
        return "limits: neither measured nor in the table of cards, so no roofline (ncu --set full records them)"
    parts = [
        f"DRAM {limits.dram_gbs:,.0f} GB/s" if limits.dram_gbs else "",
        f"L2 {limits.l2_gbs:,.0f} GB/s" if limits.l2_gbs else "",
        f"fp32 {limits.fp32_tflops:.0f} TFLOP/s" if limits.fp32_tflops else "",
        *(f"{dtype} {limits.tensor_tflops[dtype]:.0f}" for dtype in ("tf32", "bf16") if dtype in limits.tensor_tflops),
    ]
    return f"limits from the {limits.source}: " + ", ".join(part for part in parts if part)


def _table(profile: Profile) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("kernel", max_width=24)  # gives way when the line is too long, as the cause does: the wider first
    table.add_column("grid", no_wrap=True)
    for title in ("time", "SM%", "mem%", "DRAM", "roof"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("bottleneck", no_wrap=True)
    table.add_column("cause (confidence)")
    for launch in profile.kernels:
        table.add_row(*_row(launch))
    return table


def _row(launch: LaunchProfile) -> tuple[Text, ...]:
    bottleneck, colour = launch.diagnosis.bottleneck, COLOURS.get(launch.diagnosis.bottleneck, "default")
    figures = (launch.sol.compute_pct, launch.sol.memory_pct, launch.sol.dram_pct, launch.roofline.pct_of_limit)
    return (
        Text(str(launch.index)),
        Text(launch.name, "bold", no_wrap=True, overflow="ellipsis"),
        Text(_shape(launch.grid)),
        Text(_time(launch.duration_us)),
        *(Text("-", "dim") if value is None else Text(f"{value:.0f}") for value in figures),
        Text(bottleneck, colour),
        Text(named(launch.diagnosis.causes[0]), colour, no_wrap=True, overflow="ellipsis"),
    )


def _beside(profile: Profile) -> list[str]:
    """What else was launched, and what could not be had."""
    lines = []
    if profile.others:
        rows = [
            f"{other.launches} x {other.name} ({other.role}, {_share(other.share_pct)})" for other in profile.others
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
