"""What is kept of a launch and of a tuning: records, and the live kernel for the compiler."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any

from cuda.tile.compilation import KernelSignature

from kdiag.cutile.arrays import overlaps
from kdiag.cutile.grid import grid_of
from kdiag.cutile.signature import describe, kernel_function, kernel_name, signature
from kdiag.cutile.tuning import Search, Untimed
from kdiag.records import Launch, Scalar, TuningSpace


@dataclass(frozen=True)
class Captured:
    """A launch, the live kernel object it names, and the signature the run time would compile it for."""

    launch: Launch
    kernel: Any
    signature: KernelSignature

    @property
    def tuning(self) -> TuningSpace | None:
        """The search space that the wrapper took the launch's configuration from."""
        return self.launch.tuning


@dataclass
class Recorder(Untimed):
    """Stands in for `ct.launch` and the tuners. The arguments themselves are not kept: they may be large."""

    target: str
    launches: list[Captured] = field(default_factory=list)
    _spaces: list[tuple[Any, TuningSpace]] = field(default_factory=list)

    def launch(self, _stream: object, grid: Any, kernel: Any, arguments: Any, /, **_options: object) -> None:
        """In the place of `ct.launch`. Raises WorkloadError for what would not launch."""
        name, values = kernel_name(kernel), tuple(arguments)
        size = grid_of(name, grid)
        launch = Launch(
            name,
            size,
            describe(kernel, values),
            hints=hints_of(kernel, self.target),
            tuning=self._space(kernel_function(kernel), size),
            overlaps=overlaps(values),
        )
        self.launches.append(Captured(launch, kernel, signature(kernel, values)))

    def choose(self, search: Search) -> Any:
        """The first configuration; the search space is kept for the launch that is made of it."""
        chosen = super().choose(search)
        first = search.kernel_for(chosen)
        space = TuningSpace(
            kernel=kernel_name(first),
            configurations=tuple(map(as_mapping, search.configurations)),
            grids=tuple(grid_of(kernel_name(first), search.grid_fn(config)) for config in search.configurations),
            hints=tuple(as_mapping(search.hints_for(config)) for config in search.configurations),
        )
        self._spaces.append((kernel_function(first), space))
        return chosen

    def _space(self, function: Any, grid: tuple[int, ...]) -> TuningSpace | None:
        """The last search for the kernel whose choice has this grid; wrappers keep what they found for later."""
        found = (s for f, s in reversed(self._spaces) if f is function and s.grids[s.chosen] == grid)
        return next(found, None)


def as_mapping(config: Any) -> dict[str, Scalar]:
    """A configuration as names and scalars, whatever the wrapper makes it of."""
    items: Mapping[Any, Any]
    if isinstance(config, Mapping):
        items = config
    elif is_dataclass(config) and not isinstance(config, type):
        items = asdict(config)
    elif hasattr(config, "_asdict"):
        items = config._asdict()
    elif isinstance(config, list | tuple):
        items = dict(enumerate(config))
    elif isinstance(config, bool | int | float | str):
        items = {"value": config}
    else:
        items = getattr(config, "__dict__", {"text": config})
    return {str(name): _scalar(value) for name, value in items.items()}


def hints_of(kernel: Any, target: str) -> dict[str, Scalar]:
    """The compiler hints of a kernel for the target, without those left at their default."""
    options = getattr(kernel, "_compiler_options", None)  # cuda-tile has no public name for them
    if options is None:
        return {}
    given = options.hints_by_target()
    values = {**given["default"], **given.get(target, {})}
    defaults = {entry.name: entry.default for entry in fields(options)}
    return {name: _scalar(value) for name, value in values.items() if value != defaults.get(name)}


def _scalar(value: Any) -> Scalar:
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
