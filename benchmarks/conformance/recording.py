"""The file of recorded results: a zip of `index.json` (what was recorded, where) and `outputs.bin` (the bytes).

A case goes by the hash of its text, which stands in front of its arrays. The bytes of each array are grouped by their
place in the element, which halves what they compress to.
"""

import json
import zipfile
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from agreement import DIGEST_BYTES, digest
from bits import width
from case import HASH_BYTES, Case, Data

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
    index: dict[str, Any] = {"machine": recording.machine, "cases": []}
    blob = bytearray()
    for name, result in recording.results.items():
        entry = {k: v for k, v in asdict(result).items() if k not in ("outputs", "text_hash") and v not in ("", True)}
        index["cases"].append(entry | {"sizes": [len(output) for output in result.outputs]})
        blob += bytes.fromhex(result.text_hash)
        for data, output in zip(cases[name].outputs(), result.outputs, strict=result.status == "recorded"):
            blob += np.frombuffer(output, np.uint8).reshape(-1, _step(data, len(output))).T.tobytes()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in (("index.json", json.dumps(index, indent=0).encode()), ("outputs.bin", bytes(blob))):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_LZMA)


def load(path: Path, cases: dict[str, Case]) -> Recording:
    """Reads the file. A case that has changed since goes by its old hash, without outputs: nothing tells their sizes."""
    with zipfile.ZipFile(path) as archive:
        index, blob = json.loads(archive.read("index.json")), archive.read("outputs.bin")
    names = {case.text_hash(): name for name, case in cases.items()}
    results, start = {}, 0
    for entry in index["cases"]:
        text_hash, start = blob[start : start + HASH_BYTES].hex(), start + HASH_BYTES
        name, outputs = names.get(text_hash, text_hash), []
        for position, size in enumerate(entry.pop("sizes")):
            part, start = blob[start : start + size], start + size
            if name in cases:
                step = _step(cases[name].outputs()[position], size)
                outputs.append(np.frombuffer(part, np.uint8).reshape(step, -1).T.tobytes())
        results[name] = Result(text_hash, **entry, outputs=tuple(outputs))
    return Recording(index["machine"], results)


def _step(data: Data, size: int) -> int:
    """Bytes of an element; 1 for a digest that is no number of them."""
    element = width(data.dtype) // 8
    return element if size % element == 0 else 1
