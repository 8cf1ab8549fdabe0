"""What an index is made of, how it steps, and the settings of an access."""

import pytest

from source_kernels import kernel

HELPERS = """
from elsewhere import offsets
ZERO = ct.PaddingMode.ZERO
def rows(i, size):
    return i * size + ct.arange(size, dtype=ct.int32)
def pair(a):
    return a, ct.load(y, (0,), (16,))
def second():
    i, j = ct.gather(y, 0), ct.bid(0)
    return j
"""


@pytest.mark.parametrize(
    ("index", "form", "step"),
    [
        ("ct.bid(0)", "scalar", 0),
        ("(ct.bid(0), n - 1)", "scalar", 0),
        ("ct.arange(T, dtype=ct.int32)", "affine", 1),
        ("ct.bid(0) * T + ct.arange(T, dtype=ct.int32)", "affine", 1),
        ("(ct.bid(0), ct.arange(T, dtype=ct.int32))", "affine", 1),
        ("(ct.arange(T, dtype=ct.int32), ct.bid(0))", "affine", 0),
        ("(rows(0, T)[:, None], rows(1, T)[None, :])", "affine", 1),
        ("rows(ct.bid(0), T)", "affine", 1),
        ("rows(0, T)[:, None] * n + rows(0, 16)[None, :]", "affine", 1),
        ("rows(0, T)[:, None] * n + rows(0, 16)[None, :] * n", "affine", None),
        ("ct.arange(T, dtype=ct.int32) * 4 + 1", "affine", 4),
        ("n - ct.arange(T, dtype=ct.int32)", "affine", -1),
        ("ct.arange(T, dtype=ct.int32, step=2)", "affine", 2),
        ("ct.arange(T, dtype=ct.int32) * n", "affine", None),
        ("rows(0, T) + rows(0, T)", "affine", 2),
        ("ct.expand_dims(rows(0, T), 1)", "affine", 1),
        ("ct.reshape(rows(0, T), (4, 4))", "affine", None),
        ("rows(0, T) // 2", "unknown", None),
        ("ct.where(rows(0, T) < n, rows(0, T), 0)", "unknown", None),
        ("ct.load(y, (0,), (T,)) * 2", "indirect", None),
        ("ct.load(y, (0,), (T,))[:, None] * n + rows(0, T)[None, :]", "indirect", 1),
        ("(ct.gather(y, 0), rows(0, T))", "indirect", 1),
        ("rows(ct.gather(y, 0), T)", "indirect", 1),
        ("pair(0)[0]", "scalar", 0),
        ("pair(0)[1]", "indirect", None),
        ("(second(), n)", "scalar", 0),
        ("offsets(n)", "unknown", None),
    ],
)
def test_index_of_a_gather(index, form, step):
    found = kernel(f"ct.gather(x, {index})", before=HELPERS)
    (access,) = (access for access in found.accesses if access.array == "x")
    assert (access.form, access.step, access.index) == (form, step, index)


@pytest.mark.parametrize(
    ("index", "form"),
    [
        ("(ct.bid(0), 0)", "tile-index"),
        ("(ct.bid(0) * T,)", "tile-index"),
        ("(ct.gather(y, 0).item(), 0)", "indirect"),
        ("(offsets(n),)", "unknown"),
        ("(rows(0, T),)", "affine"),
    ],
)
def test_index_of_a_load(index, form):
    found = kernel(f"ct.load(x, index={index}, shape=(T, 4))", before=HELPERS)
    (access,) = (access for access in found.accesses if access.array == "x")
    assert (access.form, access.step, access.shape) == (form, None, "(T, 4)")


def test_an_index_keeps_its_rule_while_it_moves_on_in_a_loop():
    body = "offs = ct.arange(T, dtype=ct.int32)\nfor i in range(n):\n    ct.gather(x, offs)\n    offs += T"
    (access,) = kernel(body).accesses
    assert (access.form, access.step, len(access.loops)) == ("affine", 1, 1)
    (access,) = kernel(body.replace("+= T", "= offs * 2")).accesses
    assert (access.form, access.step) == ("affine", None)


def test_branches_are_joined():
    body = "if n > 2:\n    i = ct.arange(T, dtype=ct.int32)\nelse:\n    i = {}\nct.gather(x, i)"
    same, other, loaded = (
        kernel(body.format(i)).accesses[-1]
        for i in ("n + ct.arange(T, dtype=ct.int32)", "ct.arange(T, dtype=ct.int32) * 3", "ct.gather(y, n)")
    )
    assert (same.form, same.step) == ("affine", 1)
    assert (other.form, other.step) == ("affine", None)
    assert (loaded.form, loaded.step) == ("indirect", None)


@pytest.mark.parametrize(
    ("load", "mode"),
    [
        ("ct.load(x, (0,), (T,))", "UNDETERMINED"),
        ("ct.load(x, (0,), (T,), padding_mode=ct.PaddingMode.NEG_INF)", "NEG_INF"),
        ("ct.load(x, (0,), (T,), padding_mode=ZERO)", "ZERO"),
        ("ct.load(x, (0,), (T,), padding_mode=mode)", "ZERO"),
        ("ct.load(x, (0,), (T,), padding_mode=MODE)", None),
        ("ct.load(x, (0,), (T,), padding_mode=ZERO if n else ct.PaddingMode.NAN)", None),
        ("x.tiled_view((T,), padding_mode=ct.PaddingMode.NAN).load((0,))", "NAN"),
        ("x.tiled_view((T,)).load((0,))", "UNDETERMINED"),
    ],
)
def test_padding_is_looked_up(load, mode):
    found = kernel(f"mode = ct.PaddingMode.ZERO\n{load}", before=HELPERS, parameters="x, n, T, MODE")
    assert [access.padding_mode for access in found.accesses] == [mode]


def test_settings_are_the_text_of_the_source():
    (access,) = kernel("ct.scatter(x, n, 1, mask=n > 2, check_bounds=False, latency=T)").accesses
    assert (access.mask, access.check_bounds, access.latency, access.padding) == ("n > 2", "False", "T", None)


def test_views_raw_memory_and_atomics():
    found = kernel(
        "v = x.tiled_view((T,))\nv.store((0,), v.load((0,)))\nm = y.get_raw_memory()\n"
        "m.store_offset(n, m.load_offset(ct.arange(T, dtype=ct.int32)))\n"
        "ct.atomic_add(x, 0, 1)\nfor i in range(n):\n    v.atomic_store_max((0,), 1)\n    m.atomic_xor_offset(0, 1)"
    )
    assert [(access.kind, access.array, access.form) for access in found.accesses] == [
        ("store", "v", "tile-index"),
        ("load", "v", "tile-index"),
        ("scatter", "m", "scalar"),
        ("gather", "m", "affine"),
    ]
    assert [(atomic.name, atomic.array, len(atomic.loops)) for atomic in found.atomics] == [
        ("atomic_add", "x", 0),
        ("atomic_store_max", "v", 1),
        ("atomic_xor_offset", "m", 1),
    ]


def test_a_place_that_runs_in_two_ways_claims_what_holds_of_both():
    before = "def fetch(i):\n    return ct.gather(x, i)\n"
    (found, *_) = kernel(
        "fetch(n)\nfor i in range(n):\n    fetch(ct.arange(T, dtype=ct.int32))", before=before
    ).accesses
    assert (found.form, found.step, len(found.loops)) == ("unknown", None, 1)
