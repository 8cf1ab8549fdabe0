"""A pytest plugin that writes down which functions of one file the tests call, and with what.

It runs in the benchmark's own Python, which need not have kdiag: nothing of kdiag is imported here. KDIAG_CALLS_OF is the
file that is listened to, KDIAG_CALLS where each new call becomes a line of JSON: test, function, positional arguments,
keyword arguments, or why they cannot be told. Tensors are told by shape, strides and dtype; small ones of integers by their values too, since lengths
and page tables decide what is launched. It stops listening before a test can begin to time: nothing is new by then.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

ENOUGH = 3  # calls of a test that say nothing new
MOST_VALUES = 4096


class Opaque(Exception):
    """An argument of a kind that cannot be made anew."""


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Listen while a test runs."""
    listener = _Listener(item.name, os.environ["KDIAG_CALLS_OF"], os.environ["KDIAG_CALLS"])
    sys.setprofile(listener)
    yield
    sys.setprofile(None)


class _Listener:
    """Hears of every Python call of a test; what the file's functions call of each other is not of interest."""

    def __init__(self, test: str, file: str, calls: str) -> None:
        self._test, self._file, self._calls = test, os.path.realpath(file), calls
        self._depth = self._old = 0
        self._known: set[str] = set()
        self._mine: dict[str, bool] = {}

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if event not in ("call", "return") or not self._is_mine(frame.f_code):
            return
        if event == "return":
            self._depth -= 1
            if self._old >= ENOUGH and self._depth == 0:
                sys.setprofile(None)
            return
        self._depth += 1
        if self._depth == 1:
            self._hear(frame)

    def _is_mine(self, code: CodeType) -> bool:
        """Whether it is a function of the file, with a name by which it can be called."""
        if code.co_filename not in self._mine:
            self._mine[code.co_filename] = os.path.realpath(code.co_filename) == self._file
        return self._mine[code.co_filename] and "<" not in _name(code)

    def _hear(self, frame: FrameType) -> None:
        code, values = frame.f_code, frame.f_locals
        count = code.co_argcount
        positional = [values[name] for name in code.co_varnames[:count]]
        keywords = {name: values[name] for name in code.co_varnames[count : count + code.co_kwonlyargcount]}
        rest = code.co_varnames[count + code.co_kwonlyargcount :]
        if code.co_flags & 0x04:  # *args
            positional += values[rest[0]]
            rest = rest[1:]
        if code.co_flags & 0x08:  # **kwargs
            keywords.update(values[rest[0]])
        function = _name(code)
        if positional and type(positional[0]).__name__ == f"{function.rpartition('.')[0]}Backward":
            function, positional = function.rpartition(".")[0] + ".apply", positional[1:]  # torch.autograd.Function
        self._write(function, positional, keywords)

    def _write(self, function: str, positional: Sequence[object], keywords: Mapping[str, object]) -> None:
        try:
            told: object = [[_described(each) for each in positional], _described(keywords)]
        except Opaque as opaque:
            told = str(opaque)
        line = [self._test, function, told]
        alike = json.dumps(_without_values(line[1:]))
        if alike in self._known:
            self._old += 1
            return
        self._known.add(alike)
        with Path(self._calls).open("a") as file:
            file.write(json.dumps(line) + "\n")


def _name(code: CodeType) -> str:
    return str(getattr(code, "co_qualname", code.co_name))  # before Python 3.11 there are no names of methods


def _described(value: Any) -> object:
    """What a value is made of again: scalars as they are, all else as {kind: ...}. Raises Opaque."""
    torch = sys.modules["torch"]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, torch.Tensor):
        return _tensor(value, torch)
    if isinstance(value, (torch.dtype, torch.device)):
        return {type(value).__name__: str(value).removeprefix("torch.")}
    if type(value) in (list, tuple, torch.Size):
        return {type(value).__name__: [_described(each) for each in value]}
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"dict": {name: _described(each) for name, each in value.items()}}
    raise Opaque(f"an argument is a {type(value).__name__}")


def _tensor(value: Any, torch: Any) -> dict[str, object]:
    if value.layout is not torch.strided:
        raise Opaque(f"an argument is a tensor of layout {value.layout}")
    told = {
        "tensor": list(value.shape),
        "strides": list(value.stride()),
        "dtype": str(value.dtype).removeprefix("torch."),
        "device": value.device.type,
        "grad": value.requires_grad,
    }
    whole = not (value.dtype.is_floating_point or value.dtype.is_complex)
    return {**told, "values": value.tolist()} if whole and value.numel() <= MOST_VALUES else told


def _without_values(told: object) -> object:
    if isinstance(told, dict):
        return {name: _without_values(each) for name, each in told.items() if name != "values"}
    return [_without_values(each) for each in told] if isinstance(told, list) else told
