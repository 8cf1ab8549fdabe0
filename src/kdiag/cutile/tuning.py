"""Answers tuners where nothing is to be timed: by default the first configuration of a search space is the best."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import cuda.tile as ct

from kdiag.errors import WorkloadError

HintsFunction = Callable[[Any], Mapping[str, Any]] | None


@dataclass(frozen=True)
class Search:
    """What a tuner is asked. `kernel` may be a function that gives the kernel for a configuration; `arguments` gives
    those of a launch that is only timed, on `stream`.
    """

    configurations: tuple[Any, ...]
    stream: Any
    grid_fn: Callable[[Any], Any]
    kernel: Any
    arguments: Callable[[Any], Any]
    hints_fn: HintsFunction = None

    def __post_init__(self) -> None:
        """Raises WorkloadError for a space without a configuration."""
        if not self.configurations:
            raise WorkloadError(f"The search space for {getattr(self.kernel, '__name__', 'a kernel')} is empty.")

    def kernel_for(self, config: Any) -> Any:
        """The kernel of a configuration, without the hints of the configuration."""
        return self.kernel if isinstance(self.kernel, ct.kernel) else self.kernel(config)

    def tuned(self, config: Any) -> Any:
        """The kernel of a configuration as it is launched."""
        return self.kernel_for(config).replace_hints(**self.hints_for(config))

    def hints_for(self, config: Any) -> Mapping[str, Any]:
        """The compiler hints of a configuration."""
        return {} if self.hints_fn is None else self.hints_fn(config)


class Untimed(ABC):
    """A `Launcher` (see `hooks`) that is told of searches and answers each without timing."""

    @abstractmethod
    def launch(self, stream: Any, grid: Any, kernel: Any, arguments: Any, /, **options: Any) -> None:
        """In the place of `ct.launch`."""

    def choose(self, search: Search) -> Any:
        """The configuration that is said to be the best: the first."""
        return search.configurations[0]

    def exhaustive_search(
        self,
        search_space: Sequence[Any],
        stream: object,  # these names are cuda.tile's: callers pass them by name
        grid_fn: Callable[[Any], Any],
        kernel: Any,
        args_fn: Callable[[Any], Any],
        hints_fn: HintsFunction = None,
        **_options: object,
    ) -> ct.tune.TuningResult[Any]:
        """In the place of `ct.tune.exhaustive_search`."""
        chosen = self.choose(Search(tuple(search_space), stream, grid_fn, kernel, args_fn, hints_fn))
        # A number, since wrappers compare the times of several kernels; all equal, so that the first stays.
        best = ct.tune.Measurement(config=chosen, mean_us=1.0, error_margin_us=0.0, num_samples=0)
        return ct.tune.TuningResult(best=best, successes=(best,), failures=())

    def autotune_launch(
        self,
        stream: object,
        grid_fn: Callable[[Any], Any],
        kernel: Any,
        args_fn: Callable[[Any], Any],
        *more: Any,
        **options: Any,
    ) -> SimpleNamespace:
        """In the place of `cuda.tile_experimental.autotune_launch`, which tunes and launches.

        `launch_args_fn` and `hints_fn` follow by position or by keyword.
        """
        options |= dict(zip(("launch_args_fn", "hints_fn"), more, strict=False))
        space = options["search_space"]
        configurations = tuple(space() if callable(space) else space)
        search = Search(configurations, stream, grid_fn, kernel, args_fn, options.get("hints_fn"))
        config = self.choose(search)
        grid, tuned = grid_fn(config), search.tuned(config)
        self.launch(stream, grid, tuned, (options.get("launch_args_fn") or args_fn)(config))
        return SimpleNamespace(tuned_config=config, grid=grid, kernel=tuned, tuning_record=(), cache_hit=False)
