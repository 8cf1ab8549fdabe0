"""What an optimization was to do to the hardware, against what it did, and what follows for the cause.

| the predicted metrics | time    | outcome       | conclusion |
|-----------------------|---------|---------------|------------|
| moved as predicted    | less    | confirmed     | supported: the cause was a limiter |
| moved as predicted    | no less | confirmed     | refuted: the cause was not the limiter |
| moved as predicted    | unknown | confirmed     | open |
| did not               | less    | contradicted  | open: faster for a reason the rules do not name |
| did not               | no less, unknown | contradicted  | edit-failed: nothing is known of the cause |
| unavailable           | any     | not-evaluated | open |

Several metrics must all move; those that are unavailable on one side are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from kdiag.records import Observations, Prediction, number, parts

from . import graph as rules

# Twice what PM sampling and Nsight Compute differ by on one kernel (62.5 against 60.5 % of DRAM, 83 against 87 % of the
# tensor pipe; NVIDIA H200, 2026-11). What the compiler says has no noise.
LEAST_CHANGE = 0.1
CYCLES = "sm_elapsed_cycles"


def predicted(optimization: str, variant: str, cause: str) -> tuple[str, ...]:
    """The signed metrics that the rules say this variant moves when it treats this cause; of a pair those of both."""
    found = [rules.treatments(rules.bundled(), *part, cause) for part in parts(optimization, variant)]
    return tuple(dict.fromkeys(move for treats in found for treat in treats for move in treat.moves))


def check(
    cause: str, moves: Sequence[str], seen: tuple[Observations, Observations], *, faster: bool | None
) -> Prediction:
    """Compare `moves` ("-dram_read_bytes") with what was `seen` of parent and candidate; `faster` None: the time does not say."""
    changes = [(move, *pair) for move in moves if (pair := _values(move, *seen)) is not None]
    if not changes:
        return Prediction(cause, "not-evaluated", "open", "nothing that the rules predict was measured")
    failed = [change for change in changes if not _moved(*change)]
    figures = ", ".join(f"{move[1:]} {before:g} -> {after:g}" for move, before, after in failed or changes)
    if failed and faster:
        text = "faster for a reason that the rules do not name"
        return Prediction(cause, "contradicted", "open", f"not as predicted: {figures}; {text}")
    if failed:
        text = "the edit does not do what it is for"
        return Prediction(cause, "contradicted", "edit-failed", f"not as predicted: {figures}; {text}")
    if faster is None:
        return Prediction(cause, "confirmed", "open", f"as predicted: {figures}; the time does not decide")
    text = f"{cause} was a limiter" if faster else f"no faster for it, so {cause} was not the limiter"
    return Prediction(cause, "confirmed", "supported" if faster else "refuted", f"as predicted: {figures}; {text}")


def _values(move: str, before: Observations, after: Observations) -> tuple[float, float] | None:
    """The metric on both sides, None if one is unavailable, or is to fall and cannot.

    A busy share that is to fall is compared in busy cycles: the same work in less time has a larger share.
    """
    name = move[1:]
    first, second, *cycles = (number(side, key) for key in (name, CYCLES) for side in (before, after))
    if first is None or second is None or (move[0] == "-" and first == 0):
        return None
    if move[0] == "-" and name.endswith("_pct") and cycles[0] is not None and cycles[1] is not None:
        return first / 100 * cycles[0], second / 100 * cycles[1]
    return first, second


def _moved(move: str, before: float, after: float) -> bool:
    least = 0.0 if move[1:].startswith("compile.") else LEAST_CHANGE * abs(before)
    return (after - before if move[0] == "+" else before - after) > least
