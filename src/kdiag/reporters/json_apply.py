"""An edit as one JSON object, schema `kdiag.apply/1`; what is not known is null."""

from collections.abc import Mapping

from kdiag.records import Proposal

from .edit_report import EditReport
from .json_number import fields

SCHEMA = "kdiag.apply/1"
EXPECTED = "expected_speedup confidence explanation"
Offers = Mapping[str, tuple[str, tuple[Proposal, ...]]]  # by the edit's id: its title and its variants


def to_json(report: EditReport) -> dict[str, object]:
    """One variant with its diff; `undo` is a command line once the file was written."""
    made = report.proposal
    return {
        "schema": SCHEMA,
        **fields(report, "kernel target file"),
        "optimization": made.variant.optimization,
        "title": made.title,
        **_variant(made),
        **dict.fromkeys(EXPECTED.split(), None),
        **({} if made.source is None else fields(report.suggestion, EXPECTED)),
        **fields(made, "where promises warnings diff"),
        **fields(report, "gates"),
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
        "applicable": made.source is not None,
        **fields(made, "safety why_not"),
    }
