"""Puts a stand-in in the place of `ct.launch` and of the tuners, wherever a module has bound them.

`from cuda.tile import launch` copies the function into the importing module, so replacing the attribute of cuda.tile
is not enough: every dictionary and closure that holds the function is found through the garbage collector and changed,
and changed back at the end, modules that were imported meanwhile included: these are searched for if the stand-in is
held by more than it was put into.
"""

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from types import CellType
from typing import Any, Protocol

import cuda.tile as ct
from cuda.tile import _cext


class Launcher(Protocol):
    """What launches and tunings go to instead of a GPU; each method takes what the function of its name takes.

    `tuning.Untimed` has the two tuners for a launcher that cannot time anything.
    """

    def launch(self, stream: Any, grid: Any, kernel: Any, arguments: Any, /, **options: Any) -> None:
        """In the place of `ct.launch`."""

    def exhaustive_search(self, *arguments: Any, **options: Any) -> Any:
        """In the place of `ct.tune.exhaustive_search`."""

    def autotune_launch(self, *arguments: Any, **options: Any) -> Any:
        """In the place of `cuda.tile_experimental.autotune_launch`."""


@contextmanager
def launching_through(launcher: Launcher) -> Iterator[None]:
    """While this is active, launches and tunings go to the launcher instead of a GPU."""
    pairs = tuple(_replaced(launcher))
    back = tuple((stand_in, original) for original, stand_in in pairs)
    references, changed = _references(back), list[Any]()
    try:
        changed = _replace(pairs, _holders(pairs))
        yield
    finally:
        _replace(back, changed)
        if _references(back) != references:  # held elsewhere as well
            _replace(back, _holders(back))


def _replaced(launcher: Launcher) -> Iterator[tuple[Any, Callable[..., Any]]]:
    """The functions that reach a GPU, and what stands in for each. A tuple keeps them out of the replacement."""
    # Not ct.launch: a library may have put a wrapper of its own there, which goes on to call this.
    yield _cext.launch, launcher.launch
    yield ct.tune.exhaustive_search, launcher.exhaustive_search
    if find_spec("cuda.tile_experimental") is not None:  # the tuner before cuda-tile 1.7
        yield import_module("cuda.tile_experimental").autotune_launch, launcher.autotune_launch


def _holders(pairs: tuple[tuple[Any, Any], ...]) -> list[Any]:
    """What holds the first of any pair.

    One search for all: it goes through every object there is, which takes a twentieth of a second where torch is imported.
    """
    return gc.get_referrers(*(old for old, _ in pairs))


def _references(pairs: tuple[tuple[Any, Any], ...]) -> list[int]:
    return [sys.getrefcount(old) for old, _ in pairs]


def _replace(pairs: tuple[tuple[Any, Any], ...], holders: Iterable[Any]) -> list[Any]:
    """Put the second of each pair wherever a holder has the first. Returns the holders that had it."""
    return [holder for holder in holders for old, new in pairs if _replace_in(holder, old, new)]


def _replace_in(holder: Any, old: Any, new: Any) -> bool:
    # No comprehension: before Python 3.12 it would hold `old` in a closure, which would be changed as well.
    found = False
    if isinstance(holder, CellType):
        with suppress(ValueError):  # it is empty
            if found := holder.cell_contents is old:
                holder.cell_contents = new
    elif isinstance(holder, dict | list):
        for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if value is old:
                found = True
                _set_item(holder, key, old, new)
    else:
        attributes = getattr(holder, "__dict__", None)  # of an object that has no dictionary of its own yet
        for name, value in list(attributes.items()) if isinstance(attributes, dict) else ():
            if value is old:
                found = True
                setattr(holder, name, new)
    return found


def _set_item(holder: Any, key: Any, old: Any, new: Any) -> None:
    """A class must be told of a change; Python would go on with what it remembers of the dictionary, freed or not."""
    if isinstance(holder, dict) and "__module__" in holder and "__spec__" not in holder:
        for owner in gc.get_referrers(holder):
            if isinstance(owner, type) and vars(owner).get(key) is old:
                setattr(owner, key, new)
                return
    holder[key] = new
