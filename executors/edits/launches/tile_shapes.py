"""The expressions of a kernel that say how large a tile is."""

from collections.abc import Iterator

import libcst as cst

from ..syntax.kernel_source import KernelSource, argument

# The members of cuda.tile that take a tile's shape: the position and the name of that argument.
SHAPE_ARGUMENTS = {
    "load": (2, "shape"),
    "num_tiles": (2, "shape"),
    "arange": (0, "size"),
    "full": (0, "shape"),
    "zeros": (0, "shape"),
    "ones": (0, "shape"),
}


def shapes(read: KernelSource) -> Iterator[cst.BaseExpression]:
    """The expressions in the kernel that say how large a tile is."""
    for member, (position, name) in SHAPE_ARGUMENTS.items():
        for call in read.calls(member):
            if (shape := argument(call, position, name)) is not None:
                yield shape
