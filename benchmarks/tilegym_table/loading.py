"""TileGym with one file replaced, imported in a child where torch answers as a card would."""

import logging
import sys
import warnings
from pathlib import Path

import cuda.tile as ct

from kdiag.cutile.signature import kernel_function
from kdiag.workload import load_kernel
from tilegym_table.records import Checkout, Kernel, Version


def load(checkout: Checkout, version: Version) -> None:
    """Import TileGym's operators with this version of one file. Where torch has a stand-in for the card, and not before.

    Raises AssertionError if anything but this version is what `import` finds.
    """
    logging.disable(logging.WARNING)  # TileGym warns of what is not installed
    warnings.simplefilter("ignore")
    launch = ct.launch
    kernel_file = checkout.operators / version.file
    module = load_kernel(kernel_file, version.path, source_hash=version.hash)
    assert module.__file__ == str(version.path)
    assert sys.modules[module.__name__] is module
    ct.launch = launch  # TileGym puts a wrapper of its own there, one for each import


def kernel_of(checkout: Checkout, version: Version, kernel: object) -> Kernel | None:
    """Which of TileGym's kernels a live kernel is; None for one that is not of its operators."""
    function = kernel_function(kernel)
    path = Path(function.__code__.co_filename)
    if path == version.path:
        return Kernel(version.file, function.__name__)
    if not path.is_relative_to(checkout.operators):
        return None
    return Kernel(path.relative_to(checkout.operators).as_posix(), function.__name__)
