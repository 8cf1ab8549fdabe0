"""The emulator against an H200: every case of benchmarks/conformance, as recorded there, on the CPU.

Exact cases must give the recorded bytes (any NaN for a NaN), others come within the ulps that the case states.
"""

import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cuda.tile", reason="the kernels are written with cuda-tile")
pytest.importorskip("torch", reason="the arguments are tensors")
emulator = pytest.importorskip("kdiag.executors.emulator")
ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks" / "conformance"))

from agreement import DIGEST_BYTES, compare, disagreements, is_nan, kept
from bits import FLOATS, WIDE_FLOATS, storage
from case import EXACT, Data, ulps
from catalogue import all_cases
from launch import run
from recording import Recording, Result, condensed, load, save

FILE = ROOT / "tests" / "recordings" / "conformance.zip"
CASES = all_cases()
RECORDING = load(FILE, CASES) if FILE.is_file() else Recording({})
RECORDED = [name for name, result in RECORDING.results.items() if name in CASES and result.status == "recorded"]


def test_every_case_is_recorded_or_known_to_be_refused():
    if not FILE.is_file():
        pytest.skip("nothing is recorded: run benchmarks/conformance/record.py on a GPU")
    assert not CASES.keys() - RECORDING.results.keys(), "recorded for another kernel text: record again"
    assert not RECORDING.results.keys() - CASES.keys(), "recorded for cases that are gone"
    assert len({case.text_hash() for case in CASES.values()}) == len(CASES)
    bad = {n: r.message for n, r in RECORDING.results.items() if r.status not in ("recorded", "refused")}
    assert not bad


@pytest.fixture(scope="module")
def emulated():
    """Entering costs more than a case takes, so once for all."""
    with emulator.emulate():
        yield


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize("name", RECORDED)
def test_gives_what_the_gpu_gave(name):
    case, result = CASES[name], RECORDING.results[name]
    if not result.same and case.tolerance.kind == "exact":
        pytest.skip("two launches on the GPU gave different results")
    if case.tolerance.kind == "unspecified":
        unspecified(case, result)
        return
    wrong = disagreements(case, result.outputs, run(case, "cpu", None))
    assert not wrong, (case.tolerance, wrong)


def unspecified(case, result):
    """The emulator may refuse what no document gives a meaning, or give it another one than the card did."""
    try:
        got = run(case, "cpu", None)
    except emulator.EmulationError as refusal:
        pytest.xfail(f"{case.tolerance.reason}: {refusal}")
    if wrong := disagreements(case, result.outputs, got):
        pytest.xfail(f"{case.tolerance.reason}: {wrong}")


def test_one_altered_bit_is_noticed():
    exact = [case for case in CASES.values() if case.tolerance.kind == "exact" and case.outputs()]
    unnoticed = []
    for case in exact:
        data, *others = case.outputs()
        output, beside = data.bits(3).tobytes(), [other.bits(3).tobytes() for other in others]
        altered = [with_one_bit_flipped(data.dtype, output), *beside]
        recorded = Recording({}, {case.id: Result(case.text_hash(), "recorded", outputs=(output, *beside))})
        digests = condensed(recorded, CASES).results[case.id].outputs
        assert not disagreements(case, digests, [output, *beside])
        if not all(disagreements(case, kept, altered) for kept in ((output, *beside), digests)):
            unnoticed.append(case.id)
    assert len(exact) > 1000
    assert not unnoticed


def with_one_bit_flipped(dtype, output):
    """The lowest bit of the last element that is a number: a NaN of other bits is as good."""
    words = np.frombuffer(output, storage(dtype)).copy()
    numbers = np.flatnonzero(~is_nan(dtype, words)) if dtype in FLOATS else np.arange(len(words))
    words[numbers[-1]] ^= words.dtype.type(1)
    return words.tobytes()


@pytest.mark.parametrize(("dtype", "allowed"), [*product(WIDE_FLOATS, (1, 3, 34)), ("float32", 8192)])
def test_last_bits_and_a_digest_stand_for_what_may_be_some_ulps_away(dtype, allowed):
    data, wide = Data(dtype, (64,), "special", written=True), ulps(allowed, "a test")
    recorded = data.bits(1)
    part = kept(data, recorded.tobytes(), wide)
    assert len(part) == DIGEST_BYTES + 64 * (1 if allowed < 64 else 2)
    beside = recorded ^ recorded.dtype.type(1)
    numbers = np.flatnonzero(~is_nan(dtype, recorded) & ~is_nan(dtype, beside))
    assert 32 < len(numbers) < 64
    for index in numbers:
        given = recorded.copy()
        for mistake in (1, recorded.dtype.type(1) << recorded.dtype.type(8 * recorded.itemsize - 4)):
            given[index] = recorded[index] ^ mistake
            whole, short = (compare(data, want, given.tobytes(), wide) for want in (recorded.tobytes(), part))
            assert bool(whole) == bool(short) == (mistake != 1)


def test_distance_crosses_zero_and_knows_nan():
    data = Data("float16", (8,), written=True)
    zeros, mixed = np.array([0, 0] * 4, np.uint16), np.array([0x8000, 0x8001] * 4, np.uint16)
    for want in (zeros.tobytes(), kept(data, mixed.tobytes(), ulps(1, "a test"))):
        assert not compare(data, want, mixed.tobytes(), ulps(1, "a test"))
    assert compare(data, zeros.tobytes(), mixed.tobytes(), EXACT)
    nan, other = np.array([0x7E00, 0x7C00] * 4, np.uint16), np.array([0xFFFF, 0x7C00] * 4, np.uint16)
    assert not compare(data, nan.tobytes(), other.tobytes(), EXACT)
    for want in (nan.tobytes(), kept(data, nan.tobytes(), ulps(1, "a test"))):
        assert not compare(data, want, other.tobytes(), ulps(1, "a test"))
        assert compare(data, want, np.array([0x7C00] * 8, np.uint16).tobytes(), ulps(1, "a test"))


def test_a_changed_case_has_another_hash():
    case = CASES["add-float32"]
    assert replace(case, grid=(2,)).text_hash() != case.text_hash()
    assert replace(case, kernel=CASES["sub-float32"].kernel).text_hash() != case.text_hash()
    assert replace(case, id="add-float32-x").text_hash() != case.text_hash()


def test_a_recording_is_read_as_it_was_written(tmp_path):
    names = ["add-float32", "cast-bool-int64", "divmod-int16", "mma_scaled-float8_e4m3fn"]
    made = Recording({"card": "a card"})
    for name in names[:3]:
        outputs = tuple(data.bits(3).tobytes() for data in CASES[name].outputs())
        made.results[name] = Result(CASES[name].text_hash(), "recorded", same=name != "divmod-int16", outputs=outputs)
    made.results[names[3]] = Result(CASES[names[3]].text_hash(), "refused", "not on this card")
    save(made, tmp_path / "file.zip")
    assert load(tmp_path / "file.zip", CASES) == made


def test_outputs_recorded_for_another_kernel_text_go_by_its_hash(tmp_path):
    case, other = CASES["add-float32"], CASES["sub-float32"]
    results = {
        c.id: Result(c.text_hash(), "recorded", outputs=(c.outputs()[0].bits(3).tobytes(),)) for c in (case, other)
    }
    save(Recording({}, results), tmp_path / "file.zip")
    read = load(tmp_path / "file.zip", {**CASES, case.id: replace(case, grid=(7,))}).results
    assert read == {case.text_hash(): results[case.id], other.id: results[other.id]}
