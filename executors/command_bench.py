"""The bench of a project that brings its own test and benchmark commands, e.g. a TileGym checkout.

Both commands run in the worktree, with the target file holding the source to measure. Latency is read from
TileGym's record lines (`Name: {'forward': {'median': 3.79, ...}} ms`) or from JSON lines with `latency_ms`.
"""

from __future__ import annotations

import ast
import json
import math
import os
import re
import signal
import statistics
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kdiag.executors.bench import Baseline, ConfigurationBaseline, Counters, Trial
from kdiag.executors.paired_statistics import noise_floor, paired_ratio
from kdiag.isolate import Died
from kdiag.records import ConfigurationCheck, ConfigurationTiming, Gpu
from kdiag.workload import CommandWorkload

RECORD = re.compile(r"^(?P<name>[\w .+-]+): (?P<record>\{.*\}) ms\s*$")
TEST_ID = re.compile(r"^(?P<id>\S+::\S+)")
ROUNDS = 4


@dataclass(frozen=True)
class CommandBench:
    """Measures by running commands. `target` is the kernel file inside the worktree `root`."""

    workload: CommandWorkload
    root: Path
    target: Path
    card: Gpu | None
    timeout_s: float = 600.0

    def gpu(self) -> Gpu | None:
        """The card that torch names; the commands are trusted to use it."""
        return self.card

    def baseline(self, source: Path) -> Baseline | Died:
        """Run the tests, then the benchmark once."""
        check = self._test(source)
        if isinstance(check, Died) or not check.passed:
            return check if isinstance(check, Died) else Baseline((check,), ())
        times = self._bench(source)
        if isinstance(times, Died):
            return times
        return Baseline((check,), tuple(ConfigurationBaseline(name, ms, 0.0) for name, ms in times.items()))

    def counters(self, source: Path, kernel: str) -> Counters | Died:
        """None: which launch of a test suite is the one to profile is not known; give a report instead."""
        return Died(
            "error", "commands do not say which launch to profile; record a report and pass it with --report"
        )

    def trial(self, parent: Path, candidate: Path) -> Trial | Died:
        """Run the tests; if they pass, benchmark parent and candidate in turn, the parent twice a round."""
        check = self._test(candidate)
        if isinstance(check, Died) or not check.passed:
            return check if isinstance(check, Died) else Trial((check,), ())
        rounds: list[tuple[dict[str, float], ...]] = []
        for number in range(ROUNDS):
            order = (parent, candidate, parent) if number % 2 else (parent, parent, candidate)
            answers = [self._bench(source) for source in order]
            for answer in answers:
                if isinstance(answer, Died):
                    return answer
            first, second, third = (answer for answer in answers if not isinstance(answer, Died))
            rounds.append((first, third, second) if number % 2 else (first, second, third))
        if len({frozenset(times) for answers in rounds for times in answers}) > 1:
            reason = "the benchmark did not print a latency for the same configurations every time"
            return Trial((check, ConfigurationCheck("benchmark", False, None, None, reason)), ())
        return Trial((check,), tuple(_timings(rounds)))

    def _test(self, source: Path) -> ConfigurationCheck | Died:
        answer = self._run(source, self.workload.test)
        if isinstance(answer, Died):
            return answer
        code, output = answer
        if code < 0:
            return Died(
                "crash", f"the test command was killed by {signal.Signals(-code).name}", output[-8192:]
            )
        reason = "" if code == 0 else f"the test command ended with exit code {code}: {_last_line(output)}"
        return ConfigurationCheck("test command", code == 0, None, None, reason)

    def _bench(self, source: Path) -> dict[str, float] | Died:
        answer = self._run(source, self.workload.bench)
        if isinstance(answer, Died):
            return answer
        code, output = answer
        if code != 0:
            return Died(
                "error",
                f"the benchmark command ended with exit code {code}: {_last_line(output)}",
                output[-8192:],
            )
        times = latencies(output)
        return times or Died(
            "error", "the benchmark command printed no latency that kdiag can read", output[-8192:]
        )

    def _run(self, source: Path, command: tuple[str, ...]) -> tuple[int, str] | Died:
        self.target.write_bytes(source.read_bytes())
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        with subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=self.timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return Died("timeout", f"{' '.join(command)[:80]} did not end within {self.timeout_s:g} s")
        return process.returncode, output


def latencies(output: str) -> dict[str, float]:
    """Milliseconds by configuration, from TileGym's records or JSON lines; empty if there are none."""
    found: dict[str, float] = {}
    test = ""
    for line in output.splitlines():
        if match := TEST_ID.match(line):
            test = match["id"].rpartition("::")[2]
        for name, ms in _line_latencies(line):
            label = " ".join(filter(None, [test, name]))
            found[label if label not in found else f"{label} #{len(found)}"] = ms
    return found


def _line_latencies(line: str) -> Iterator[tuple[str, float]]:
    if match := RECORD.match(line.strip()):
        try:
            record = ast.literal_eval(match["record"])
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return
        if not isinstance(record, dict):
            return
        for direction, figures in record.items():
            if (ms := _positive(figures, ("median", "mean"))) is not None:
                yield f"{match['name']} {direction}", ms
    elif line.lstrip().startswith("{"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return
        if (ms := _positive(record, ("latency_ms",))) is not None:
            yield str(record.get("configuration", "benchmark")), ms


def _positive(figures: Any, names: tuple[str, ...]) -> float | None:
    if not isinstance(figures, Mapping):
        return None
    values = [figures.get(name) for name in names]
    return next(
        (float(v) for v in values if isinstance(v, int | float) and 0 < v < math.inf and v < 1e12), None
    )


def _timings(rounds: list[tuple[dict[str, float], ...]]) -> Iterator[ConfigurationTiming]:
    for name in rounds[0][0]:
        parent, twin, candidate = ([answers[arm][name] for answers in rounds] for arm in range(3))
        ratio = paired_ratio(parent, candidate)
        yield ConfigurationTiming(
            configuration=name,
            parent_ms=statistics.median(parent),
            candidate_ms=statistics.median(candidate),
            speedup=ratio.median,
            low=ratio.low,
            high=ratio.high,
            noise_floor=noise_floor(parent, twin),
            samples=len(candidate),
        )


def _last_line(output: str) -> str:
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "no output")
