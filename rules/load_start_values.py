"""The trials that kdiag brings along: what every single step did to a dozen kernels, by card (`start_values/*.json.xz`)."""

import json
import lzma
from functools import cache
from importlib.resources import files
from typing import Any

from kdiag.records import Effect, PastTrial, VerdictName

# The verdict that the default policy gives a step of this speed-up, noise apart.
KEPT = 1.02


@cache
def load() -> tuple[PastTrial, ...]:
    """All of them; `benchmarks/ranking` measured them, and its `start_values.py` wrote the files."""
    folder = files("kdiag.rules").joinpath("start_values")
    named = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".json.xz")), key=lambda e: e.name)
    return tuple(trial for entry in named for trial in parse(json.loads(lzma.decompress(entry.read_bytes()))))


def parse(card: dict[str, object]) -> tuple[PastTrial, ...]:
    """The trials of one file."""
    kernels = card["kernels"]
    assert isinstance(kernels, list)
    return tuple(_trial(card, kernel, *step) for kernel in kernels for step in kernel["steps"])


def _trial(card: dict[str, object], kernel: dict[str, object], *step: Any) -> PastTrial:
    """One row: optimization, variant, speed-up or verdict, and what is known of its `Effect`."""
    optimization, variant, outcome, *effect = step
    speedup = outcome if isinstance(outcome, int | float) else None
    verdict: VerdictName = "keep" if speedup is not None and speedup >= KEPT else "revert"
    features = kernel["features"]
    assert isinstance(features, list)
    return PastTrial(
        time=str(card["date"]),
        version="",
        kernel=str(kernel["kernel"]),
        parent_hash="",
        candidate_hash="",
        features=tuple(features),
        cause=str(kernel["cause"]),
        bottleneck=str(kernel["bottleneck"]),
        architecture=str(card["architecture"]),
        toolchain=str(card["toolchain"]),
        optimization=optimization,
        variant=variant,
        verdict=outcome if speedup is None else verdict,
        speedup=speedup,
        configurations=1 if speedup is not None else 0,
        effect=Effect(*effect),
    )
