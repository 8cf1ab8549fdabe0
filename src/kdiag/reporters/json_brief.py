"""A brief as the JSON object `kdiag.brief/1`."""

from kdiag.codec import encode
from kdiag.records import Brief

from . import json_plan

SCHEMA = "kdiag.brief/1"


def to_json(brief: Brief) -> dict[str, object]:
    """The brief with plain values only; what is unavailable is None. Suggestions are those of `kdiag.plan/1`."""
    plan = json_plan.to_json(brief.suggestions, brief.kernel, brief.target)
    values = encode(brief)
    assert isinstance(values, dict)
    return {"schema": SCHEMA, **values, "suggestions": plan["suggestions"]}
