"""What the text of a cuTile file says about its kernels, from the syntax alone: nothing is imported or run."""

from .facts import SourceFacts
from .text import Resolver


def read_source(source: str, file: str, resolve: Resolver | None = None) -> SourceFacts:
    """Read the text of `file`; functions imported from elsewhere are followed with `resolve`, else named unresolved.

    Raises UsageError if the text is not Python, or nests too deeply to be read.
    """
    from .kernels import kernel_makings, kernels_of
    from .module import Program, too_deep

    with too_deep(file):
        program = Program(resolve)
        module = program.parse(source, file)
        return SourceFacts(kernels_of(module, kernel_makings(module), program))
