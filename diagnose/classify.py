"""Names the bottleneck and its causes from whatever was observed: profiler metrics, compiler, source, timings.

Scoring: a pattern scores the weighted mean of the grades of its evaluated `shows` tests, times its ceiling, times
the smallest grade among its `excludes` tests, and a cause scores what its best pattern scores. A pattern is not
evaluated when a required metric is unavailable (any other test is then left out, never taken as failed), and a cause
that is only the consequence of another keeps the part that the other leaves: its score times one minus the other's.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kdiag.records import Cause, Diagnosis, Evidence, Observations, number
from kdiag.rules.load_causes import CauseRule, Pattern, Test, load_causes

from .metrics import inputs_missing, with_derived

# Below this a cause is not named. A pattern of half a ceiling (compiler or source alone) has to be nearly complete
# to pass, and one of full ceiling has to be more than a third of the way between its thresholds.
DECISIVE = 0.35

# A unit is busy from 60 % of its peak on: the line of the speed-of-light rule of Nsight Compute (Profiling Guide).
BUSY_PCT = 60.0

UNKNOWN = "unknown"
SHARES = ("timing.pct_of_copy_bandwidth", "timing.pct_of_tensor_peak")  # of the limit that binds, by timing alone


@dataclass(frozen=True)
class _Score:
    """A pattern's or cause's score with its evidence; `missing` names what could not be evaluated (score 0)."""

    value: float
    evidence: tuple[Evidence, ...] = ()
    missing: tuple[str, ...] = ()


def classify(observations: Observations) -> Diagnosis:
    """Return the diagnosis for any subset of observations; with nothing decisive it is "unknown".

    Confidence is the score of the first cause, 0..1. `not_evaluated` holds one line for each cause that could not be
    judged, with the metrics it would need.
    """
    known = with_derived(observations)
    rules = load_causes()
    scores = {name: _score_cause(rule, known) for name, rule in rules.items() if rule.patterns}
    ranked = sorted(_outranked(scores, rules), key=lambda cause: (-cause.score, cause.id))
    decisive = tuple(cause for cause in ranked if cause.score >= DECISIVE)
    causes = tuple(cause for cause in decisive if not rules[cause.id].fallback) or decisive
    not_evaluated = tuple(
        f"{name}: needs {', '.join(score.missing)}" for name, score in scores.items() if score.missing
    )
    if not causes:
        return Diagnosis(UNKNOWN, 0.0, (Cause(UNKNOWN, 0.0, UNKNOWN, _figures(known)),), not_evaluated)
    named = {cause.id for cause in causes}
    consequences = tuple(
        name
        for name, score in scores.items()
        if score.value >= DECISIVE and name not in named and not rules[name].fallback
    )
    bottleneck = _bottleneck(rules[causes[0].id], known)
    return Diagnosis(bottleneck, causes[0].score, causes, not_evaluated, consequences)


def _outranked(scores: Mapping[str, _Score], rules: Mapping[str, CauseRule]) -> list[Cause]:
    """Take from each cause the part that the causes behind it explain."""
    causes = []
    for name, score in scores.items():
        behind = max((each.value for other, each in scores.items() if name in rules[other].outranks), default=0.0)
        value = round(score.value * (1 - behind), 3)
        causes.append(Cause(name, value, rules[name].bottleneck, score.evidence))
    return causes


def _score_cause(rule: CauseRule, known: Observations) -> _Score:
    applicable = [pattern for pattern in rule.patterns if not any(_has(known, name) for name in pattern.only_without)]
    scores = [_score_pattern(pattern, known) for pattern in applicable]
    evaluated = [score for score in scores if not score.missing]
    if evaluated:
        return max(evaluated, key=lambda score: score.value)
    # The first pattern is the best one, so what it lacks is what to collect.
    return scores[0] if scores else _Score(0.0)


def _score_pattern(pattern: Pattern, known: Observations) -> _Score:
    lacking = [test.metric for test in pattern.tests if test.required and not _has(known, test.metric)]
    missing = tuple(dict.fromkeys(name for metric in lacking for name in inputs_missing(metric, known)))
    if missing:
        return _Score(0.0, missing=missing)
    graded = [(test, test.grade(value)) for test in pattern.tests if (value := number(known, test.metric)) is not None]
    shows = [(test.weight, grade) for test, grade in graded if test.role == "shows"]
    if any(test.required and grade == 0 for test, grade in graded):
        return _Score(0.0)
    left = min((grade for test, grade in graded if test.role == "excludes"), default=1.0)
    mean = sum(weight * grade for weight, grade in shows) / sum(weight for weight, _ in shows)
    evidence = tuple(_evidence(test, known[test.metric]) for test, grade in graded if test.text and grade > 0)
    return _Score(pattern.ceiling * mean * left, evidence)


def _has(known: Observations, name: str) -> bool:
    return number(known, name) is not None


def _evidence(test: Test, observed: Evidence) -> Evidence:
    """Return the observation with its sentence; `value` stays what was observed."""
    text = test.text.format(value=observed.value)
    return Evidence(observed.kind, observed.name, observed.value, observed.unit, observed.where, text)


def _bottleneck(rule: CauseRule, known: Observations) -> str:
    """Return the cause's class, or its `when_idle` class when SMs and memory are known and neither is busy."""
    figures = [number(known, name) for name in ("compute_pct", "memory_pct")]
    idle = all(value is not None and value < BUSY_PCT for value in figures)
    return rule.when_idle if idle else rule.bottleneck


def _figures(known: Observations) -> tuple[Evidence, ...]:
    """Return the headline figures and what timing says, which are left to say when no cause is decisive."""
    named = (("compute_pct", "SMs"), ("memory_pct", "memory system"), ("dram_pct", "DRAM"))
    headline = tuple(
        Evidence(
            "metric",
            known[name].name,
            known[name].value,
            "%",
            text=f"the {label} at {number(known, name):.0f} % of the peak",
        )
        for name, label in named
        if _has(known, name)
    )
    return (*headline, *(known[name] for name in SHARES if _has(known, name)))
