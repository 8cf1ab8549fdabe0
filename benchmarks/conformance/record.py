"""Launches every case twice on the GPU and writes what it computed. Needs cuda.tile, torch with CUDA and NumPy.

python record.py OUT.zip [WORKERS]

Cases run in child processes, some hundred each. A child that dies or hangs loses only the case it was at: the rest
of its share goes to a new child.
"""

import base64
import datetime
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from case import Case
from catalogue import all_cases
from recording import Recording, Result, condensed, save

WORKERS = 12
SILENCE_S = 60.0  # a case takes under a second; a child's start some seconds
MESSAGE = 120


def answer(case: Case) -> tuple[Result, bool]:
    """The case's result, and whether the process can go on: no launch works after some errors."""
    import cuda.tile as ct
    import torch
    from launch import run

    try:
        stream = torch.cuda.current_stream()
        first, second = run(case, "cuda", stream), run(case, "cuda", stream)
    except Exception as error:  # noqa: BLE001 - whatever a case raises is its result
        refused = isinstance(error, ct.TileError) and not isinstance(error, ct.TileCompilerTimeoutError)
        status = "refused" if refused else "failed"
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"[:MESSAGE]
        return Result(case.text_hash(), status, text), healthy()
    return Result(case.text_hash(), "recorded", same=first == second, outputs=tuple(first)), True


def healthy() -> bool:
    """Whether the CUDA context still works."""
    import torch

    try:
        torch.cuda.synchronize()
        torch.zeros(1, device="cuda").item()
    except (RuntimeError, AssertionError):
        return False
    return True


def work(names: list[str], target: Path) -> None:
    """A child: one line of JSON for each case, before the next is begun."""
    cases = all_cases()
    with target.open("a") as lines:
        for name in names:
            result, usable = answer(cases[name])
            outputs = [base64.b64encode(output).decode() for output in result.outputs]
            lines.write(json.dumps({**vars(result), "outputs": outputs, "id": name}) + "\n")
            lines.flush()
            if not usable:
                sys.exit(3)


def share(names: list[str], folder: Path, number: int) -> list[dict[str, object]]:
    """The lines of one share of the cases, whatever happens to the children."""
    target, rest = folder / f"{number}.jsonl", names
    target.touch()
    while rest:
        child = subprocess.Popen([sys.executable, __file__, "--work", str(target), *rest])
        ended = wait(child, target)
        done = [json.loads(line) for line in target.read_text().splitlines()]
        rest = rest[len(done) - (len(names) - len(rest)) :]
        if rest and ended not in (0, 3):
            line = {"id": rest[0], "text_hash": "", "status": "died", "message": f"exit status {ended}", "outputs": []}
            with target.open("a") as lines:
                lines.write(json.dumps(line) + "\n")
            rest = rest[1:]
    return [json.loads(line) for line in target.read_text().splitlines()]


def wait(child: subprocess.Popen[bytes], target: Path) -> int:
    """The child's exit status; a child that writes nothing for long is killed."""
    size, since = -1, time.monotonic()
    while child.poll() is None:
        if target.stat().st_size != size:
            size, since = target.stat().st_size, time.monotonic()
        elif time.monotonic() - since > SILENCE_S:
            child.kill()
        time.sleep(0.1)
    return child.returncode


def machine() -> dict[str, str]:
    """The card, its driver, and the versions."""
    query = "nvidia-smi --query-gpu=name,driver_version --format=csv,noheader"
    said = subprocess.run(query, shell=True, capture_output=True, text=True, check=False).stdout.splitlines()  # noqa: S602
    card, _, driver = (said or ["unknown, unknown"])[0].partition(", ")
    found = {"card": card, "driver": driver, "date": datetime.datetime.now(datetime.UTC).date().isoformat()}
    for package in ("cuda-tile", "nvidia-cuda-tileiras", "torch", "numpy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return {**found, "python": sys.version.split()[0]}


def main(path: str, workers: str = str(WORKERS)) -> None:
    start, cases, count = time.monotonic(), all_cases(), int(workers)
    names = list(cases)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(count) as pool:
        shares = [names[number::count] for number in range(count)]
        lines = [line for part in pool.map(share, shares, [Path(folder)] * count, range(count)) for line in part]
    results = {str(line.pop("id")): line for line in lines}
    recording = Recording(machine())
    for name in names:
        line = results[name]
        line["text_hash"] = line["text_hash"] or cases[name].text_hash()  # a child that died said none
        outputs = tuple(base64.b64decode(output) for output in line.pop("outputs"))
        recording.results[name] = Result(**line, outputs=outputs)
    save(condensed(recording, cases), Path(path))
    table(recording, cases)
    print(
        f"{len(names)} cases in {time.monotonic() - start:.0f} s; {Path(path).stat().st_size} bytes; {recording.machine}"
    )


def table(recording: Recording, cases: dict[str, Case]) -> None:
    """What did not go well, then counts by family."""
    for name, result in recording.results.items():
        if result.status in ("failed", "died") or not result.same:
            print(f"{name:50} {result.status} {'' if result.same else 'two results differ'} {result.message[:120]}")
    counts = Counter((cases[name].family, result.status) for name, result in recording.results.items())
    for (family, status), count in sorted(counts.items()):
        print(f"{family:30} {status:10} {count:5}")


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        work(sys.argv[3:], Path(sys.argv[2]))
    else:
        main(*sys.argv[1:])
