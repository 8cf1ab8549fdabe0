"""The table as Markdown and JSON, and its totals."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kdiag.codec import encode
from kdiag.records import CompileFailure
from tilegym_table.records import Judged, Kernel, Offer, Original

WITHOUT = ("E", "F", "hints")  # applies to nearly everything, and says little of how far the edits reach
GATES = {"compile": "c", "no-op": "=", "effect": "e", "emulation": "m"}
MOST_LISTED = 60
MOST_EXCEPTIONS = 2  # kernels of which another thing is said, for an edit to be a line in place of a column


@dataclass(frozen=True)
class Table:
    """Everything that was found. `seconds` is how long it took."""

    known: Mapping[Kernel, Original]
    offers: tuple[Offer, ...]
    judged: tuple[Judged, ...]
    seconds: float

    @cached_property
    def edits(self) -> tuple[str, ...]:
        """The optimizations, in the registry's order."""
        return tuple(dict.fromkeys(offer.optimization for offer in self.offers))

    def of(self, kernel: Kernel, edit: str) -> list[Offer]:
        return [one for one in self.offers if (one.kernel, one.optimization) == (kernel, edit)]

    def verdicts(self, kernel: Kernel, edit: str) -> list[Judged]:
        """What became of those that apply."""
        return [one for one in self.judged if (one.offer.kernel, one.offer.optimization) == (kernel, edit)]


def _general(reason: str) -> str:
    """A reason without the names and numbers of its kernel."""
    plain = re.sub(r"\([^()]*\)|'[^']*'|\"[^\"]*\"|`[^`]*`", "...", re.sub(r"\w+_kernel\w*", "KERNEL", reason))
    return re.sub(r"\d+", "N", re.sub(r"\b\w*_\w+\b|\b[A-Z]+\b(?! is False)", "NAME", plain))


def cell(table: Table, kernel: Kernel, edit: str) -> str:
    """A: passes every gate that needs no GPU; "=": only no-ops; x and the gate; "-": does not apply; "!": a bug."""
    if any(one.said in ("failed", "crashed") for one in table.of(kernel, edit)):
        return "!"
    verdicts = table.verdicts(kernel, edit)
    if any(one.wrong and not one.stopped for one in verdicts):
        return "WRONG"
    if any(not one.stopped for one in verdicts):
        return "A"
    if verdicts:
        stops = {one.stopped for one in verdicts} - {"no-op"}
        return f"x{''.join(sorted(GATES[stop] for stop in stops))}" if stops else "="
    return "-"


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
    return "\n".join([*lines, *("" for _ in "1"), *_bugs(table)])


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


def as_markdown(table: Table) -> str:
    """The page."""
    usual = dict(_usual(table))
    edits = [edit for edit in table.edits if edit not in usual]
    rows = [f"| {_name(kernel)} | {' | '.join(cell(table, kernel, e) for e in edits)} |" for kernel in table.known]
    figures = [f"| {name} | {value} |" for name, value in totals(table).items() if name != "seconds"]
    bugs = _bugs(table) or ["Nothing."]
    parts = [
        HEAD,
        "\n".join(["| what | how many |", "|---|---|", *figures]),
        "## Kernel by edit",
        LEGEND,
        "\n".join([f"| kernel | {' | '.join(edits)} |", "|---" * (len(edits) + 1) + "|", *rows]),
        "\n".join(f"* {edit}: {line}" for edit, line in usual.items()),
        "## What the gates stopped",
        "\n".join(_stopped(table.judged)) or "Nothing.",
        "## Wrong results, failures and edits that apply twice",
        "\n".join(f"* {line}" for line in bugs[:MOST_LISTED]),
    ]
    return "\n\n".join(parts) + "\n"


def _name(kernel: Kernel) -> str:
    return f"`{kernel}`"


def _usual(table: Table) -> Iterator[tuple[str, str]]:
    """Edits of which the same is said of nearly every kernel, and what."""
    for edit in table.edits:
        cells = {kernel: cell(table, kernel, edit) for kernel in table.known}
        ((most, count),) = Counter(cells.values()).most_common(1)
        if MOST_EXCEPTIONS < len(cells) <= count + MOST_EXCEPTIONS:
            others = "".join(f"; {one} for {_name(kernel)}" for kernel, one in cells.items() if one != most)
            yield edit, f"{most} for {'every kernel' if not others else 'every other kernel'}{others}"


def _stopped(judged: Sequence[Judged]) -> Iterator[str]:
    """By gate and reason, how often of each edit, and an example."""
    found: dict[tuple[str, str], list[Judged]] = {}
    for one in judged:
        if one.stopped and one.stopped != "no-op":
            found.setdefault((one.stopped, _general(one.reason)), []).append(one)
    for (gate, _), ones in sorted(found.items()):
        counts = Counter(one.offer.optimization for one in ones)
        often = ", ".join(f"{edit} {count} times" for edit, count in counts.items())
        yield f"* {gate}: {often}, e.g. {_place(ones[0].offer)}: {ones[0].reason}"


def as_json(table: Table) -> str:
    """Everything but the edited texts."""
    kernels = [
        {
            "kernel": str(kernel),
            "calls": original.calls,
            "cases": [one.case for one in original.emulated.values()],
            "compiles": {
                target: found.message if isinstance(found, CompileFailure) else True
                for target, found in original.compiled.items()
            },
        }
        for kernel, original in table.known.items()
    ]
    plain = [encode(replace(one, text="" if one.said == "applied" else one.text)) for one in table.offers]
    judged = [
        {
            "kernel": str(one.offer.kernel),
            "target": one.offer.target,
            "edit": one.offer.optimization,
            "variant": one.offer.variant,
            "stopped": one.stopped,
            "reason": one.reason,
            "wrong": one.wrong,
        }
        for one in table.judged
    ]
    shown = {"totals": totals(table), "kernels": kernels, "offers": plain, "judged": judged}
    return json.dumps(encode(shown), indent=1)


HEAD = """# TileGym's kernels and kdiag's edits

Every edit was tried on every kernel of TileGym's `ops/cutile`, for sm_90 and sm_100, with the launches that TileGym's own
wrappers make at the sizes of models. What applies was compiled for both, and emulated at small ragged sizes beside the
unedited kernel: a `safe` edit must give the same bits, one that changes rounding must stay within the tolerance of the
double-precision reference, and neither may do anything wrong that the kernel did not do before. The emulation gate sees
two of the small calls of a kernel; *wrong* is judged by all of them. Written by `benchmarks/tilegym_edits.py`."""

LEGEND = """`A`: applies, and at least one variant passes every gate that needs no GPU. `=`: applies and changes no machine
code. `x`: every variant is stopped, by the compiler (`c`), because the promised effect is not there or registers spill
(`e`), or because the emulation differs (`m`). `-`: does not apply (`--json FILE` has the reasons). `!`: a bug."""
