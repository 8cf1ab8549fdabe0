"""Rewriting the memory accesses of a kernel: what becomes of one call, and all of them put together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import libcst as cst

from kdiag.executors.edits.base import Applied, Outcome, Skipped
from kdiag.executors.edits.syntax.kernel_view import KernelView, Rewrite, code
from kdiag.records import Promise


@dataclass(frozen=True)
class Conversion:
    """One call to rewrite. `names` may be left unused by it; `tma` is whether TMA can do (or did) the tile access."""

    node: cst.Call
    rewrite: Rewrite
    tma: bool
    names: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Refusal:
    """A call that has to stay as it is, and why."""

    node: cst.Call
    reason: str


def convert(
    kernel: KernelView, found: Iterable[Conversion | Refusal], nothing: str, promises: tuple[Promise, ...]
) -> Outcome:
    """Rewrite what can be; skip with the first refusal, or with `nothing`, when no call can."""
    results = list(found)
    conversions = [result for result in results if isinstance(result, Conversion)]
    if not conversions:
        refused = [result for result in results if isinstance(result, Refusal)]
        if not refused:
            return Skipped(nothing)
        line = kernel.source.place(refused[0].node).line
        return Skipped(f"line {line}, {code(refused[0].node.func)}: {refused[0].reason}")
    rewrites: dict[cst.CSTNode, Rewrite] = {conversion.node: conversion.rewrite for conversion in conversions}
    names = {name for conversion in conversions for name in conversion.names}
    first = min(
        conversions, key=lambda c: (kernel.source.place(c.node).line, kernel.source.place(c.node).column)
    )
    return Applied(kernel.rewritten(rewrites, names), kernel.statement_place(first.node), promises)
