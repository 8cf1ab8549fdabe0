"""Runs a kernel before and after an edit in the emulator, and describes the launch to the edit."""

import numpy as np

from edit_emulation import run
from kdiag.records import ArrayArgument, Launch, ScalarArgument

HEAD = "import cuda.tile as ct\n\n\n@ct.kernel\ndef k({parameters}):\n{body}"


def kernel(parameters, body):
    """The source of a kernel named k; sizes are annotated where a parameter is in capitals."""
    names = [name.strip() for name in parameters.split(",")]
    annotated = [f"{name}: ct.Constant[int]" if name.isupper() else name for name in names]
    lines = "".join(f"    {line}\n" if line else "\n" for line in body.strip("\n").split("\n"))
    return HEAD.format(parameters=", ".join(annotated), body=lines)


def launch(source, grid, values):
    """The captured launch of such a kernel with these arguments."""
    names = source.partition("def k(")[2].partition(")")[0].split(", ")
    arguments = []
    for name, value in zip(names, values, strict=True):
        plain, constant = name.partition(":")[0], ":" in name
        if isinstance(value, np.ndarray):
            strides = tuple(stride // value.itemsize for stride in value.strides)
            arguments.append(ArrayArgument(plain, str(value.dtype), value.shape, strides))
        else:
            arguments.append(ScalarArgument(plain, value, constant))
    return Launch("k", grid, tuple(arguments))


def results(source, grid, values):
    """The arrays after a launch."""
    given = [value.copy() if isinstance(value, np.ndarray) else value for value in values]
    run(source, "k", grid, given)
    return [value for value in given if isinstance(value, np.ndarray)]
