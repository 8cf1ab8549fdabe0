"""Reads reports that are text: finds out how they are encoded and printed, or says what the file is instead."""

import codecs
import re
from pathlib import Path

from kdiag.errors import COUNTER_PERMISSION, ReportError

from .contents import Contents
from .csv import has_csv, read_csv
from .table import has_table, read_table

_WHAT_TO_GIVE = "give the .ncu-rep file that `ncu -o` wrote, or what `ncu --import FILE --page raw --csv` prints"

# How other files start that people take for reports, and what to do with them.
_OTHERS = (
    (b"SQLite format 3\0", f"an SQLite database, such as Nsight Systems exports: {_WHAT_TO_GIVE}"),
    (b"\x1f\x8b", "compressed by gzip: unpack it first"),
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"\xfd7zXZ\0", "compressed by xz: unpack it first"),
    (b"BZh", "compressed by bzip2: unpack it first"),
    (b"\x7fELF", f"a program: {_WHAT_TO_GIVE}"),
)
_REPORT_NAMES = {".ncu-rep", ".ncu-repz", ".nsight-cuprof-report"}
_TRACE_NAMES = {".nsys-rep", ".qdrep"}

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def read_text_report(path: Path) -> Contents:
    """Return the launches of a printed report. Raises ReportError if the file is none, or says that ncu failed."""
    with path.open("rb") as stream:
        start = stream.read(16)
        for others, what in _OTHERS:
            if start.startswith(others):
                raise ReportError(f"{path} is not an Nsight Compute report but {what}.")
        text = _decode(start + stream.read())
    if has_csv(text):
        return read_csv(text)
    if has_table(text):
        return read_table(text)
    raise ReportError(f"{path} {_refusal(path.suffix, text)}.")


def _decode(content: bytes) -> str:
    """ASCII is all that matters here, so bytes that are no UTF-8 are replaced. PowerShell writes UTF-16."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content.decode(encoding, errors="replace")
    nulls = [content[start:400:2].count(0) for start in (0, 1)]
    if max(nulls) > len(content[:400]) // 4 > min(nulls):
        return content.decode("utf-16-le" if nulls[1] > nulls[0] else "utf-16-be", errors="replace")
    return content.decode("utf-8", errors="replace")


def _refusal(suffix: str, text: str) -> str:
    if not text:
        return f"is empty: {_WHAT_TO_GIVE}"
    if suffix in _TRACE_NAMES:
        return f"is a trace of Nsight Systems, which holds no counters: {_WHAT_TO_GIVE}"
    if "ERR_NVGPUCTRPERM" in text:
        return (
            "holds no profiled launch, because ncu had no permission for the GPU's counters (ERR_NVGPUCTRPERM): "
            f"{COUNTER_PERMISSION}"
        )
    if re.search(r"^==(WARNING|ERROR|PROF)==", text, re.MULTILINE):
        return "is the output of an ncu run that profiled no launch: read its ==ERROR== and ==WARNING== lines"
    if suffix in _REPORT_NAMES:
        return (
            "is not an Nsight Compute report although it is called one (it does not start with NVR): "
            "ncu was interrupted while it wrote the file, or the copy is broken; record it again"
        )
    return f"is not an Nsight Compute report: {_WHAT_TO_GIVE}"
