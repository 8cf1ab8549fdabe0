"""The trials of earlier runs as the JSON object `kdiag.history/1`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from kdiag.records import PastTrial, TrialGroup

SCHEMA = "kdiag.history/1"


def to_json(trials: Sequence[PastTrial], groups: Sequence[TrialGroup]) -> dict[str, object]:
    """The trials, latest first, and their groups; a number that was not measured is None."""
    return {
        "schema": SCHEMA,
        "trials": [asdict(trial) for trial in trials],
        "groups": [asdict(group) for group in groups],
    }
