"""What was found, as JSON and as totals."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kdiag.codec import encode
from kdiag.records import CompileFailure
from tilegym_table.records import Judged, Kernel, Offer, Original

WITHOUT = ("E", "F", "hints")  # applies to nearly everything, and says little of how far the edits reach
GATES = ("compile", "no-op", "effect", "emulation")


@dataclass(frozen=True)
class Table:
    """Everything that was found. `seconds` is how long it took."""

    known: Mapping[Kernel, Original]
    offers: tuple[Offer, ...]
    judged: tuple[Judged, ...]
    seconds: float


def totals(table: Table) -> dict[str, object]:
    """The figures: kernels reached, edits applied, stopped, and wrong."""
    reached = {one.kernel for one in table.offers if one.said == "applied" and one.optimization not in WITHOUT}
    passing = {one.offer.kernel for one in table.judged if not one.stopped and one.offer.optimization not in WITHOUT}
    stopped = Counter(one.stopped for one in table.judged if one.stopped)
    return {
        "kernels": len(table.known),
        "kernels launched": sum(bool(one.calls) for one in table.known.values()),
        "kernels emulated": sum(bool(one.emulated) for one in table.known.values()),
        "kernels that do not compile": sum(
            any(isinstance(found, CompileFailure) for found in one.compiled.values()) for one in table.known.values()
        ),
        f"kernels with an edit applied beyond {', '.join(WITHOUT)}": len(reached),
        f"kernels where such an edit passes every gate: beyond {', '.join(WITHOUT)}": len(passing),
        "edits applied (kernel, target, variant)": len(table.judged),
        **{f"stopped by the gate {gate}": stopped[gate] for gate in GATES},
        "pass every gate that needs no GPU": sum(not one.stopped for one in table.judged),
        "wrong": sum(bool(one.wrong) for one in table.judged),
        "wrong and not stopped": sum(bool(one.wrong) and not one.stopped for one in table.judged),
        "not emulated": sum(not table.known[one.offer.kernel].emulated for one in table.judged),
        "failed or crashed": sum(one.said in ("failed", "crashed") for one in table.offers),
        "applied a second time": len(_twice(table)),
        "seconds": round(table.seconds),
    }


def summary(table: Table) -> str:
    """The figures, and what needs a look."""
    lines = [f"{value:>6}  {name}" for name, value in totals(table).items()]
    return "\n".join([*lines, "", *_bugs(table)])


def _twice(table: Table) -> list[Offer]:
    return [one for one in table.offers if one.said == "applied" and one.again not in ("", "refused")]


def _bugs(table: Table) -> list[str]:
    """Crashes, failures, edits that apply twice, and wrong results, one a line."""
    found = [f"{one.said}: {_place(one)}: {one.text}" for one in table.offers if one.said in ("failed", "crashed")]
    found += [f"second time {one.again}: {_place(one)}" for one in _twice(table)]
    targets: dict[str, dict[str, None]] = {}
    for one in table.judged:
        if one.wrong:
            gate = f"stopped by {one.stopped}" if one.stopped else "NOT STOPPED"
            line = f"wrong, {gate}: {_place(replace(one.offer, target='{}'))}: {one.wrong}"
            targets.setdefault(line, {})[one.offer.target] = None
    found += [line.replace("{}", " and ".join(ones), 1) for line, ones in targets.items()]
    return list(dict.fromkeys(found))


def _place(offer: Offer) -> str:
    return f"{offer.kernel}, {offer.optimization} {offer.variant}, {offer.target}"


def as_json(table: Table) -> str:
    """The totals, and what was found of each kernel and each offer, without the edited texts."""

    def plain(offer: Offer) -> Offer:
        return replace(offer, text="") if offer.said == "applied" else offer

    shown = {
        "totals": totals(table),
        "kernels": list(table.known.values()),
        "offers": list(map(plain, table.offers)),
        "judged": [replace(one, offer=plain(one.offer)) for one in table.judged],
    }
    return json.dumps(encode(shown), indent=1)
