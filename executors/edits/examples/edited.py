"""What several examples are made with."""

from ..base import Example

HEAD = "import cuda.tile as ct\n\n\n@ct.kernel\n"


def edited(source: str, *changes: tuple[str, str]) -> str:
    """The source with every old text replaced by its new one, in order."""
    for old, new in changes:
        source = source.replace(old, new)
    return source


def sized(name: str, kernel: str, variant: str, before: str, after: str | None = None, *, refused: str = "") -> Example:
    """An example whose variant spells its settings, all of them numbers: "tile_m=64,tile_n=128"."""
    settings = dict(word.split("=") for word in variant.split(","))
    numbers = {name: int(value) for name, value in settings.items()}
    return Example(name, kernel, variant, before, after, refused, numbers)
