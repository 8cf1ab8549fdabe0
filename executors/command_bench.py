"""The bench of a project that brings its own test and benchmark commands, e.g. a TileGym checkout.

Both commands run in the worktree, with the target file holding the source to measure. That they run that file and not
an installed copy of it is proved first: with a target that is no Python both must fail. Figures are those that the
benchmark prints (`command_output`) or records (`pytest_report`).
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kdiag import isolate
from kdiag.executors.bench import Baseline, ConfigurationBaseline, Counters, Trial
from kdiag.executors.command_output import Measured, printed
from kdiag.executors.paired_statistics import FEWEST, timing
from kdiag.executors.pytest_report import PytestReport, asking_for, read
from kdiag.isolate import Died
from kdiag.package_copy import member_of
from kdiag.records import ConfigurationCheck, ConfigurationTiming, Gpu
from kdiag.workload import CommandWorkload

# A round is three runs of the benchmark, so that a candidate costs one run of the tests and 18 of the benchmark, and
# as many again where a gain has to be confirmed. Fewer rounds would prove no gain, but two show what is hopeless: slower
# than every run of the parent by more than benchmarks differ from themselves, somewhere.
ROUNDS = FEWEST
LOOK, HOPELESS = 2, 1.05
NO_PYTHON = b"kdiag wrote this line: a command that runs this file has to fail now\n"


@dataclass(frozen=True)
class _Ended:
    """A command that ended by itself: its exit code (negative: the signal), its output, and its pytest's report."""

    code: int
    output: str
    report: PytestReport | None


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
        """Run the tests, prove that both commands run the target, then run the benchmark once."""
        text = source.read_bytes()
        check = self._test(text)
        if isinstance(check, Died) or not check.passed:
            return check if isinstance(check, Died) else Baseline((check,), ())
        if (elsewhere := self._runs_another_file(text)) is not None:
            return elsewhere
        times = self._bench(text)
        if isinstance(times, Died):
            return times
        rows = (ConfigurationBaseline(name, row.ms, 0.0, gbs=row.gbs, tflops=row.tflops) for name, row in times.items())
        return Baseline((check,), tuple(rows))

    def counters(self, source: Path, kernel: str) -> Counters | Died:
        """None: which launch of a test suite is the one to profile is not known; give a report instead."""
        return Died("error", "commands do not say which launch to profile; record a report and pass it with --report")

    def trial(self, parent: Path, candidate: Path) -> Trial | Died:
        """Run the tests; if they pass, benchmark parent and candidate in turn, the parent twice a round."""
        check = self._test(candidate.read_bytes())
        if isinstance(check, Died) or not check.passed:
            return check if isinstance(check, Died) else Trial((check,), ())
        rounds: list[tuple[dict[str, Measured], ...]] = []
        for number in range(ROUNDS):
            order = (parent, candidate, parent) if number % 2 else (parent, parent, candidate)
            answers = [self._bench(source.read_bytes()) for source in order]
            for answer in answers:
                if isinstance(answer, Died):
                    return answer
            first, second, third = (answer for answer in answers if not isinstance(answer, Died))
            rounds.append((first, third, second) if number % 2 else (first, second, third))
            if len(rounds) == LOOK and _hopeless(rounds):
                break
        if len({frozenset(times) for answers in rounds for times in answers}) > 1:
            reason = "the benchmark did not print a latency for the same configurations every time"
            return Trial((check, ConfigurationCheck("benchmark", False, None, None, reason)), ())
        return Trial((check,), tuple(_timings(rounds)))

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

    def _bench(self, source: bytes) -> dict[str, Measured] | Died:
        answer = self._run(source, self.workload.bench)
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

    def _run(self, source: bytes, command: tuple[str, ...]) -> _Ended | Died:
        self.target.write_bytes(source)
        timeout_s = isolate.time_left(self.timeout_s)
        with tempfile.TemporaryDirectory(prefix="kdiag-pytest-") as folder:
            report = Path(folder) / "report.xml"
            with subprocess.Popen(
                command,
                cwd=self.root,
                env=self._environment(report),
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
                    os.killpg(process.pid, signal.SIGKILL)
                    if not isinstance(error, subprocess.TimeoutExpired):
                        raise
                    return Died("timeout", f"{' '.join(command)[:80]} did not end within {self._told(timeout_s)}")
            return _Ended(process.returncode, output, read(report))

    def _told(self, timeout_s: float) -> str:
        if timeout_s == self.timeout_s:
            return f"{timeout_s:g} s"
        runs = 3 * ROUNDS
        return f"the {timeout_s:.0f} s left of this iteration, which runs the benchmark {runs} times: make it shorter"

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


def _timings(rounds: list[tuple[dict[str, Measured], ...]]) -> Iterator[ConfigurationTiming]:
    for name in rounds[0][0]:
        yield timing(name, *([answers[arm][name].ms for answers in rounds] for arm in range(3)))


def _hopeless(rounds: list[tuple[dict[str, Measured], ...]]) -> bool:
    """Whether the candidate is plainly slower in some configuration, however often it would be measured."""
    names = set.intersection(*(set(times) for answers in rounds for times in answers))
    return any(
        min(answers[2][name].ms for answers in rounds)
        > HOPELESS * max(answers[arm][name].ms for answers in rounds for arm in range(2))
        for name in names
    )


def _killed(command: str, answer: _Ended) -> Died:
    name = signal.Signals(-answer.code).name
    return Died("crash", f"the {command} command was killed by {name}", answer.output[-8192:])


def _why_none(report: PytestReport) -> str:
    return f"all were skipped: {'; '.join(report.skipped)[:200]}" if report.skipped else "none was selected"


def _last_line(output: str) -> str:
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "no output")
