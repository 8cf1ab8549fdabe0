"""Reads `report_labels.toml`: which metric a label on the profiler's details page stands for."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def load_report_labels() -> Mapping[str, str]:
    """Return the profiler's name of a metric by its label."""
    text = files("kdiag.rules").joinpath("report_labels.toml").read_text(encoding="utf-8")
    return {label: metric for metric, labels in tomllib.loads(text).items() for label in labels}
