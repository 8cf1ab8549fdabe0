"""What follows a tile size outside of the kernel is never left behind, and another size never shows in a result."""

import pytest

from kdiag.executors.edits.examples.tile_sizes import DOUBLE, MATMUL
from test_edit_tile_sizes import refused, resized

SIZES = "TILE_M = 128  # rows of the result\nTILE_N = 128\n"
OUTPUT = "    c = torch.empty((m, n), dtype=a.dtype, device=a.device)\n"
PAD = "a = torch.nn.functional.pad(a, (0, 0, 0, {}))"


def module_with(lines):
    return MATMUL.replace("TILE_K = 64\n", f"TILE_K = 64\n{lines}\n")


def smaller(source):
    compile(source, "example", "exec")
    return resized(source, "matmul_kernel", tile_m=64)


def stays(source):
    compile(source, "example", "exec")
    return refused(source, "matmul_kernel", tile_m=64)


def test_a_name_leaves_a_chained_assignment_alone_or_with_another():
    chained = MATMUL.replace(SIZES, "# sides\nTILE_M = TILE_N = 128  # both\n")
    assert "\n# sides\nTILE_M = 64\nTILE_N = 128  # both\nTILE_K" in smaller(chained)
    both = resized(chained, "matmul_kernel", tile_m=64, tile_n=32)
    assert "\n# sides\nTILE_M = 64\nTILE_N = 32  # both\nTILE_K" in both


@pytest.mark.parametrize("line", ["TILES = TILE_M, TILE_N = 128, 128\n", "TILE_M = TILE_N = 128; X = 1\n"])
def test_a_literal_that_other_names_get_too_is_left_alone(line):
    assert "gives the size of TILE_M to other names too" in stays(MATMUL.replace(SIZES, line))


@pytest.mark.parametrize("line", ["TILE_M, _ = choose()", "TILE_M, *_ = 64, 1", "for TILE_M in (64,):\n    pass"])
def test_a_size_that_the_module_sets_again_is_left_alone(line):
    assert "TILE_M is not assigned exactly once" in stays(module_with(line))


@pytest.mark.parametrize("line", ["AREA: int = TILE_M * TILE_N", "AREA = 1\nAREA *= TILE_M"])
def test_a_name_that_follows_the_size_keeps_its_value_elsewhere(line):
    edited = smaller(module_with(line) + "\n\ndef area():\n    return AREA\n")
    assert "TILE_M = 128" in edited
    assert "    TILE_M = 64\n" in edited


@pytest.mark.parametrize(
    "lines",
    [
        "SIZES = []\nSIZES.append(TILE_M)",
        "SIZES = {}\nSIZES[0] = TILE_M",
        "class Sizes:\n    rows = TILE_M",
        "@cache(TILE_M)\ndef other(): ...",
        "def other(tile=TILE_M): ...",
        "assert TILE_M % 32 == 0",
    ],
)
def test_what_the_module_makes_of_a_size_is_not_left_behind(lines):
    assert "uses TILE_M outside of every function" in stays(module_with(lines))


def test_a_default_of_the_wrapper_hands_the_size_on():
    default = MATMUL.replace("(a, b):", "(a, b, rows=TILE_M):").replace("(m, TILE_M)", "(m, rows)")
    assert "TILE_M = 64" in smaller(default.replace("c, TILE_M", "c, rows"))


@pytest.mark.parametrize("flat", [False, True])
def test_a_grid_that_is_counted_elsewhere_does_not_stay_behind(flat):
    kernel, grid = MATMUL, "(ct.cdiv(m, TILE_M), ct.cdiv(n, TILE_N), 1)"
    if flat:
        counted = "rows = ct.cdiv(a.shape[0], TM)\n    row, column = ct.bid(0) % rows, ct.bid(0) // rows"
        kernel = kernel.replace("row, column = ct.bid(0), ct.bid(1)", counted)
        kernel = kernel.replace(grid, grid := "(ct.cdiv(m, TILE_M) * ct.cdiv(n, TILE_N),)")
    assert "TILE_M = 64" in smaller(kernel)
    passed = kernel.replace("(a, b):", "(a, b, grid):").replace(f"    grid = {grid}\n", "")
    method = kernel.replace("def matmul(", "class P:\n  def matmul(self, ").replace(grid, "self.grid(m, n)")
    caller = f"{passed}\n\ndef product(a, b, m, n):\n    return matmul(a, b, {grid})\n"
    called = f"{kernel.replace(grid, 'blocks(m, n)')}\n\ndef blocks(m, n):\n    return {grid}\n"
    for source in (passed, method, caller, called):
        assert "the grid is not seen to count them" in stays(source)


