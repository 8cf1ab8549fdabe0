"""Reads `launch_roles.toml`: symbols of launches that are not the kernels to diagnose, and how that is known."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from kdiag.records import LaunchRole


@dataclass(frozen=True)
class RolePattern:
    """Symbols in which `pattern` is found have the role; `examples` are some of them, `reason` why."""

    role: LaunchRole
    pattern: re.Pattern[str]
    reason: str
    examples: tuple[str, ...]


@cache
def load_launch_roles() -> tuple[RolePattern, ...]:
    """Return the patterns in the order in which they are tried. Raises TypeError for a key that is not known."""
    text = files("kdiag.rules").joinpath("launch_roles.toml").read_text(encoding="utf-8")
    return tuple(
        RolePattern(pattern=re.compile(entry.pop("pattern")), examples=tuple(entry.pop("examples")), **entry)
        for entry in tomllib.loads(text)["role"]
    )
