"""The file of recorded results: a zip of `index.json` (what was recorded, where) and `outputs.bin` (the bytes).

The bytes of each array are grouped by their place in the element, which halves what they compress to.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from agreement import DIGEST_BYTES, digest
from bits import width
from case import Case, Data

STATUSES = ("recorded", "refused", "failed", "died")


@dataclass(frozen=True)
class Result:
    """What the GPU machine said of one case.

    `refused`: by cuTile or tileiras, with their message. `failed`: by an error of the launch. `died`: with its
    process. `same` is whether two launches gave the same bytes.
    """

    text_hash: str
    status: str
    message: str = ""
    same: bool = True
    outputs: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Recording:
    """`machine` is the card, its driver, the versions and the date."""

    machine: dict[str, str]
    results: dict[str, Result] = field(default_factory=dict)


def with_digests(recording: Recording, cases: dict[str, Case]) -> Recording:
    """The recording with digests in place of the arrays that two launches agreed on and that no distance is asked of."""
    results = {}
    for name, result in recording.results.items():
        outputs = result.outputs
        if result.same and outputs and cases[name].tolerance.kind != "ulps":
            outputs = tuple(
                digest(data, output) if len(output) > DIGEST_BYTES else output
                for data, output in zip(cases[name].outputs(), outputs, strict=True)
            )
        results[name] = replace(result, outputs=outputs)
    return replace(recording, results=results)


def save(recording: Recording, cases: dict[str, Case], path: Path) -> None:
    """Writes the file."""
    index: dict[str, Any] = {"machine": recording.machine, "cases": {}}
    blob = bytearray()
    for name, result in recording.results.items():
        entry = {k: v for k, v in asdict(result).items() if k != "outputs" and v not in ("", True)}
        index["cases"][name] = entry | {"sizes": [len(output) for output in result.outputs]}
        for data, output in zip(cases[name].outputs(), result.outputs, strict=result.status == "recorded"):
            blob += np.frombuffer(output, np.uint8).reshape(-1, _step(data, len(output))).T.tobytes()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in (
            ("index.json", json.dumps(index, indent=0).encode()),
            ("outputs.bin", bytes(blob)),
        ):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_LZMA)


def load(path: Path, cases: dict[str, Case]) -> Recording:
    """Reads the file. Outputs of cases that have changed since are left out: nothing tells their sizes any more."""
    with zipfile.ZipFile(path) as archive:
        index, blob = json.loads(archive.read("index.json")), archive.read("outputs.bin")
    results, start = {}, 0
    for name, entry in index["cases"].items():
        sizes = entry.pop("sizes", [])
        outputs, known = [], cases.get(name)
        unchanged = known is not None and known.text_hash() == entry["text_hash"]
        for position, size in enumerate(sizes):
            part, start = blob[start : start + size], start + size
            if unchanged and known is not None:
                step = _step(known.outputs()[position], size)
                outputs.append(np.frombuffer(part, np.uint8).reshape(step, -1).T.tobytes())
        results[name] = Result(**entry, outputs=tuple(outputs))
    return Recording(index["machine"], results)


def _step(data: Data, size: int) -> int:
    """Bytes of an element; 1 for a digest that is no number of them."""
    element = width(data.dtype) // 8
    return element if size % element == 0 else 1
