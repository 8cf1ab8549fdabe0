"""An edit as one JSON object, schema `kdiag.apply/1`; what is not known is null."""

from collections.abc import Mapping
from dataclasses import asdict

from kdiag.records import Proposal
from kdiag.reporters.edit_report import EditReport

SCHEMA = "kdiag.apply/1"
Offers = Mapping[str, tuple[str, tuple[Proposal, ...]]]  # by the edit's id: its title and its variants


def to_json(report: EditReport) -> dict[str, object]:
    """One variant with its diff; `undo` is a command line once the file was written."""
    made = report.proposal
    return {
        "schema": SCHEMA,
        "kernel": report.kernel,
        "target": report.target,
        "file": report.file,
        "optimization": made.variant.optimization,
        "title": made.title,
        **_variant(made),
        "expected_speedup": None if made.source is None else asdict(report.suggestion.expected_speedup),
        "confidence": None if made.source is None else report.suggestion.confidence,
        "explanation": None if made.source is None else report.suggestion.explanation,
        "where": None if made.where is None else asdict(made.where),
        "promises": [asdict(promise) for promise in made.promises],
        "warnings": list(made.warnings),
        "gates": [asdict(gate) for gate in report.gates],
        "diff": made.diff,
        "written": bool(report.undo),
        "undo": report.undo or None,
        "variants": [_variant(other) for other in report.others],
    }


def list_to_json(kernel: str, target: str, every: Offers) -> dict[str, object]:
    """All variants of all edits that were asked for."""
    edits = [
        {"optimization": name, "title": title, "variants": [_variant(made) for made in made_of_it]}
        for name, (title, made_of_it) in every.items()
    ]
    return {"schema": SCHEMA, "kernel": kernel, "target": target, "edits": edits}


def _variant(made: Proposal) -> dict[str, object]:
    return {
        "variant": made.variant.name,
        "settings": dict(made.variant.settings),
        "safety": made.safety,
        "applicable": made.source is not None,
        "why_not": made.why_not,
    }
