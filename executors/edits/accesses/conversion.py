"""Rewriting the memory accesses of a kernel: what becomes of one call, and all of them put together."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import libcst as cst

from kdiag.records import Promise

from ..base import Applied, Outcome, Skipped
from ..syntax.kernel_source import KernelSource, read_kernel
from ..syntax.kernel_view import KernelView, Rewrite, code

ACCESSES = ("load", "store", "gather", "scatter")


@dataclass(frozen=True)
class Tile:
    """The tile that a call reads or writes: of which array (source text), of what shape, and whether it has more than
    one element along the array's last axis, in the array itself and not in a slice of it.
    """

    array: str
    shape: tuple[str, ...]
    along_last_axis: bool


@dataclass(frozen=True)
class Conversion:
    """One call to rewrite. `names` may be left unused by it; `tma` is whether TMA can do (or did) the tile access."""

    node: cst.Call
    rewrite: Rewrite
    tile: Tile | None = None
    tma: bool = False
    names: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Refusal:
    """A call that has to stay as it is, and why; `minor` if it is of one element, and nobody would miss it."""

    node: cst.Call
    reason: str
    minor: bool = False


Promises = Callable[[list[tuple[Conversion, int]], KernelSource], tuple[Promise, ...]]
"""What to promise of conversions and their lines in the edited source, which is the second argument."""


def no_promises(_placed: list[tuple[Conversion, int]], _edited: KernelSource) -> tuple[Promise, ...]:
    """For what no remark of the compiler shows."""
    return ()


def convert(
    kernel: KernelView, found: Iterable[Conversion | Refusal], nothing: str, promises: Promises = no_promises
) -> Outcome:
    """Rewrite what can be; skip with the first refusal, or with `nothing`, when no call can."""
    results = list(found)
    conversions = [result for result in results if isinstance(result, Conversion)]
    if not conversions:
        refused = sorted((r for r in results if isinstance(r, Refusal)), key=lambda r: r.minor)
        if not refused:
            return Skipped(nothing)
        line = kernel.source.line(refused[0].node)
        return Skipped(f"line {line}, {code(refused[0].node.func)}: {refused[0].reason}")
    rewrites: dict[cst.CSTNode, Rewrite] = {conversion.node: conversion.rewrite for conversion in conversions}
    names = {name for conversion in conversions for name in conversion.names}
    first = kernel.source.first(map(kernel.source.statement, rewrites))
    edited = kernel.rewritten(rewrites, names)
    made = () if promises is no_promises else _promised(kernel, conversions, edited, promises)
    return Applied(edited, first, made)


def _promised(
    kernel: KernelView, conversions: list[Conversion], edited: str, promises: Promises
) -> tuple[Promise, ...]:
    """What is promised of the edited source; to read it again costs as much as the edit."""
    read = read_kernel(edited, kernel.source.name)
    return () if isinstance(read, Skipped) else promises(_placed(kernel, conversions, read), read)


def _placed(kernel: KernelView, conversions: list[Conversion], edited: KernelSource) -> list[tuple[Conversion, int]]:
    """The line of each converted access in the edited source; nothing when there are more or fewer accesses."""
    before, after = kernel.source.calls(*ACCESSES), edited.calls(*ACCESSES)
    if len(before) != len(after):
        return []
    lines = {old: edited.line(new) for old, new in zip(before, after, strict=True)}
    return [
        (conversion, lines[call])
        for conversion in conversions
        for call in kernel.source.calls(*ACCESSES, within=conversion.node)[:1]
    ]
