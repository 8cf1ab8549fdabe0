"""Gates as one JSON object, schema `kdiag.verify/1`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from kdiag.records import GateRecord, failed

SCHEMA = "kdiag.verify/1"


def to_json(
    kernel: str, target: str, files: tuple[Path, Path], records: Sequence[GateRecord], *, unable: bool = False
) -> dict[str, object]:
    """`passed` is false if a gate failed, or if `unable`: there is a GPU, and the check on it could not run.

    `could_not_run` names the gates that proved nothing.
    """
    return {
        "schema": SCHEMA,
        "kernel": kernel,
        "target": target,
        "before": str(files[0]),
        "after": str(files[1]),
        "passed": failed(records) is None and not unable,
        "could_not_run": [record.gate for record in records if record.outcome == "could-not-run"],
        "gates": [asdict(record) for record in records],
    }
