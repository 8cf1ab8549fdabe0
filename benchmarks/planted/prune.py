"""Makes what `extract.py` wrote small enough to keep beside the tests: `prune.py IN.json OUT.json.xz`.

Six digits of what counters say; what is computed from them is computed again when it is read.
"""

import json
import lzma
import sys
from pathlib import Path
from typing import Any

from kdiag.rules.load_metrics import load_metrics

TEXT = 160  # characters of a rule's message; the end of it names the limit


def digits(value: Any) -> Any:
    """A float with six digits, anything else as it is."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def launch(row: dict[str, Any]) -> dict[str, Any]:
    """One launch without derived values."""
    known = load_metrics()
    kept = {
        name: digits(value)
        for name, value in row["observations"].items()
        if name in known and value is not None
    }
    vendor = {
        **row["vendor"],
        "estimates": [[*head, text[-TEXT:]] for *head, text in row["vendor"]["estimates"]],
    }
    return {**row, "observations": kept, "vendor": vendor}


def case(row: dict[str, Any]) -> dict[str, Any]:
    """One case."""
    times = {name: digits(row[name]) for name in ("slow_ms", "fast_ms")}
    return {**row, **times, "speedup": [digits(each) for each in row["speedup"]]}


def main(source: Path, target: Path) -> None:
    """See the module's text. One line a case and a launch."""
    data = json.loads(source.read_text())
    cases = ",\n".join(json.dumps(case(each)) for each in data["cases"])
    launches = ",\n".join(json.dumps(launch(each)) for each in data["launches"])
    text = f'{{"cases":[\n{cases}],\n"launches":[\n{launches}]}}\n'
    target.write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
