"""A stand-in for Nsight Compute: takes its options, runs the command, and says and writes what ncu would.

`STAND_IN_NCU` chooses what it plays (see `PLAYS`), `STAND_IN_KERNELS` the kernels that the command "launches", comma
separated, `STAND_IN_REPORT` the recorded report that it copies. The words are ncu's own, from public logs of the
versions 2021 to 2026; `LaunchFailed` as ncu 2025.3.1 says it of kernels launched with num_ctas=2.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

PASSES = 18
CUT = 29  # ncu prints so much of a longer kernel name, and three dots

# What ncu says instead of profiling a kernel; the command goes on or is shut down.
REFUSALS = {
    "permission": (
        "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the "
        "target device 0. For instructions on enabling permissions and to get more information see "
        "https://developer.nvidia.com/ERR_NVGPUCTRPERM"
    ),
    "unsupported": (
        "==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer --list-chips option."
    ),
}
FAILURES = {
    "busy": (
        "\n==ERROR== An error was reported by the driver\n\n==ERROR== Profiling failed because a driver resource was "
        "unavailable. Ensure that no other tool (like DCGM) is concurrently collecting profiling data. See "
        "https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#faq for more details."
    ),
    "lock": (
        "\n==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that this process has write "
        "permissions on this file. See https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#faq for more "
        "details."
    ),
    "driver": (
        "\n==ERROR== An error was reported by the counter measurement library:\n==ERROR== Failed to initialize the "
        "profiler: LibraryNotLoaded. Check that a compatible driver library is loaded."
    ),
    "unknown-error": "==ERROR== UnknownError",
}
PLAYS = (*("good", "launch-failed", "no-counter", "no-report", "hang", "deaf"), *REFUSALS, *FAILURES)


class Parser(argparse.ArgumentParser):
    """Complains of an unknown option as ncu does."""

    def error(self, message):
        option = re.search(r"(--?[\w-]+)", message)
        sys.stderr.write(f"==ERROR== unrecognised option '{option and option[1]}'. Use --help for further details.\n")
        sys.exit(1)


def arguments():
    parser = Parser(allow_abbrev=False, add_help=False)
    parser.add_argument("--clock-control", choices=("base", "none", "reset"))
    parser.add_argument("--import-source", choices=("yes", "no"))
    parser.add_argument("--target-processes", choices=("all", "application-only"))
    parser.add_argument("--set", choices=("basic", "detailed", "full", "none", "roofline"))
    parser.add_argument("--section", action="append")
    parser.add_argument("--metrics")
    parser.add_argument("--kernel-name")
    parser.add_argument("--launch-skip", type=int, default=0)
    parser.add_argument("--launch-count", type=int)
    parser.add_argument("--kill", choices=("yes", "no"))
    parser.add_argument("--nvtx", action="store_true")
    parser.add_argument("--nvtx-include", action="append")
    parser.add_argument("--export", required=True)
    parser.add_argument("--log-file", required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if given.nvtx_include and not given.nvtx:
        parser.error("--nvtx-include")
    return given


class StandIn:
    """One run."""

    def __init__(self, given):
        self.given = given
        self.play = os.environ.get("STAND_IN_NCU", "good")
        assert self.play in PLAYS, self.play
        self.log = Path(given.log_file.replace("%%", "%"))
        self.report = Path(given.export.replace("%%", "%"))
        self.interrupted = False
        if self.play in ("hang", "deaf"):
            signal.signal(signal.SIGINT, signal.SIG_IGN if self.play == "deaf" else self.interrupt)
        self.application = subprocess.Popen(given.command)

    def interrupt(self, *_):
        self.interrupted = True

    def say(self, text, end="\n"):
        with self.log.open("a") as log:
            log.write(text + end)

    def chosen(self):
        wanted = (self.given.kernel_name or "regex:").removeprefix("regex:")
        launches = [name for name in kernels() if re.search(wanted, name)][self.given.launch_skip :]
        return launches[: self.given.launch_count]

    def write(self):
        assert not self.report.exists(), "ncu does not overwrite without --force-overwrite"
        shutil.copyfile(os.environ["STAND_IN_REPORT"], self.report)
        self.say(f"==PROF== Report: {self.report}")

    def profile(self, names):
        for index, name in enumerate(names):
            self.say(f'==PROF== Profiling "{cut(name)}" - {index}: 0%....50%....100% - {PASSES} passes')

    def shut_down(self, code=9):
        self.say("==PROF== Trying to shutdown target application")
        self.application.kill()
        self.application.wait()
        self.say(f"==ERROR== The application returned an error code ({code}).")
        self.say("==ERROR== An error occurred while trying to profile.")
        return code

    def finish(self, profiled):
        code = self.application.wait()
        self.say(f"==PROF== Disconnected from process {self.application.pid}")
        if code:
            self.say(f"==ERROR== The application returned an error code ({code}).")
        if profiled:
            self.write()
        else:
            self.say("==WARNING== No kernels were profiled.")
            if self.given.kernel_name or self.given.nvtx:
                listed = "".join(f"\n{number}. {name}" for number, name in enumerate(dict.fromkeys(kernels()), 1))
                self.say("Available Kernels:" + listed)
        return code

    def run(self):
        self.say(f"==PROF== Connected to process {self.application.pid} (/usr/bin/python3.12)")
        *before, last = self.chosen() or [""]
        if self.play in REFUSALS:
            self.say(REFUSALS[self.play])
            return self.finish(0) or 1
        if self.play in FAILURES:
            return self.fail(last)
        if self.play == "no-counter":
            self.say(f"==ERROR== Failed to find metric {self.given.metrics.split(',')[0]}")
            return self.shut_down()
        if self.play == "launch-failed":
            return self.launch_failed(before, last)
        if self.play in ("hang", "deaf"):
            return self.hang(before, last)
        return self.to_the_end()

    def fail(self, name):
        self.say(FAILURES[self.play])
        self.say(f'==ERROR== Failed to profile "{cut(name)}" in process {self.application.pid}')
        code = self.shut_down()
        self.say("==WARNING== No kernels were profiled.")
        return code

    def launch_failed(self, before, last):
        self.profile(before)
        self.say(f'==PROF== Profiling "{cut(last)}" - {len(before)}: 0%....50%....100% - 1 pass')
        self.say("==ERROR== LaunchFailed\n==ERROR== LaunchFailed")
        code = self.shut_down()
        self.write()  # the failing launch is in it, with NaN for every metric
        return code

    def to_the_end(self):
        chosen = self.chosen()
        self.profile(chosen)
        if self.play == "no-report":
            return self.application.wait()
        if chosen and self.given.kill == "yes":
            self.application.kill()
        return self.finish(len(chosen))

    def hang(self, before, last):
        """Never end by itself. "hang" answers an interrupt as ncu does; "deaf" does not."""
        self.profile(before)
        self.say(f'==PROF== Profiling "{cut(last)}" - {len(before)}: 0%..', end="")
        while not self.interrupted:
            time.sleep(0.02)
        self.say("==PROF== Received signal\n==PROF== Trying to shutdown target application\n - 3 passes")
        self.say(f'==ERROR== Failed to profile "{cut(last)}" in process {self.application.pid}')
        code = self.shut_down(15)
        if before:
            self.write()
        return code


def kernels():
    return [name for name in os.environ.get("STAND_IN_KERNELS", "").split(",") if name]


def cut(name):
    return name if len(name) <= CUT + 3 else name[:CUT] + "..."


if __name__ == "__main__":
    sys.exit(StandIn(arguments()).run())
