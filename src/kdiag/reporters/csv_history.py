"""The trials of earlier runs as CSV, one a line."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields

from kdiag.records import PastTrial


def to_csv(trials: Sequence[PastTrial]) -> str:
    """All fields of `PastTrial`; features are separated by spaces, and what was not measured is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [each.name for each in fields(PastTrial)], lineterminator="\n")
    writer.writeheader()
    for trial in trials:
        writer.writerow({**asdict(trial), "features": " ".join(trial.features)})
    return text.getvalue()
