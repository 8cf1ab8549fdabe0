"""The table as Markdown and JSON, and its totals."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kdiag.codec import encode
from kdiag.records import CompileFailure
from tilegym_table.records import Judged, Kernel, Offer, Original

WITHOUT = ("E", "F", "hints")  # applies to nearly everything, and says little of how far the edits reach
GATES = ("compile", "no-op", "effect", "emulation")
MOST_LISTED = 60


@dataclass(frozen=True)
class Table:
    """Everything that was found. `seconds` is how long it took."""

    known: Mapping[Kernel, Original]
    offers: tuple[Offer, ...]
    judged: tuple[Judged, ...]
    seconds: float

    def fates(self, kernel: Kernel) -> dict[str, str]:
        """What became of each edit that applies, by optimization in the registry's order: see `_fate`."""
        mine = [one for one in self.judged if one.offer.kernel == kernel]
        edits = dict.fromkeys(one.optimization for one in self.offers)
        found = {edit: [one for one in mine if one.offer.optimization == edit] for edit in edits}
        return {edit: _fate(verdicts) for edit, verdicts in found.items() if verdicts}


def _fate(verdicts: Sequence[Judged]) -> str:
    """Of one edit's variants: "wrong", or "passes" if one does either, "no-op" if all are, else the gates that stop them."""
    passing = [one for one in verdicts if not one.stopped]
    if passing:
        return "wrong" if any(one.wrong for one in passing) else "passes"
    stops = {one.stopped for one in verdicts}
    return ", ".join(gate for gate in GATES if gate in stops - {"no-op"}) or "no-op"


def _general(reason: str) -> str:
    """A reason without the names and numbers of its kernel."""
    plain = re.sub(r"\([^()]*\)|'[^']*'|\"[^\"]*\"|`[^`]*`", "...", re.sub(r"\w+_kernel\w*", "KERNEL", reason))
    return re.sub(r"\d+", "N", re.sub(r"\b\w*_\w+\b|\b[A-Z]+\b(?! is False)", "NAME", plain))


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


def as_markdown(table: Table) -> str:
    figures = [f"| {name} | {value} |" for name, value in totals(table).items() if name != "seconds"]
    bugs = _bugs(table) or ["Nothing."]
    parts = [
        "# TileGym's kernels and kdiag's edits",
        "\n".join(["| what | how many |", "|---|---|", *figures]),
        "## Kernel by edit",
        "\n".join(
            [
                "| kernel | passes | no-op | stopped |",
                "|---|---|---|---|",
                *(row(kernel, table.fates(kernel)) for kernel in table.known),
            ]
        ),
        "## What the gates stopped",
        "\n".join(_stopped(table.judged)) or "Nothing.",
        "## Wrong results, failures and edits that apply twice",
        "\n".join(f"* {line}" for line in bugs[:MOST_LISTED]),
    ]
    return "\n\n".join(parts) + "\n"


def row(kernel: Kernel, fates: Mapping[str, str]) -> str:
    """A kernel with the edits that pass, those that change nothing, and those that are stopped or wrong."""
    passes, same = ([edit for edit, fate in fates.items() if fate == wanted] for wanted in ("passes", "no-op"))
    rest = [f"{edit} ({fate})" for edit, fate in fates.items() if edit not in (*passes, *same)]
    return f"| `{kernel}` | {' | '.join(' '.join(edits) or '-' for edits in (passes, same, rest))} |"


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
