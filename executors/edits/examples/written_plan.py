"""Examples of L: it edits nothing."""

from ..base import Example

KERNEL = """\
import cuda.tile as ct


@ct.kernel
def copy_kernel(x, y, T: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (T,)))
"""

EXAMPLES: tuple[Example, ...] = (
    Example("a kernel", "copy_kernel", "", KERNEL, refused="--brief PLAN.md writes it"),
    Example("no kernel", "other_kernel", "", KERNEL, refused="no function in the file is a cuTile kernel"),
)
