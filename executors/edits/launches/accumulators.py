"""Does the accumulator of a matrix product fit the registers of its block? What does not spills, and takes long to compile."""

from collections.abc import Mapping

from kdiag.records import Scalar

from ..arithmetic.matrix_roles import roles
from ..syntax.kernel_source import KernelSource
from .search_tiles import Sizes

THREADS_PER_WARP = 32
# Worker warps where no hint says otherwise: num_worker_warps=4 gives the machine code of no hint (tileiras 13.4).
WORKER_WARPS = 4
# Of 255 registers a thread. bf16 4096^3 on sm_90: 128x128 at four warps needs 128 for the accumulator and has no stack
# frame; 128x256 needs 256 and has one of 1,808 bytes; at eight warps it needs 128 and has none.
MOST_REGISTERS = 160
# Of an SM's 65,536: bf16 128x128 has a stack frame of 0 or 160 bytes with occupancy=2, with 4 of 760 to 3,264.
MOST_OF_AN_SM = 65536 * MOST_REGISTERS // 255


def accumulator_fits(read: KernelSource, sizes: Sizes, setting: Mapping[str, Scalar]) -> bool:
    """Whether a float32 accumulator of this setting's tile fits; True where its size is not known.

    `setting` gives the tile sizes by the wrapper's names, and hints.
    """
    by_parameter = {constant.parameter: name for name, constant in sizes.constants.items()}
    part = roles(read, list(by_parameter))
    rows, columns = (setting.get(by_parameter.get(each or "", "")) for each in (part.m, part.n))
    if not isinstance(rows, int) or not isinstance(columns, int):
        return True
    warps, blocks = setting.get("num_worker_warps"), setting.get("occupancy")
    threads = THREADS_PER_WARP * (warps if isinstance(warps, int) else WORKER_WARPS)
    return rows * columns <= min(MOST_REGISTERS * threads, MOST_OF_AN_SM // (blocks if isinstance(blocks, int) else 1))
