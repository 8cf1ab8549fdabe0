"""What the text of a cuTile file says about its kernels, from the syntax alone: nothing is imported or run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kdiag.errors import UsageError
from kdiag.records import Place

AccessKind = Literal["load", "store", "gather", "scatter"]
LaunchKind = Literal["launch", "autotune_launch", "exhaustive_search"]


@dataclass(frozen=True)
class Access:
    """One place that reads or writes an array; settings are source text, None where the source leaves the default.

    `array` is the text of the array or view at that place, inside a called function its parameter. `indirect` is set
    for a gather or scatter whose index is computed from values that the kernel has read from memory.
    """

    kind: AccessKind
    array: str
    where: Place
    padding: str | None = None
    latency: str | None = None
    allow_tma: str | None = None
    check_bounds: str | None = None
    indirect: bool = False


@dataclass(frozen=True)
class MathCall:
    """A costly function, or `/` between tiles. `exact` is False where the source asks for approximate rounding."""

    name: str
    where: Place
    exact: bool


@dataclass(frozen=True)
class KernelFacts:
    """A kernel together with the functions of the same file that it calls; every place counts once.

    `hints` are the keywords of the decorator as source text. `persistent_loops` are those of `loops` in which a block
    steps through work items by the number of blocks.
    """

    name: str
    where: Place
    hints: Mapping[str, str]
    constants: tuple[str, ...]
    accesses: tuple[Access, ...]
    math: tuple[MathCall, ...]
    mma: tuple[Place, ...]
    loops: tuple[Place, ...]
    persistent_loops: tuple[Place, ...]

    @property
    def persistent(self) -> bool:
        """Whether a block works on several items, one after the other."""
        return bool(self.persistent_loops)


@dataclass(frozen=True)
class LaunchSite:
    """A call that starts or tunes a kernel. `function` is the dotted name of what encloses it, "" at the top."""

    kernel: str
    function: str
    where: Place
    how: LaunchKind


@dataclass(frozen=True)
class SourceFacts:
    """The kernels and launches of one file, in the order of the text."""

    kernels: tuple[KernelFacts, ...]
    launches: tuple[LaunchSite, ...]


def read_source(source: str, file: str) -> SourceFacts:
    """Read the text of `file`. Raises UsageError if it is not Python, or nests too deeply to be read."""
    import libcst as cst

    from kdiag.diagnose.source_visitor import visit

    text = source.removeprefix("\ufeff")
    try:
        with warnings.catch_warnings(
            action="ignore"
        ):  # An odd escape sequence is the business of its author.
            ast.parse(
                text
            )  # Refuses deep nesting, on which the parser of LibCST overflows the stack (measured).
        return visit(cst.parse_module(text), file)
    except SyntaxError as error:
        line = f", line {error.lineno}," if error.lineno is not None else ""
        raise UsageError(f"{file}{line} is not valid Python: {error.msg}.") from error
    except cst.ParserSyntaxError as error:
        raise UsageError(f"{file}, line {error.raw_line}, is not valid Python: {error.message}.") from error
    except ValueError as error:
        raise UsageError(f"{file} is not valid Python: {error}.") from error
    except (RecursionError, MemoryError) as error:
        raise UsageError(f"{file} nests its expressions too deeply to be read; split them up.") from error
