"""One planted fault: a launch with it, and the right launch beside it.

The lines of the kernels say what is to be reported there: `# FAULT: kind`, or `# MAYBE FAULT: kind` where it depends on
the order of the blocks which of two lines shows it.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import cuda.tile as ct
import torch

MARK = re.compile(r"# (?P<sometimes>MAYBE )?FAULT: (?P<kinds>[\w-]+(?:, [\w-]+)*)$")


@dataclass(frozen=True)
class Planted:
    """`wrong` and `right` launch kernels of `kernels` and give the output; `expected` is what it should be.

    `block` (its number on the first axis), `element` and `says` are of a fault that is reported when the blocks run in
    order, where they are known.
    """

    name: str
    kernels: tuple[Any, ...]
    wrong: Callable[[], torch.Tensor]
    right: Callable[[], torch.Tensor]
    expected: torch.Tensor
    block: int | None = None
    array: str | None = None
    element: tuple[int, ...] | None = None
    says: str = ""

    def places(self):
        """(kernel, kind, line) of what must be reported, and of what may be."""
        must, may = set(), set()
        for kernel in self.kernels:
            function = kernel._pyfunc
            lines, first = inspect.getsourcelines(function)
            for number, line in enumerate(lines, first):
                if found := MARK.search(line.rstrip()):
                    for kind in found["kinds"].split(", "):
                        (may if found["sometimes"] else must).add((function.__name__, kind, number))
        return frozenset(must), frozenset(may)


def launched(kernel, grid, *arguments):
    """Launch a kernel and give its parameter `out`."""
    ct.launch(torch.cuda.current_stream(), grid if isinstance(grid, tuple) else (grid,), kernel, arguments)
    return arguments[list(inspect.signature(kernel._pyfunc).parameters).index("out")]


def planted(name, kernel, grid, make, wrong, right, expected, **known):
    """A fault of a kernel that is wrong or right by the arguments that `make` makes of one thing or another."""
    launches = (partial(_made, kernel, grid, make, one) for one in (wrong, right))
    return Planted(name, (kernel,), *launches, expected, **known)


def _made(kernel, grid, make, one):
    return launched(kernel, grid, *make(one))


def ramp(*shape):
    """1, 2, 3, ... in a shape."""
    return torch.arange(1, torch.Size(shape).numel() + 1, dtype=torch.float32).reshape(shape)
