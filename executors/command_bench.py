"""The bench of a project that brings its own test and benchmark commands, e.g. a TileGym checkout.

Both commands run in the worktree, with the target file holding the source to measure. That they run that file and not
an installed copy of it is proved first: with a target that is no Python both must fail. Figures are those that the
benchmark prints (`command_output`) or records (`pytest_report`).

No time is refused as impossible (`least_ms`): it may be of several launches, and which part of their arrays these cannot
do without nobody says.
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kdiag import isolate
from kdiag.isolate import Died
from kdiag.package_copy import member_of
from kdiag.records import ConfigurationCheck, ConfigurationTiming, Gpu, Observations
from kdiag.workload import Call, CommandWorkload

from .bench import Baseline, ConfigurationBaseline, Counters, Trial, counters_in
from .command_output import Measured, printed
from .decide import gain_pct
from .device_bench import copy_bandwidth
from .ncu.collect import Command, NoCounters, collect_from
from .ncu.process import signal_group
from .paired_statistics import FEWEST, timing_between
from .pytest_report import PytestReport, asking_for, heard, listening, read

# The parent is run before and after every run of the candidate: 13 runs of the benchmark, and one of the tests. Six rounds
# are the fewest that prove a small gain. What is large shows sooner: from the second round on whether the candidate is
# hopeless somewhere, from the third whether it gains much and loses nowhere, by any two runs that are compared.
RUNS = 2 * FEWEST + 1
HOPELESS_FROM, SETTLED_FROM = 2, 3
MUCH, LITTLE = 1.05, 1.02
NO_PYTHON = b"kdiag wrote this line: a command that runs this file has to fail now\n"


@dataclass(frozen=True)
class _Ended:
    """A command that ended by itself: its exit code (negative: the signal), its output, and its pytest's report."""

    code: int
    output: str
    report: PytestReport | None


