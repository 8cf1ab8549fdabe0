"""The file of recorded results: a zip of `index.json` (what was recorded, where) and `outputs.bin` (the bytes).

A case goes by the hash of its text, which stands in front of its arrays, or of what is kept of them.
"""

import json
import zipfile
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from agreement import kept
from case import HASH_BYTES, Case


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


def condensed(recording: Recording, cases: dict[str, Case]) -> Recording:
    """The recording with what agreement keeps of the arrays in their place, where two launches gave the same ones."""
    results = {}
    for name, result in recording.results.items():
        outputs = result.outputs
        if result.same and outputs:
            parts = [
                kept(data, output, cases[name].tolerance)
                for data, output in zip(cases[name].outputs(), outputs, strict=True)
            ]
            outputs = tuple(min(pair, key=len) for pair in zip(outputs, parts, strict=True))
        results[name] = replace(result, outputs=outputs)
    return replace(recording, results=results)


def save(recording: Recording, path: Path) -> None:
    index: dict[str, Any] = {"machine": recording.machine, "cases": []}
    blob = bytearray()
    for result in recording.results.values():
        entry = {k: v for k, v in asdict(result).items() if k not in ("outputs", "text_hash") and v not in ("", True)}
        index["cases"].append(entry | {"sizes": [len(output) for output in result.outputs]})
        blob += b"".join((bytes.fromhex(result.text_hash), *result.outputs))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in (("index.json", json.dumps(index, indent=0).encode()), ("outputs.bin", bytes(blob))):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_LZMA)


def load(path: Path, cases: dict[str, Case]) -> Recording:
    """Reads the file. A case that has changed since goes by its old hash."""
    with zipfile.ZipFile(path) as archive:
        index, blob = json.loads(archive.read("index.json")), archive.read("outputs.bin")
    names = {case.text_hash(): name for name, case in cases.items()}
    results, start = {}, 0
    for entry in index["cases"]:
        text_hash, start = blob[start : start + HASH_BYTES].hex(), start + HASH_BYTES
        outputs = []
        for size in entry.pop("sizes"):
            outputs.append(blob[start : start + size])
            start += size
        results[names.get(text_hash, text_hash)] = Result(text_hash, **entry, outputs=tuple(outputs))
    return Recording(index["machine"], results)