def test_what_another_function_makes_of_the_size_for_the_wrapper_is_not_left_behind():
    padded = MATMUL + f"\n\ndef product(a, b):\n    {PAD.format('TILE_M')}\n    return matmul(a, b)\n"
    assert "product computes with TILE_M as well" in stays(padded)


@pytest.mark.parametrize(
    ("changed", "lines"),
    [
        ("    return c\n", "    return c * TILE_M\n"),
        ("    return c\n", "    c /= TILE_M**0.5\n    return c\n"),
        ("    return c\n", "    c.mul_(TILE_M)\n    return c\n"),
        ("    return c\n", "    c[:TILE_M] = 0\n    return c\n"),
        ("    return c\n", "    matmul.size = TILE_M\n    return c\n"),
        (OUTPUT, "    c = torch.empty((ct.cdiv(m, TILE_M) * TILE_M, n))\n"),
        (OUTPUT, f"    rest = -m % TILE_M\n    {PAD.format('rest')}\n{OUTPUT}"),
        (OUTPUT, f"    if m % TILE_M:\n        {PAD.format(8)}\n{OUTPUT}"),
        (OUTPUT, f"    a = a * TILE_M\n{OUTPUT}"),
        (OUTPUT, f"    a = a[: m // TILE_M * TILE_M]\n{OUTPUT}"),
    ],
)
def test_a_size_that_reaches_inputs_or_results_on_the_host_stays(changed, lines):
    reason = stays(MATMUL.replace(changed, lines))
    assert "follows the size" in reason or "computed from the size" in reason


@pytest.mark.parametrize(
    "lines",
    [
        "    seen = torch.zeros(ct.cdiv(m, TILE_M))\n",
        "    print(f'tiles of {TILE_M}')\n",
        "    even = m % TILE_M == 0\n",
    ],
)
def test_a_size_that_counts_or_is_printed_on_the_host_may_change(lines):
    assert "TILE_M = 64" in smaller(MATMUL.replace(OUTPUT, lines + OUTPUT))


def test_a_literal_of_the_grid_does_not_shape_the_result():
    counted = "    n = cdiv(x.shape[0], 256)\n    y ="
    source = DOUBLE.replace("    y =", counted).replace("cdiv(x.shape[0], block)", "n")
    assert "block: int = 512" in resized(source, "double_kernel", block=512)
    assert "follows the size" in refused(source.replace("return y", "return y.sum() / n"), "double_kernel", block=512)


def test_a_grid_that_leaves_out_the_last_tile_allows_smaller_tiles_only():
    whole = DOUBLE.replace("cdiv(x.shape[0], block)", "x.shape[0] // block")
    assert "can only become smaller" in refused(whole, "double_kernel", block=512)
    assert "block: int = 128" in resized(whole, "double_kernel", block=128)
    up = DOUBLE.replace("cdiv(x.shape[0], block)", "-(-x.shape[0] // block)")
    assert "block: int = 512" in resized(up, "double_kernel", block=512)


@pytest.mark.parametrize("start", ["FIRST // TK", "tile", "ct.maximum(0, FIRST - 5) // TK"])
def test_a_loop_that_begins_at_a_tile_found_by_rounding_down_keeps_its_tiles(start):
    source = MATMUL.replace("TK: ct.C", "FIRST: int, TK: ct.C").replace("c, TILE_M, TILE_N", "c, TILE_M, TILE_N, 70")
    source = source.replace("    for k in range(", f"    tile = FIRST // TK\n    for k in range({start}, ")
    assert "rounds down to tiles of TK where to begin" in refused(source, "matmul_kernel", tile_k=32)
    part = source.replace("FIRST: int, ", "").replace("FIRST", "(ct.bid(2) * 128)").replace(", 70,", ",")
    assert "maximum" in start or "TILE_K = 32" in resized(part, "matmul_kernel", tile_k=32)
