"""Reads the optimization remarks of tileiras (13.4 and newer): YAML documents in LLVM's remark format.

A document starts with `--- !Passed`, `!Failure`, `!Missed` or `!Analysis` and is repeated when a function is lowered
more than once. What is not a remark is passed over: remarks are evidence, and their absence says "unavailable".
"""

import re
from collections.abc import Iterator

from kdiag.records import Place, Remark

_START = re.compile(r"^--- !(\w+)\s*$", re.MULTILINE)
_PLACE = re.compile(
    r"File:\s*(?P<file>'(?:[^']|'')*'|\"[^\"]*\"|[^,]*),\s*Line:\s*(?P<line>\d+),\s*Column:\s*(?P<column>\d+)"
)
_FIELD = re.compile(r"^ *(?:- )?(?P<name>\w+): +(?P<value>.*?)\s*$")
_LOCATION = re.compile(r"""loc\((?:"[^"]*"|[^()"]*)(?::\d+)*\):?\s*(?:error:\s*|remark:\s*)?""")


def parse(text: str) -> tuple[Remark, ...]:
    """The distinct remarks of a file, in order. Never raises."""
    return tuple(dict.fromkeys(_remarks(text)))


def _remarks(text: str) -> Iterator[Remark]:
    starts = list(_START.finditer(text))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    for start, end in zip(starts, ends, strict=False):
        document, closed, _ = text[start.end() : end].partition("\n...")
        if not closed:
            continue  # cut off: its last figure may lack digits
        fields = _fields(document)
        place = _PLACE.search(fields.get("DebugLoc", ""))
        if "Name" not in fields or place is None:
            continue
        yield Remark(
            name=fields["Name"],
            passed=start[1] == "Passed",
            where=Place(_unquoted(place["file"]), int(place["line"]), int(place["column"])),
            function=fields.get("Function", ""),
            instruction=fields.get("Instruction", ""),
            shape=fields.get("Shape", ""),
            text=_sentence(fields),
        )


def _fields(document: str) -> dict[str, str]:
    """The scalar fields of one document; the first of a repeated field counts. Folded lines are joined."""
    found: dict[str, str] = {}
    name = ""
    for line in document.splitlines():
        if match := _FIELD.match(line):
            name = match["name"] if match["name"] not in found else ""
            if name:
                found[name] = match["value"]
        elif name and line.startswith("      ") and line.strip():
            found[name] += " " + line.strip()
    return {name: _unquoted(value) for name, value in found.items()}


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return value[1:-1].replace('\\"', '"').replace("\\n", " ").replace("\\\\", "\\")
    return value


def _sentence(fields: dict[str, str]) -> str:
    """The compiler's reason if it gives one, else the remark, without the locations in front."""
    said = next((fields[name] for name in ("Reason", "FailureReason", "Remark") if fields.get(name)), "")
    parts = dict.fromkeys(part.strip() for part in _LOCATION.split(said) if part.strip())
    return "; ".join(parts)
