"""Kernels that search for their fastest configuration, where they are checked: no search is timed, and each takes another one.

Which configuration is fastest for a prime number of rows is not what a check asks. To find out compiles the whole space
for every new shape (over a minute on an H200), and checks no more of it than the winner.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cuda.tile import _cext

from kdiag.cutile.hooks import launching_through
from kdiag.cutile.signature import kernel_name
from kdiag.cutile.tuning import Search, Untimed


@dataclass
class InTurn(Untimed):
    """Launches on the device, and answers every search for a kernel with the next configuration that can be launched.

    The first one, with which a space made by an edit repeats the kernel as it was, comes last.
    """

    _device: tuple[Any] = field(default_factory=lambda: (_cext.launch,))  # a tuple, so that it is not replaced, too
    _turns: Counter[str] = field(default_factory=Counter)

    def launch(self, stream: Any, grid: Any, kernel: Any, arguments: Any, /, **options: Any) -> None:
        self._device[0](stream, grid, kernel, arguments, **options)

    def choose(self, search: Search) -> Any:
        """The next one that can be launched. Raises what the last one raised if none can."""
        name, failed = kernel_name(search.kernel_for(search.configurations[0])), None
        for _ in search.configurations:
            self._turns[name] += 1
            config = search.configurations[self._turns[name] % len(search.configurations)]
            failed = self.launched(search, config)
            if failed is None:
                return config
        assert failed is not None
        raise failed

    def launched(self, search: Search, config: Any) -> Exception | None:
        """Launch one configuration as the search would, and say why that cannot be: the search then leaves it out."""
        try:
            self.launch(search.stream, search.grid_fn(config), search.tuned(config), search.arguments(config))
        except Exception as error:  # noqa: BLE001 - as the tuner does, whatever a compiler raises
            return error
        return None


@dataclass
class EachOnce(InTurn):
    """Answers a search when it has launched every `step`-th configuration from number `first` on, or as many of these as
    `seconds` allow.
    """

    seconds: float = math.inf
    first: int = 0
    step: int = 1
    searched: int = 0
    of: int = 0

    def choose(self, search: Search) -> Any:
        """One that can be launched. Raises IndexError for a share without a configuration."""
        ends, launched = time.monotonic() + self.seconds, list[Any]()
        mine = search.configurations[self.first :: self.step]
        if not mine:
            raise IndexError(f"the search has {len(search.configurations)} configurations")
        self.of += len(mine)
        for config in mine:
            if time.monotonic() > ends:
                break
            if self.launched(search, config) is None:
                launched.append(config)
        self.searched += len(launched)
        return launched[0] if launched else super().choose(search)


@contextmanager
def untimed() -> Iterator[None]:
    """Searches take their configurations in turn meanwhile."""
    with launching_through(InTurn()):
        yield
