"""What the text of a cuTile file says about its kernels, from the syntax alone: nothing is imported or run."""

from kdiag.diagnose.source.facts import (
    Access,
    AccessKind,
    Atomic,
    Helper,
    Hints,
    IndexForm,
    KernelFacts,
    LaunchKind,
    LaunchSite,
    Loop,
    MathCall,
    Product,
    Registration,
    SearchSpace,
    SourceFacts,
)
from kdiag.diagnose.source.text import Resolver

__all__ = [
    "Access",
    "AccessKind",
    "Atomic",
    "Helper",
    "Hints",
    "IndexForm",
    "KernelFacts",
    "LaunchKind",
    "LaunchSite",
    "Loop",
    "MathCall",
    "Product",
    "Registration",
    "Resolver",
    "SearchSpace",
    "SourceFacts",
    "read_source",
]


def read_source(source: str, file: str, resolve: Resolver | None = None) -> SourceFacts:
    """Read the text of `file`; functions imported from elsewhere are followed with `resolve`, else named unresolved.

    Raises UsageError if the text is not Python, or nests too deeply to be read.
    """
    from kdiag.diagnose.source.kernels import kernel_makings, kernels_of
    from kdiag.diagnose.source.launches import launches_of, registrations_of
    from kdiag.diagnose.source.module import Program, too_deep

    with too_deep(file):
        program = Program(resolve)
        module = program.parse(source, file)
        makings = kernel_makings(module)
        kernels = kernels_of(module, makings, program)
        return SourceFacts(kernels, launches_of(module, makings), registrations_of(module))