@dataclass(frozen=True)
class CommandBench:
    """Measures by running commands. `target` is the kernel file inside the worktree `root`.

    `metrics` and `read_report` as in `DeviceBench`.
    """

    workload: CommandWorkload
    root: Path
    target: Path
    card: Gpu | None
    metrics: tuple[str, ...]
    read_report: Callable[[Path, str], Observations]
    timeout_s: float = 600.0

    def gpu(self) -> Gpu | None:
        """The card that torch names; the commands are trusted to use it."""
        return self.card

    def baseline(self, source: Path) -> Baseline | Died:
        """Run the tests, prove that both commands run the target, run the benchmark once, and copy."""
        text = source.read_bytes()
        check = self._test(text)
        if isinstance(check, Died) or not check.passed:
            return check if isinstance(check, Died) else Baseline((check,), ())
        if (elsewhere := self._runs_another_file(text)) is not None:
            return elsewhere
        times, calls = self._heard(text)
        if isinstance(times, Died):
            return times
        rows = (ConfigurationBaseline(name, row.ms, 0.0, gbs=row.gbs, tflops=row.tflops) for name, row in times.items())
        copy = copy_bandwidth() if self.card is not None else Died("error", "torch finds no GPU")
        gbs, unknown = (None, copy.message) if isinstance(copy, Died) else (copy, "")
        return Baseline((check,), tuple(rows), gbs, calls=calls, copy_unknown=unknown)

    def _heard(self, source: bytes) -> tuple[dict[str, Measured] | Died, tuple[Call, ...]]:
        """The benchmark, listened to; once more without, if that is what it does not bear."""
        with tempfile.TemporaryDirectory(prefix="kdiag-calls-") as folder:
            calls = Path(folder) / "calls.jsonl"
            times = self._bench(source, calls)
            return (self._bench(source), ()) if isinstance(times, Died) else (times, heard(calls))

    def counters(self, source: Path, kernel: str) -> Counters | Died:
        """Profile the second launch of `kernel` by the benchmark command with Nsight Compute; the rest of it is not run."""
        self.target.write_bytes(source.read_bytes())
        with tempfile.TemporaryDirectory(prefix="kdiag-ncu-") as folder:
            place = Path(folder)
            env = self._environment(place / "report.xml")
            command = Command(self.workload.bench, self.root, env)
            answer = collect_from(command, kernel, self.metrics, place / "counters.ncu-rep")
            if isinstance(answer, NoCounters):
                return Died("error", f"{answer.reason.rstrip('.')}; a report of your own counts with --report")
            return counters_in(answer, kernel, self.read_report)

    def trial(self, parent: Path, candidate: Path) -> Trial | Died:
        """Run the tests; if they pass, benchmark parent and candidate in turn until it is plain what to think of it."""
        check = self._test(candidate.read_bytes())
        if isinstance(check, Died) or not check.passed:
            return check if isinstance(check, Died) else Trial((check,), ())
        runs: list[dict[str, Measured]] = []
        timings: tuple[ConfigurationTiming, ...] = ()
        for number in range(RUNS):
            answer = self._bench((candidate if number % 2 else parent).read_bytes())
            if isinstance(answer, Died):
                return answer
            runs.append(answer)
            if answer.keys() != runs[0].keys():
                reason = "the benchmark did not print a latency for the same configurations every time"
                return Trial((check, ConfigurationCheck("benchmark", False, None, None, reason)), ())
            if number and number % 2 == 0:
                timings = timings_of(runs)
                if plain(timings):
                    break
        return Trial((check,), timings)

    def _runs_another_file(self, source: bytes) -> Died | None:
        """What is wrong if a command succeeds though the target is no Python; the target is `source` again after."""
        try:
            test, bench = self._test(NO_PYTHON), self._bench(NO_PYTHON)
        finally:
            self.target.write_bytes(source)
        answers = {"test": isinstance(test, ConfigurationCheck) and test.passed, "benchmark": isinstance(bench, dict)}
        wrong = " and ".join(name for name, succeeded in answers.items() if succeeded)
        advice = "make it import the package from there (PYTHONPATH, or `pip install -e` undone)"
        return (
            Died("error", f"the {wrong} command runs another copy of {self.target}, not this one; {advice}")
            if wrong
            else None
        )

    def _test(self, source: bytes) -> ConfigurationCheck | Died:
        answer = self._run(source, self.workload.test)
        if isinstance(answer, Died):
            return answer
        if answer.code < 0:
            return _killed("test", answer)
        reason = ""
        if answer.code != 0:
            reason = f"the test command ended with exit code {answer.code}: {_last_line(answer.output)}"
        elif answer.report is not None and not answer.report.passed:
            reason = f"no test passed: {_why_none(answer.report)}"
        return ConfigurationCheck("test command", not reason, None, None, reason)

    def _bench(self, source: bytes, calls: Path | None = None) -> dict[str, Measured] | Died:
        answer = self._run(source, self.workload.bench, calls)
        if isinstance(answer, Died):
            return answer
        if answer.code < 0:
            return _killed("benchmark", answer)
        detail = answer.output[-8192:]
        if answer.code != 0:
            reason = f"ended with exit code {answer.code}: {_last_line(answer.output)}"
            return Died("error", f"the benchmark command {reason}", detail)
        times = printed(answer.output) or dict(answer.report.recorded if answer.report else {})
        if times:
            return times
        why = f" ({_why_none(answer.report)})" if answer.report and not answer.report.passed else ""
        return Died("error", f"the benchmark command printed no latency that kdiag can read{why}", detail)

    def _run(self, source: bytes, command: tuple[str, ...], calls: Path | None = None) -> _Ended | Died:
        """Run a command on a source; with `calls` what its pytest calls of the target is written there."""
        self.target.write_bytes(source)
        timeout_s = isolate.time_left(self.timeout_s)
        with tempfile.TemporaryDirectory(prefix="kdiag-pytest-") as folder:
            report = Path(folder) / "report.xml"
            env = self._environment(report)
            with subprocess.Popen(
                command,
                cwd=self.root,
                env=env if calls is None else listening(env, self.target, calls),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            ) as process:
                try:
                    output, _ = process.communicate(timeout=timeout_s)
                except BaseException as error:  # an interrupt too: the command has a session of its own
                    signal_group(process, signal.SIGKILL)
                    if not isinstance(error, subprocess.TimeoutExpired):
                        raise
                    return Died("timeout", f"{' '.join(command)[:80]} did not end within {self._told(timeout_s)}")
            return _Ended(process.returncode, output, read(report))

    def _told(self, timeout_s: float) -> str:
        if timeout_s == self.timeout_s:
            return f"{timeout_s:g} s"
        return f"the {timeout_s:.0f} s left of this iteration, which runs the benchmark up to {RUNS} times: make it shorter"

    def _environment(self, report: Path) -> dict[str, str]:
        """The user's, but the target's package is found in the worktree first and pytest writes a report."""
        folder, name = member_of(self.target)
        paths = [str(folder)] if "." in name else []
        return {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])]),
            "PYTEST_ADDOPTS": asking_for(report, os.environ.get("PYTEST_ADDOPTS", "")),
        }


def timings_of(runs: Sequence[Mapping[str, Measured]]) -> tuple[ConfigurationTiming, ...]:
    """The configurations of at least three runs, of parent and candidate in turn, the parent first and last."""
    times = {name: [run[name].ms for run in runs] for name in runs[0]}
    return tuple(timing_between(name, of[::2], of[1::2]) for name, of in times.items())


def plain(timings: Sequence[ConfigurationTiming]) -> bool:
    """Whether more rounds would change no verdict: plainly slower somewhere, or much faster and nowhere slower."""
    rounds = timings[0].samples
    if rounds >= HOPELESS_FROM and any(timing.high < 1 / max(MUCH, 1 + timing.noise_floor) for timing in timings):
        return True
    much = gain_pct(timings) >= (MUCH - 1) * 100
    nowhere_slower = all(_faster(timing) or timing.low > 1 / LITTLE for timing in timings)
    return rounds >= SETTLED_FROM and much and nowhere_slower and any(map(_faster, timings))


def _faster(timing: ConfigurationTiming) -> bool:
    """Any run of the candidate is faster than any of the parent, by twice what its runs differ."""
    return timing.low > 1 + 2 * timing.noise_floor


def _killed(command: str, answer: _Ended) -> Died:
    name = isolate.signal_name(-answer.code)
    return Died("crash", f"the {command} command was killed by {name}", answer.output[-8192:])


def _why_none(report: PytestReport) -> str:
    return f"all were skipped: {'; '.join(report.skipped)[:200]}" if report.skipped else "none was selected"


def _last_line(output: str) -> str:
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "no output")
