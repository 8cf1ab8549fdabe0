"""What `kdiag doctor` found as one JSON object, schema `kdiag.doctor/1`; what cannot be known is null."""

from dataclasses import asdict

from kdiag.records.environment import Environment

from .json_number import fields

SCHEMA = "kdiag.doctor/1"


def to_json(environment: Environment) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "works": all(tool.usable for tool in environment.tools if tool.required),
        **fields(environment, "python driver"),
        "driver_problem": environment.driver_problem or None,
        "gpus": [asdict(card) for card in environment.cards],
        "no_gpus": environment.no_cards or None,
        "counters": asdict(environment.counters),
        "tools": [
            {
                **fields(tool, "name required found usable without"),
                **{key: value or None for key, value in fields(tool, "version path problem").items()},
            }
            for tool in environment.tools
        ],
    }
