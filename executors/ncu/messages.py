"""Reads what ncu says: which kernels it profiled, which failed under it, and what it complains of.

Every message starts with `==PROF==`, `==WARNING==` or `==ERROR==`. Seen, among others (ncu 2021 to 2026):

    ==PROF== Connected to process 367502 (/usr/bin/python3.10)
    ==PROF== Profiling "ampere_fp16_s1688gemm_fp16_12..." - 3: 0%....50%....100% - 8 passes
    ==ERROR== LaunchFailed
    ==ERROR== Failed to profile "scale_f32" in process 1322774
    ==PROF== Trying to shutdown target application
    ==ERROR== The application returned an error code (9).
    ==ERROR== An error occurred while trying to profile.
    ==WARNING== No kernels were profiled.
    Available Kernels:
    1. wmma_cxx_kernel
"""

import re
from dataclasses import dataclass
from itertools import takewhile

_MESSAGE = re.compile(r"==(PROF|WARNING|ERROR|LOG)== ?")
_PROFILING = re.compile(r'Profiling "(?P<name>.*?)"(?=:| -)')
_PASSES = re.compile(r"100%.*?- (?P<passes>\d+) pass", re.DOTALL)
_FAILED = re.compile(r'Failed to profile "(?P<name>.*?)"(?= in process|$)', re.MULTILINE)
# A bare status word of the profiler: LaunchFailed, UnknownError, ContextSaveFailed.
_STATUS = re.compile(r"(?:[A-Z][a-z]+){2,}\.?$")
_EXIT = re.compile(r"application returned an error code \((?P<code>-?\d+)\)")
_AVAILABLE = re.compile(r"\s*\d+\. (?P<name>.+?)\s*$")
# What ncu says after every failure and what says nothing about its reason.
_AFTERMATH = ("The application returned", "An error occurred while trying", "For more information", "Failed to profile")


@dataclass(frozen=True)
class Heard:
    """What ncu said. Names are as ncu prints them: it cuts long ones and ends them with three dots.

    `profiled` has one name a launch, `failed` one a failing launch, `unfinished` the launch under way at the end.
    `available` are the kernels ncu saw when none was profiled, `passes` the most passes of one launch. `errors` are the
    first lines of its errors, without those that follow every failure. `text` is all it said.
    """

    profiled: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    unfinished: str | None = None
    available: tuple[str, ...] = ()
    passes: int | None = None
    application_exit: int = 0
    connected: bool = False
    launch_failed: bool = False
    errors: tuple[str, ...] = ()
    text: str = ""


@dataclass
class _Launch:
    """A launch as the messages tell it; `passes` is None until ncu says that it has them all."""

    name: str
    passes: int | None = None
    failed: bool = False


def read_messages(output: str) -> Heard:
    """Read ncu's messages out of its log, or out of a log mixed with what the application prints."""
    messages = _split(output)
    launches = _launches(messages)
    done = [launch for launch in launches if launch.passes is not None and not launch.failed]
    everything = "".join(f"=={level}== {text}\n" for level, text in messages)
    ended = _EXIT.search(everything)
    under_way = launches and launches[-1].passes is None and not launches[-1].failed
    return Heard(
        profiled=tuple(launch.name for launch in done),
        failed=tuple(launch.name for launch in launches if launch.failed),
        unfinished=launches[-1].name if under_way else None,
        available=_available(everything),
        passes=max((launch.passes for launch in done if launch.passes is not None), default=None),
        application_exit=int(ended["code"]) if ended else 0,
        connected="Connected to process" in everything,
        launch_failed="LaunchFailed" in everything,
        errors=tuple(dict.fromkeys(_errors(messages))),
        text=everything,
    )


def _launches(messages: list[tuple[str, str]]) -> list[_Launch]:
    launches: list[_Launch] = []
    for level, text in messages:
        last = launches[-1] if launches else None
        if level == "PROF" and text.startswith("Received signal"):
            break  # a launch that is stopped does not fail by itself
        if level == "PROF" and (begun := _PROFILING.search(text)):
            passes = _PASSES.search(text)
            launches.append(_Launch(begun["name"], int(passes["passes"]) if passes else None))
        elif level == "ERROR" and (named := _FAILED.search(text)):
            if last is None or last.name != named["name"] or (last.passes is not None and not last.failed):
                launches.append(_Launch(named["name"], failed=True))  # it failed before its first pass
            else:
                last.failed = True
        elif level == "ERROR" and last is not None and _STATUS.match(text.split("\n", 1)[0].strip()):
            last.failed = True
    return launches


def _split(output: str) -> list[tuple[str, str]]:
    parts = _MESSAGE.split(output)
    return [(level, text.strip()) for level, text in zip(parts[1::2], parts[2::2], strict=True)]


def _available(text: str) -> tuple[str, ...]:
    _, _, listed = text.partition("Available Kernels:\n")
    matches = takewhile(bool, map(_AVAILABLE.match, listed.splitlines()))
    return tuple(match["name"] for match in matches if match)


def _errors(messages: list[tuple[str, str]]) -> list[str]:
    return [
        line
        for level, text in messages
        if level == "ERROR" and (line := text.split("\n", 1)[0].strip()) and not line.startswith(_AFTERMATH)
    ]
