"""The order of a plan: by expected time saved, or by tier while no cause is known or where the policy says so.

The order of the tiers follows the class of the bottleneck: memory-bound kernels start with block sizes and access,
compute-bound ones with cheaper arithmetic, latency-bound ones with scheduling; without a profile with block sizes.
"""

from __future__ import annotations

from dataclasses import replace

from kdiag.records import Diagnosis, Suggestion
from kdiag.rules.load_playbook import TIERS

from .gain import time_saved

# Ten seconds of trying weigh as much as half a percent of the kernel's time: cost decides between near equals.
COST_PER_SECOND = 0.0005
# Without a cause, an edit expected to cost this share of the time (confidence counted in) waits for all others.
CLEARLY_SLOWER = -0.1
TIERS_BY_BOTTLENECK = {"memory": (1, 2, 3), "compute": (3, 1, 5), "latency": (4, 3)}


def tier_order(diagnosis: Diagnosis | None) -> tuple[int, ...]:
    """The order of the tiers when no cause is known: those that suit the class of bottleneck, then from tier 1 on."""
    first = TIERS_BY_BOTTLENECK.get(diagnosis.bottleneck, ()) if diagnosis else ()
    return (*first, *(tier for tier in TIERS if tier not in first))


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
