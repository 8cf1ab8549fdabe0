"""Makes what `extract.py` wrote small enough to keep beside the tests: `prune.py IN.json OUT.json.xz`.

Four digits of what counters say; what is computed from them is computed again when it is read.
"""

import json
import lzma
import sys
from pathlib import Path
from typing import Any

from kdiag.rules.load_metrics import load_metrics

TEXT = 80  # characters of a rule's message; the end of it names the limit


def digits(value: Any) -> Any:
    """A float with four digits, anything else as it is."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def launch(row: dict[str, Any]) -> dict[str, Any]:
    """One launch without derived values."""
    known = load_metrics()
    kept = {name: digits(value) for name, value in row["observations"].items() if name in known and value is not None}
    vendor = {**row["vendor"], "estimates": [[*head, text[-TEXT:]] for *head, text in row["vendor"]["estimates"]]}
    return {**row, "observations": kept, "vendor": vendor}


def case(row: dict[str, Any]) -> dict[str, Any]:
    times = {name: digits(row[name]) for name in ("slow_ms", "fast_ms")}
    return {**row, **times, "speedup": [digits(each) for each in row["speedup"]]}


def main(source: Path, target: Path) -> None:
    """See the module's text. Values of one counter stand together, None where a launch has none of it."""
    data = json.loads(source.read_text())
    launches = [launch(each) for each in data["launches"]]
    seen = [row.pop("observations") for row in launches]
    names = dict.fromkeys(name for each in seen for name in each)
    columns = {name: [each.get(name) for each in seen] for name in names}
    pruned = {"cases": list(map(case, data["cases"])), "launches": launches, "observations": columns}
    target.write_bytes(lzma.compress(json.dumps(pruned, separators=(",", ":")).encode(), preset=9))


def load(path: Path) -> dict[str, Any]:
    """What `main` wrote: cases, and launches with their observations."""
    data = json.loads(lzma.decompress(path.read_bytes()))
    for number, row in enumerate(data["launches"]):
        values = {name: column[number] for name, column in data["observations"].items()}
        row["observations"] = {name: value for name, value in values.items() if value is not None}
    return data


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
