"""Profiles the launches of a report together with the workload that made them."""

from pathlib import Path

from kdiag import workload as workloads
from kdiag.diagnose.profile import gpu_of, grid_of, launch_profile
from kdiag.diagnose.report.read import ReportLaunch, read_launches
from kdiag.diagnose.source.read import read_source
from kdiag.errors import UsageError
from kdiag.records import LaunchProfile, Profile, architecture
from kdiag.workload import Workload

from .kernel_evidence import WITHOUT_GPU, KernelEvidence, kernel_evidence, python_workload
from .least_work import configuration_of, least_work


def profile_report_with(path: Path, workload: Path, kernel: str | None, launch_index: int | None) -> Profile:
    """Return the profile of the launches of a report that the workload's kernel file defines, with all it tells.

    What compiler and source say of a kernel is taken together with its counters; what the kernel needs at least only
    where the grid tells which configuration was launched. Raises what reading and compiling raise.
    """
    described = python_workload(workload, None)
    launches = read_launches(path, kernel, launch_index)
    text = workloads.read_source(described.kernel_file)
    defined = {each.name for each in read_source(text, described.kernel_file.name).kernels}
    mine = [launch for launch in launches if launch.name in defined]
    if not mine:
        seen = ", ".join(dict.fromkeys(launch.name for launch in launches))
        raise UsageError(f"{path} holds no launch of a kernel of {described.kernel_file}: it has {seen}.")
    gpu = gpu_of(mine)
    target = architecture(gpu.compute_capability) if gpu.compute_capability else WITHOUT_GPU
    known = {name: kernel_evidence(described, name, target) for name in {launch.name for launch in mine}}
    return Profile(
        source=str(path),
        gpu=gpu,
        kernels=tuple(_together(launch, known[launch.name], described, target) for launch in mine),
        notes=tuple(dict.fromkeys(note for each in known.values() for note in each.notes)),
    )


def _together(launch: ReportLaunch, known: KernelEvidence, described: Workload, target: str) -> LaunchProfile:
    configuration = configuration_of(known.everything, launch.name, grid_of(launch.observations))
    more = dict(known.observations)
    if configuration is not None:
        more |= least_work(described, known.everything, launch.name, target, configuration)
    return launch_profile(launch, more, known.compiled)
