"""What is no report, or a broken one: one sentence that says what to do, and never an invented number."""

import gzip
import io
import random
import sqlite3
from types import SimpleNamespace

import pytest
import zstandard

from bundled import EXAMPLES
from kdiag.diagnose.report import native
from kdiag.diagnose.report.container import Container, read_container
from kdiag.diagnose.report.plausible import plausible
from kdiag.diagnose.report.read import read_launches
from kdiag.errors import ReportError
from recorded_reports import LEAN, needs_data

PACKED = EXAMPLES / "softmax" / "softmax.ncu-repz"
REPORT = zstandard.ZstdDecompressor().decompressobj().decompress(PACKED.read_bytes())

pytest.importorskip("ncu_report")


def refusal(path, content=None):
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ReportError) as caught:
        read_launches(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty: give the .ncu-rep file"),
        (b"NV", "although it is called one"),
        (b"\x97\x00\x00\x00\x08\x00\x10\x01", "ncu was interrupted"),
        (b"kernel,time\nsoftmax,3\n", "although it is called one"),
        (gzip.compress(b"NVR\0", mtime=0), "compressed by gzip: unpack it first"),
        (b"PK\x03\x04....", "a zip archive: unpack it first"),
        (b"NVR\0", "cut off or damaged: none of its launches can be read; copy or record it again."),
        (b"NVR\0" + bytes(range(256)) * 8, "cut off or damaged: none of its launches"),
        (b"NVR\0\2\0\0\0\x08\7", "holds no profiled launch"),
        (b"NVR\0\2\0\0\0\x08\x08", "has version 8 of the report format and this kdiag reads up to 7"),
        (b"\x28\xb5\x2f\xfd" + bytes(40), "holds no profiled launch"),
        (b"==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "no permission for the GPU's counters"),
        (b"==PROF== Connected\n==WARNING== No kernels were profiled.\n", "an ncu run that profiled no launch"),
    ],
)
def test_what_is_no_report(tmp_path, content, sentence):
    assert sentence in refusal(tmp_path / "some.ncu-rep", content)


def test_other_kinds_of_files(tmp_path):
    database = tmp_path / "trace.sqlite"
    with sqlite3.connect(database) as connection:
        connection.execute("create table t (x)")
    assert "an SQLite database, such as Nsight Systems exports: give" in refusal(database)
    assert "is a trace of Nsight Systems" in refusal(tmp_path / "trace.nsys-rep", b"\x00\x01\x02")
    assert "is not an Nsight Compute report: give" in refusal(tmp_path / "notes.txt", b"hello\n")


def test_what_cannot_be_opened(tmp_path):
    assert "cannot be read, it is not a file" in refusal(tmp_path)
    assert "cannot be read: No such file" in refusal(tmp_path / "missing.ncu-rep")


def test_the_container(tmp_path):
    content = REPORT
    with io.BytesIO(REPORT) as stream:
        assert read_container(stream, len(content)) == Container(7, 1, whole=True)
    cut = tmp_path / "cut.ncu-rep"
    for length in range(4, len(content) - 1, len(content) // 50):
        assert "cut off or damaged" in refusal(cut, content[:length])
    assert "cut off or damaged" in refusal(cut, content + b"\1")


def test_a_compressed_report(tmp_path):
    packed = tmp_path / "report.ncu-repz"
    packed.write_bytes(PACKED.read_bytes())
    plain = tmp_path / "report.ncu-rep"
    plain.write_bytes(REPORT)
    assert read_launches(packed) == read_launches(plain)


def test_a_result_without_a_kernel_is_called_what_it_is():
    result = SimpleNamespace(
        NameBase_DEMANGLED=1,
        name=lambda base=0: "",
        workload_type=lambda: 1,
        metric_by_name=lambda name: None,
        metric_names=lambda: ("gpu__time_duration.sum",),
        nvtx_state=lambda: None,
    )
    found = native.launch(result, ["x"])
    assert (found["symbol"], found["base_name"], found["whole"], found["figures"]) == ("range", "range", True, {})


def test_a_file_that_ends_the_native_reader_is_damaged(tmp_path, monkeypatch):
    """Some flipped bits abort NVIDIA's reader; a reader that aborts over everything stands for it."""
    package = tmp_path / "ncu_report.py"
    package.write_text("import os\n\n\ndef load_report(path):\n    os.abort()\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ReportError, match="none of its launches can be read"):
        read_launches(PACKED)


@needs_data
def test_a_report_that_is_cut_off(tmp_path):
    path = tmp_path / "cut.ncu-rep"
    message = refusal(path, LEAN.read_bytes()[:1_000_000])
    assert "damaged: 1 of its launches can be read; copy or record it again, or choose whole" in message
    (launch,) = read_launches(path, "softmax_k")
    assert (launch.name, launch.share_pct) == ("softmax_k", None)
    assert read_launches(path, launch_index=0) == (launch,)


def test_what_the_native_reader_logs_is_not_shown(tmp_path, capfd):
    content = bytearray(REPORT)
    content[len(content) // 2 :: 97] = b"\xff" * len(content[len(content) // 2 :: 97])
    path = tmp_path / "log.ncu-rep"
    path.write_bytes(content)
    with pytest.raises(ReportError):
        read_launches(path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("seed", range(40))
def test_mutated_reports(tmp_path, seed):
    chance = random.Random(seed)
    content = bytearray(REPORT)
    for _ in range(chance.choice([1, 10, 100])):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path = tmp_path / "mutated.ncu-rep"
    path.write_bytes(content)
    try:
        launches = read_launches(path)
    except ReportError:
        return
    for launch in launches:
        for evidence in launch.observations.values():
            assert isinstance(evidence.value, float)
            assert plausible(evidence.value, evidence.unit)
