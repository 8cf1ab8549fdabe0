"""What `kdiag doctor` found as one JSON object, schema `kdiag.doctor/1`; what cannot be known is null."""

from dataclasses import asdict

from kdiag.records.environment import Environment

SCHEMA = "kdiag.doctor/1"


def to_json(environment: Environment) -> dict[str, object]:
    """Return the object that `kdiag doctor --json` prints."""
    return {
        "schema": SCHEMA,
        "works": all(tool.usable for tool in environment.tools if tool.required),
        "python": environment.python,
        "driver": environment.driver,
        "driver_problem": environment.driver_problem or None,
        "gpus": [asdict(card) for card in environment.cards],
        "no_gpus": environment.no_cards or None,
        "counters": asdict(environment.counters),
        "tools": [
            {
                "name": tool.name,
                "required": tool.required,
                "found": tool.found,
                "usable": tool.usable,
                "version": tool.version or None,
                "path": tool.path or None,
                "problem": tool.problem or None,
                "without": tool.without,
            }
            for tool in environment.tools
        ],
    }
