"""Everything known about the kernel before an edit: compiler, source, timing and profiler evidence, and the cause."""

from dataclasses import dataclass
from pathlib import Path

from kdiag.diagnose.compiler.observe import from_compilation
from kdiag.diagnose.compiler.observe_products import from_products
from kdiag.diagnose.metrics import with_derived
from kdiag.diagnose.profile import grid_of, launch_profile
from kdiag.diagnose.report.read import ReportLaunch, read_launches
from kdiag.diagnose.roofline import headroom_of
from kdiag.diagnose.source.observe import from_source
from kdiag.diagnose.source.read import read_source
from kdiag.errors import UsageError
from kdiag.records import Compilation, CompileFailure, Diagnosis, Evidence, Observations, number

from .compiler import Compiler, of_kernel
from .least_work import configuration_of, least_work


@dataclass(frozen=True)
class Findings:
    """The observations of one source, the diagnosis they lead to, and what could not be had and why.

    `headroom` is how many times faster the launch would be at the roofline of its own counters, and no faster than a copy.
    `counted` by a profiler are some of the observations.
    """

    observations: Observations
    diagnosis: Diagnosis
    compilation: Compilation
    notes: tuple[str, ...]
    headroom: float | None = None
    counted: bool = False


def gather(
    source: str, kernel: str, compiler: Compiler, report: Path | None = None, measured: Observations | None = None
) -> Findings:
    """Observe `source` in every way that is available here and classify what is seen.

    `measured` is what was timed and counted of the first configuration that launches the kernel: a bench profiles that.
    Raises ReportError if the report cannot be read or holds no launch of `kernel`, UsageError if the source has no
    such kernel.
    """
    facts = read_source(source, compiler.file_name)
    observations: dict[str, Evidence] = dict(from_source(facts, kernel))
    notes, configuration = list[str](), None
    everything = compiler.compile_one(source)
    compilation = of_kernel(everything, kernel)
    if isinstance(compilation, CompileFailure):
        notes.append(f"no compiler evidence: {compilation.message}")
    else:
        configuration = compilation[0].launch.configuration
        observations |= from_compilation(compilation) | from_products(facts, kernel, compilation)
    launch = ReportLaunch(0, kernel, kernel, None, measured or {})
    if report is not None:
        launches = read_launches(report, f"^{kernel}$")
        launch = max(launches, key=lambda each: each.duration_us or 0.0)
        configuration = configuration_of(everything, kernel, grid_of(launch.observations))
        observations |= measured or {}
        notes += _other_card(launch.observations, compiler.target)
    elif not measured:
        notes.append("no profiler report: counters are unavailable")
    if compiler.workload is not None and configuration is not None:
        observations |= least_work(compiler.workload, everything, kernel, compiler.target, configuration)
    profile = launch_profile(launch, observations)
    seen = with_derived({**launch.observations, **observations})
    return Findings(
        observations=seen,
        diagnosis=profile.diagnosis,
        compilation=compilation,
        notes=(*notes, *profile.contradictions),
        headroom=headroom_of(profile.roofline, number(seen, "pct_of_copy")),
        counted=any(each.kind == "metric" for each in launch.observations.values()),
    )


def _other_card(report: Observations, target: str) -> list[str]:
    """A note if the report was recorded on another architecture than the plan is for."""
    major, minor = number(report, "capability_major"), number(report, "capability_minor")
    if major is None or minor is None or target == f"sm_{major:.0f}{minor:.0f}":
        return []
    return [f"the report is of compute capability {major:.0f}.{minor:.0f}, the plan is for {target}"]


def choose_kernel(source: str, file: str, wanted: str | None) -> str:
    """The kernel to work on: the wanted one, or the only one. Raises UsageError naming those there are."""
    names = [kernel.name for kernel in read_source(source, file).kernels]
    if not names:
        raise UsageError(f"{file} has no function decorated with @ct.kernel; name the file that defines the kernel.")
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names and wanted is not None:
        return wanted
    missing = f"no kernel {wanted!r}" if wanted else f"{len(names)} kernels"
    raise UsageError(f"{file} has {missing}; choose one with --kernel: {', '.join(names)}.")
