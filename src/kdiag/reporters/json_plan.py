"""A plan as the JSON object `kdiag.plan/1`."""

from kdiag.records import Suggestion

from .json_number import fields

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
    about = "rank optimization variant title cause expected_speedup confidence safety applicable why_not where evidence"
    return {
        **fields(suggestion, f"{about} explanation"),
        "diff": suggestion.proposal.diff if suggestion.proposal else "",
    }
