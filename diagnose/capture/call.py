"""Records what one call of a launch wrapper launches, such as an operator of TileGym, without a GPU or a workload."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from kdiag import isolate
from kdiag.errors import WorkloadError
from kdiag.isolate import Died
from kdiag.package_copy import member_of
from kdiag.records import Launch

# What a function is called with: positional arguments, or keyword arguments.
Arguments = Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True)
class CallRequest:
    """A call to capture.

    `function` is "package.module:function" or "path/to/file.py:function"; a file inside a package is imported as its
    module. `arguments` are the values, or a function, or the name of one in the same form, that makes them: it is called
    where "cuda" stands for a device without a GPU, so it may say `device="cuda"`. `search` goes first on `sys.path`.
    """

    function: str
    arguments: Arguments | Callable[[], Arguments] | str
    target: str
    search: tuple[str, ...] = ()


def capture_call(request: CallRequest) -> tuple[Any, ...]:
    """The launches of the call, each a `Captured` with its live kernel. Child processes only.

    Raises WorkloadError if the function is not found or launches nothing, and whatever it raises itself.
    """
    from kdiag.cutile.gpu_stand_in import CudaOn, gpu_stand_in
    from kdiag.cutile.hooks import launching_through

    from .record import Recorder
    from .workload import run_on_stand_in

    sys.path[:0] = [folder for folder in request.search if folder not in sys.path]
    recorder = Recorder(request.target)
    with gpu_stand_in(request.target), launching_through(recorder):
        with CudaOn("cpu"):
            function = _find(request.function)
            named = request.arguments
            make = _find(named) if isinstance(named, str) else named
        run_on_stand_in(lambda: _call(function, make), recorder)
    if not recorder.launches:
        raise WorkloadError(f"{request.function} launches no cuTile kernel with these arguments.")
    return tuple(recorder.launches)


def launches_of_call(request: CallRequest, *, timeout_s: float) -> tuple[Launch, ...]:
    """The launches of the call, captured in a child process within the time limit.

    Raises WorkloadError, saying what failed, if the call cannot be captured.
    """
    answer = isolate.run(_launches, request, timeout_s=timeout_s)
    if isinstance(answer, Died):
        reason = answer.message.removesuffix(": ").rstrip(".") + answer.raised_at
        raise WorkloadError(f"The launches of {request.function} cannot be captured for {request.target}: {reason}.")
    return answer


def _launches(request: CallRequest) -> tuple[Launch, ...]:
    return tuple(captured.launch for captured in capture_call(request))


def _call(function: Callable[..., object], make: Arguments | Callable[[], Arguments]) -> None:
    arguments = make() if callable(make) else make
    if isinstance(arguments, Mapping):
        function(**arguments)
    else:
        function(*arguments)


def _find(path: str) -> Any:
    place, colon, name = path.rpartition(":")
    if not colon or not name:
        raise WorkloadError(f"{path} does not name a function; write package.module:function or file.py:function.")
    found = member(_import(place), name)
    if found is None:
        raise WorkloadError(f"{place} has no {name}.")
    if not callable(found):
        raise WorkloadError(f"{name} in {place} is a {type(found).__name__}, which cannot be called.")
    return found


def member(holder: Any, name: str) -> Any:
    """What a dotted name stands for in a module; None if there is no such thing."""
    for part in name.split("."):
        holder = getattr(holder, part, None)
    return holder


def _import(place: str) -> ModuleType:
    folder, module = ("", place) if not place.endswith(".py") else _module_of(Path(place))
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return import_module(module)
    except ImportError as error:
        raise WorkloadError(f"{place} cannot be imported: {error}.") from error


def _module_of(path: Path) -> tuple[str, str]:
    if not path.is_file():
        raise WorkloadError(f"There is no file {path}.")
    folder, name = member_of(path)
    return str(folder), name
