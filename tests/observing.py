"""Observations by name and value; `work__bytes` is `work.bytes`."""

from kdiag.records import Evidence


def observe(**values):
    return {name.replace("__", "."): Evidence("metric", name, value) for name, value in values.items()}
