"""A pytest plugin that writes down which functions of one file the tests call, and with what.

It runs in the benchmark's own Python, which need not have kdiag: nothing of kdiag is imported here. KDIAG_CALLS_OF is the
file that is listened to, KDIAG_CALLS where each new call becomes a line of JSON: test, function, positional arguments,
keyword arguments, or why they cannot be told. Tensors are told by shape, strides and dtype; small ones of integers by
their values too, since lengths and page tables decide what is launched. What a caller leaves to its default is left out:
an edit may change it. It stops listening before a test can begin to time: nothing is new by then.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

ENOUGH, MOST = 3, 64  # calls of a test that say nothing new, and that do
MOST_VALUES = 4096
RESUMED = 0x2A0  # co_flags of generators and coroutines, which are entered more than once


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Listen while a test runs."""
    listener = _Listener(item.name, os.environ["KDIAG_CALLS_OF"], os.environ["KDIAG_CALLS"])
    sys.setprofile(listener)
    yield
    sys.setprofile(None)


class _Listener:
    """Hears of every Python call of a test; what is called within a call that can be made again is not of interest."""

    def __init__(self, test: str, file: str, calls: str) -> None:
        self._test, self._calls = test, calls
        self._mine = lru_cache(None)(lambda path: os.path.realpath(path) == os.path.realpath(file))
        self._within: FrameType | None = None
        self._old = 0
        self._known: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "return" and frame is self._within:
            self._within = None
        elif event == "call" and self._within is None and self._mine(frame.f_code.co_filename):
            self._within = frame if self._hear(frame) else None
        else:
            return
        if self._within is None and (self._old >= ENOUGH or len(self._known) >= MOST):
            sys.setprofile(None)

    def _hear(self, frame: FrameType) -> bool:
        """Whether it is a call that can be made again: the function has a name, and its arguments can be told."""
        code, (names, rest, more, values) = frame.f_code, inspect.getargvalues(frame)
        name = str(getattr(code, "co_qualname", code.co_name))  # before Python 3.11 there are no names of methods
        if code.co_flags & RESUMED:
            return False
        try:
            known = inspect.signature(attrgetter(name)(SimpleNamespace(**frame.f_globals))).parameters
        except (AttributeError, TypeError, ValueError):
            return False
        others = values[rest] if rest else ()
        free = [each for each in known if not others or known[each].kind is inspect.Parameter.KEYWORD_ONLY]
        given = {each: values[each] for each in names if each not in free or values[each] is not known[each].default}
        positional = [given.pop(each) for each in [*takewhile(given.__contains__, names[: code.co_argcount])]]
        if positional and type(positional[0]).__name__ == f"{name.rpartition('.')[0]}Backward":
            name, positional = name.rpartition(".")[0] + ".apply", positional[1:]  # torch.autograd.Function
        return self._write(name, [*positional, *others], {**given, **(values[more] if more else {})})

    def _write(self, function: str, positional: Sequence[object], keywords: Mapping[str, object]) -> bool:
        def line(most_values: int) -> str:
            told = [[_described(each, most_values) for each in positional], _described(keywords, most_values)]
            return json.dumps([self._test, function, told])

        again = True
        try:
            alike = new = line(0)
            if alike not in self._known:  # to look at values takes a synchronization
                new = line(MOST_VALUES)
        except (AttributeError, RuntimeError, TypeError, ValueError) as error:
            alike = new = json.dumps([self._test, function, str(error)])
            again = False
        if alike in self._known:
            self._old += 1
            return again
        self._known.add(alike)
        with Path(self._calls).open("ab", buffering=0) as file:  # a line at once: several workers may write
            file.write(f"{new}\n".encode())
        return again


def _described(value: Any, most_values: int) -> object:
    """What a value is made of again: scalars as they are, all else as {kind: ...}. Raises TypeError."""
    torch = sys.modules.get("torch")
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"dict": {name: _described(each, most_values) for name, each in value.items()}}
    if type(value) in (list, tuple, getattr(torch, "Size", list)):
        return {type(value).__name__: [_described(each, most_values) for each in value]}
    if torch and isinstance(value, torch.Tensor):
        return _tensor(value, torch, most_values)
    if torch and isinstance(value, (torch.dtype, torch.device)):
        return {type(value).__name__: str(value).removeprefix("torch.")}
    raise TypeError(f"an argument is a {type(value).__name__}")


def _tensor(value: Any, torch: Any, most_values: int) -> dict[str, object]:
    plain = type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout is torch.strided
    if not plain or value.is_quantized or value.is_nested:
        raise TypeError(f"an argument is a {type(value).__name__} of its own kind")
    told = {
        "tensor": list(value.shape),
        "strides": list(value.stride()),
        "dtype": str(value.dtype).removeprefix("torch."),
        "device": value.device.type,
        "grad": value.requires_grad,
    }
    whole = not (value.dtype.is_floating_point or value.dtype.is_complex)
    return {**told, "values": value.tolist()} if whole and value.numel() <= most_values else told
