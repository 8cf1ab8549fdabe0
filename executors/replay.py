"""A recorded run in place of the GPU: record every answer of a bench, answer from the record later.

A record is JSON lines, one answer each, keyed by the sources it is about. Asking for something that was not
recorded is an error, never a guess.
"""

import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from kdiag.codec import decode, encode
from kdiag.errors import KdiagError, UsageError
from kdiag.isolate import Died
from kdiag.records import Gpu, Scalar
from kdiag.workload import source_hash

from .bench import Baseline, Bench, Counters, Heat, Races, Samples, Source, Trial


@dataclass(frozen=True)
class Asked:
    """What the recorded run was asked for: its policy, and its target by the names of the command line."""

    policy: str
    target: Mapping[str, Scalar]


Answer = Asked | Gpu | Baseline | Counters | Heat | Trial | Died
Given = TypeVar("Given", bound=Answer | None)
Measured = TypeVar("Measured", Baseline, Counters, Heat, Trial)
KINDS: tuple[type[Answer], ...] = (Asked, Gpu, Baseline, Counters, Heat, Trial, Died)
NO_RACES = Died("error", "candidates are timed one at a time here")
ANSWERS = {kind.__name__: kind for kind in (*KINDS, type(None))}


@dataclass(frozen=True)
class RecordingBench:
    """Passes every request to `bench` and appends the answer to `path`."""

    bench: Bench
    path: Path
    asked: Asked

    def __post_init__(self) -> None:
        self._append("asked", self.asked)
        self._append("gpu", self.bench.gpu())

    def gpu(self) -> Gpu | None:
        return self.bench.gpu()

    def baseline(self, source: Path) -> Baseline | Died:
        return self._append(_key("baseline", source), self.bench.baseline(source))

    def trial(self, parent: Path, candidate: Path) -> Trial | Died:
        return self._append(_key("trial", parent, candidate), self.bench.trial(parent, candidate))

    def counters(self, source: Path, kernel: str) -> Counters | Died:
        return self._append(_key("counters", source), self.bench.counters(source, kernel))

    def samples(self, source: Path, kernel: str) -> Counters | Died:
        answer: Counters | Died = Died("error", "no counters are sampled here")
        if isinstance(self.bench, Samples):
            answer = self.bench.samples(source, kernel)
        return self._append(_key("samples", source), answer)

    def checks(self, parent: Path, candidates: Sequence[Path]) -> tuple[Trial | Died, ...]:
        answers: tuple[Trial | Died, ...] = (NO_RACES,) * len(candidates)
        if isinstance(self.bench, Races):
            answers = self.bench.checks(parent, candidates)
        keys = [_key("check", parent, candidate) for candidate in candidates]
        return tuple(self._append(key, answer) for key, answer in zip(keys, answers, strict=True))

    def race(self, parent: Path, candidates: Sequence[Path], slower_pct: float) -> Heat | Died:
        answer = self.bench.race(parent, candidates, slower_pct) if isinstance(self.bench, Races) else NO_RACES
        return self._append(_key("race", parent, *candidates), answer)

    def _append(self, key: str, answer: Given) -> Given:
        kind = type(answer).__name__
        with self.path.open("a") as file:
            file.write(json.dumps({"key": key, "type": kind, "answer": encode(answer)}) + "\n")
        return answer


@dataclass
class ReplayBench:
    """Answers about exactly the sources that a record, or one that xz has compressed (`.xz`), is about.

    A key that was recorded several times is answered in the recorded order.
    """

    path: Path
    _answers: dict[str, list[Answer | None]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        try:
            data = self.path.read_bytes()
            lines = (lzma.decompress(data) if self.path.suffix == ".xz" else data).decode().splitlines()
        except (OSError, UnicodeDecodeError, lzma.LZMAError) as error:
            raise UsageError(f"{self.path} is not a recording that can be read: {error}.") from None
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                kind = ANSWERS[row["type"]]
                self._answers.setdefault(row["key"], []).append(decode(kind, row["answer"]))
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise UsageError(f"Line {number} of {self.path} is not a recorded answer: {error}.") from None

    @property
    def asked(self) -> Asked | None:
        """What the recorded run was asked for; None in a recording of an older version."""
        answer = next(iter(self._answers.get("asked", ())), None)
        return answer if isinstance(answer, Asked) else None

    def begins_with(self, source: str) -> bool:
        return f"baseline {source_hash(source)}" in self._answers

    def gpu(self) -> Gpu | None:
        answer = self._next("gpu", "the GPU")
        return answer if isinstance(answer, Gpu) else None

    def baseline(self, source: Path) -> Baseline | Died:
        return self._ask(Baseline, _key("baseline", source), f"a baseline of {source.name}")

    def trial(self, parent: Path, candidate: Path) -> Trial | Died:
        return self._ask(Trial, _key("trial", parent, candidate), f"a trial of {candidate.name}")

    def counters(self, source: Path, kernel: str) -> Counters | Died:
        return self._counted("counters", source)

    def samples(self, source: Path, kernel: str) -> Counters | Died:
        """The recorded samples of exactly this source; Died where the recorded run took none at all."""
        return self._never("samples") or self._counted("samples", source)

    def checks(self, parent: Path, candidates: Sequence[Path]) -> tuple[Trial | Died, ...]:
        """The recorded checks of exactly these pairs; Died where the recorded run prepared no race at all."""
        if (never := self._never("check")) is not None:
            return (never,) * len(candidates)
        return tuple(self._ask(Trial, _key("check", parent, each), f"a check of {each.name}") for each in candidates)

    def race(self, parent: Path, candidates: Sequence[Path], slower_pct: float) -> Heat | Died:
        """The recorded race of exactly these sources; Died where the recorded run held no race at all."""
        return self._never("race") or self._ask(
            Heat, _key("race", parent, *candidates), f"a race of {len(candidates)} candidates"
        )

    def _counted(self, kind: str, source: Path) -> Counters | Died:
        return self._ask(Counters, _key(kind, source), f"{kind} of {source.name}")

    def _ask(self, kind: type[Measured], key: str, what: str) -> Measured | Died:
        answer = self._next(key, what)
        if not isinstance(answer, (kind, Died)):
            raise KdiagError(f"{self.path} answers {what} with something else; record the run again.")
        return answer

    def _never(self, kind: str) -> Died | None:
        """Why a kind of question has no answer that the recorded run, of an older version or bench, never asked."""
        asked = any(key.startswith(f"{kind} ") for key in self._answers)
        return None if asked else Died("error", f"the recording holds no {kind}")

    def _next(self, key: str, what: str) -> Answer | None:
        answers = self._answers.get(key)
        if not answers:
            raise KdiagError(
                f"{self.path} holds no record of {what}: this run asks what the recorded one did not. Leave out policy and target, or "
                "record the run again on a GPU machine."
            )
        return answers.pop(0) if len(answers) > 1 else answers[0]


def _key(kind: str, *sources: Path) -> str:
    return " ".join([kind, *(Source.of(source).hash for source in sources)])
