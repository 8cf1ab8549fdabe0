"""Reads `sass/*.toml`: the names of machine instructions by architecture and opcode, and the groups they are in."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def load_groups() -> Mapping[str, str]:
    """Return the group of each mnemonic. Raises ValueError if one is in two groups."""
    groups: dict[str, str] = {}
    for group, names in _read("groups").items():
        for name in names.split():
            if name in groups:
                raise ValueError(f"{name} is in the groups {groups[name]} and {group}")
            groups[name] = group
    return groups


@cache
def load_opcodes(architecture: str) -> Mapping[int, str]:
    """Return the mnemonic of each opcode of an architecture ("sm_90"); empty for one that is not in the table."""
    codes: dict[int, str] = {}
    for table in _read("opcodes").values():
        if architecture in table["architectures"]:
            codes |= {int(code, 16): name for name, listed in table["codes"].items() for code in listed.split()}
    return codes


def _read(name: str) -> dict[str, Any]:
    page = files("kdiag.rules").joinpath("sass", f"{name}.toml")
    return tomllib.loads(page.read_text(encoding="utf-8"))
