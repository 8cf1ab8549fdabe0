"""Examples of I."""

from ..base import Example
from .edited import sized
from .persistent import AXES, PRODUCT, PRODUCT_LOOPED, ROWS

GROUPED = """\
    rows = ct.num_blocks(0)
    columns = ct.num_blocks(1)
    block = ct.bid(0) + ct.bid(1) * rows
    GROUP_SIZE_M = 8
    in_group = GROUP_SIZE_M * columns
    first_row = block // in_group * GROUP_SIZE_M
    height = min(rows - first_row, GROUP_SIZE_M)
    row, column = first_row + block % in_group % height, block % in_group // height
"""
IN_LOOP = """\
        GROUP_SIZE_M = 4
        in_group = GROUP_SIZE_M * blocks_y
        first_row = item // in_group * GROUP_SIZE_M
        height = min(blocks_x - first_row, GROUP_SIZE_M)
        row, column = first_row + item % in_group % height, item % in_group // height
"""
_ROW_MAJOR = """\
    across = ct.num_tiles(c, axis=1, shape=(TM, TN))  # tiles in a row
    row = ct.bid(0) // across
    column = ct.bid(0) % across
"""
_ROW_MAJOR_GROUPED = """\
    across = ct.num_tiles(c, axis=1, shape=(TM, TN))  # tiles in a row
    rows = ct.num_blocks(0) // across
    block = ct.bid(0)
    GROUP_SIZE_M = 8
    in_group = GROUP_SIZE_M * across
    first_row = block // in_group * GROUP_SIZE_M
    height = min(rows - first_row, GROUP_SIZE_M)
    row = first_row + block % in_group % height
    column = block % in_group // height
"""
_IN_LOOP_BEFORE = "        row, column = item % blocks_x, item // blocks_x\n"
ONE_AXIS = (
    PRODUCT.replace(AXES, _ROW_MAJOR)
    .replace(", tile_m), ct.cdiv", ", tile_m) * ct.cdiv")
    .replace("tile_n))", "tile_n),)")
)
PADDED = ONE_AXIS.replace("tile_n),)", "tile_n) + 7,)")

EXAMPLES: tuple[Example, ...] = (
    sized("two axes of blocks", "matmul", "group_size_m=8", PRODUCT, PRODUCT.replace(AXES, GROUPED)),
    sized("one axis of blocks", "matmul", "group_size_m=8", ONE_AXIS, ONE_AXIS.replace(_ROW_MAJOR, _ROW_MAJOR_GROUPED)),
    sized(
        "inside a persistent loop",
        "matmul",
        "group_size_m=4",
        PRODUCT_LOOPED,
        PRODUCT_LOOPED.replace(_IN_LOOP_BEFORE, IN_LOOP),
    ),
    sized("grouped already", "matmul", "group_size_m=4", PRODUCT.replace(AXES, GROUPED), refused="grouped already"),
    sized("more blocks than tiles", "matmul", "group_size_m=8", PADDED, refused="whole rows of tiles"),
    sized("no product", "double", "group_size_m=8", ROWS, refused="no matrix product"),
)
