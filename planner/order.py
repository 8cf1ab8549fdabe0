"""The order of a plan: by expected time saved, or by tier while no cause is known or where the policy says so.

Memory-bound kernels start with block sizes and access, compute-bound ones with cheaper arithmetic, latency-bound ones with
scheduling; without a profile with block sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kdiag.records import Diagnosis, Iteration, Suggestion, parts
from kdiag.rules.load_playbook import TIERS, load

from .gain import time_saved

# Ten seconds of trying weigh as much as half a percent of the kernel's time: cost decides between near equals.
COST_PER_SECOND = 0.0005
# Without a cause, an edit expected to cost this share of the time (confidence counted in) waits for all others.
CLEARLY_SLOWER = -0.1
TIERS_BY_BOTTLENECK = {"memory": (1, 2, 3), "compute": (3, 1, 5), "latency": (4, 3)}


def tier_order(diagnosis: Diagnosis | None) -> tuple[int, ...]:
    """The tiers that suit the class of the bottleneck, then the others from tier 1 on."""
    first = TIERS_BY_BOTTLENECK.get(diagnosis.bottleneck, ()) if diagnosis else ()
    return (*first, *(tier for tier in TIERS if tier not in first))


@dataclass(frozen=True)
class Tiers:
    """The order in which a policy goes through the tiers, and why, in a sentence."""

    order: tuple[int, ...]
    why: str


def next_tiers(diagnosis: Diagnosis, rows: Sequence[Iteration], *, counted: bool) -> Tiers:
    """The fewest attempts in a run first, no-ops being none, then what suits the bottleneck, after tier 1 if no profiler
    `counted` anything.
    """
    tried = Counter(tier_of(row) for row in rows if row.verdict != "no-op")
    order = sorted(tier_order(diagnosis), key=lambda tier: (tried[tier], not counted and tier != 1))
    start = "" if counted else "tier 1, the safest start without counters, then "
    by = f"fewest attempts first, then {start}what suits the bottleneck ({diagnosis.bottleneck})"
    return Tiers(tuple(order), f"Tiers in the order {', '.join(map(str, order))}: {by}.")


def tier_of(row: Iteration) -> int | None:
    """The tier of what was tried, of a pair that of its first part; None for the unedited kernel."""
    (first, _), *_ = parts(row.optimization, row.variant)
    known = load().get(first)
    return known.tier if known else None


def sort_key(draft: Suggestion, cost_s: float, tiers: tuple[int, ...] | None) -> tuple[bool, float, float, float, str]:
    """What can be applied first; by time saved; without a cause by tier, with what is known to be slower last.

    What ties, to a percent of the time, comes by what it may save at best: to try it costs the same. Variants that tie
    in that too stay in the order in which their edit offers them.
    """
    most = round(time_saved(replace(draft.expected_speedup, mid=draft.expected_speedup.high), draft.confidence), 1)
    saved = round(time_saved(draft.expected_speedup, draft.confidence) - COST_PER_SECOND * cost_s, 2)
    if tiers is None:
        return (not draft.applicable, -saved, -most, draft.tier, draft.optimization)
    first = tiers.index(draft.tier) if saved > CLEARLY_SLOWER else len(tiers)
    return (not draft.applicable, first, -saved, -most, draft.optimization)
