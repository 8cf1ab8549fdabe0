"""What names a file on the command line: what is missing or cannot be written is refused before any work is done."""

import os
from pathlib import Path

import click

EXISTING = click.Path(path_type=Path, exists=True)


def writable(_ctx: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """The callback of an option for a file to write: the path of a file, there or not, in a folder that is there.

    Nothing is created to find that out. Raises BadParameter, a usage error, with what is in the way.
    """
    if path is not None and (reason := _why_not(path)):
        raise click.BadParameter(reason)
    return path


def _why_not(path: Path) -> str:
    if path.is_dir():
        return f"{path} is a folder; name a file in it."
    if path.exists() and not path.is_file():
        return f"{path} is not a regular file; name one that can be replaced."
    if not path.parent.is_dir():
        return f"The folder {path.parent} does not exist; create it, or name a file elsewhere."
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        return f"{path} may not be written; change its permissions, or name a file elsewhere."
    return ""
