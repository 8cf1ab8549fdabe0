"""A plan as the JSON object `kdiag.plan/1`."""

from dataclasses import asdict

from kdiag.records import Suggestion

SCHEMA = "kdiag.plan/1"


def to_json(suggestions: tuple[Suggestion, ...], kernel: str, target: str) -> dict[str, object]:
    """The plan with plain values only; a number or text that is unavailable is None. Columns count from 0."""
    return {
        "schema": SCHEMA,
        "kernel": kernel,
        "target": target,
        "suggestions": [_suggestion(suggestion) for suggestion in suggestions],
    }


def _suggestion(suggestion: Suggestion) -> dict[str, object]:
    speedup = suggestion.expected_speedup
    return {
        "rank": suggestion.rank,
        "optimization": suggestion.optimization,
        "variant": suggestion.variant,
        "title": suggestion.title,
        "cause": suggestion.cause,
        "expected_speedup": {"low": speedup.low, "mid": speedup.mid, "high": speedup.high},
        "confidence": suggestion.confidence,
        "safety": suggestion.safety,
        "applicable": suggestion.applicable,
        "why_not": suggestion.why_not,
        "where": None if suggestion.where is None else asdict(suggestion.where),
        "evidence": [asdict(evidence) for evidence in suggestion.evidence],
        "explanation": suggestion.explanation,
        "diff": suggestion.proposal.diff if suggestion.proposal else "",
    }
