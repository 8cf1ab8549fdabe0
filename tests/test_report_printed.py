"""Reports as text: CSV in its two forms and the tables for people, as profilers and other programs write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.diagnose.report.csv import read_csv
from kdiag.diagnose.report.read import read_launches
from kdiag.diagnose.report.table import read_table
from kdiag.diagnose.report.text import read_text_report
from kdiag.diagnose.report.units import convert
from kdiag.errors import ReportError
from kdiag.records import number
from kdiag.rules.load_metrics import load_metrics
from recorded_reports import DATA, LEAN, needs_data

HEAD = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",'
WIDE = f"""{HEAD}"dram__bytes_read.sum","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum","launch__grid_size"
"","","","","","","","","","","","Gbyte","%","ms",""
"0","7","python3","127.0.0.1","softmax_k_Kt1_A2bf16_I4096","1","7","(128, 1, 1)","(32768, 1, 1)","0","9.0","0.268461","60.541755","0.176832","32,768"
"1","7","python3","127.0.0.1","void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int, T2)","1","7","(128, 1, 1)","(64, 2, 1)","0","9.0","n/a","(!) nan","1.000000","128"
"""
LONG = f"""{HEAD}"Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description"
"0"@"GPU Speed Of Light Throughput","Duration","us","549.98",
"0"@"GPU Speed Of Light Throughput","Memory Throughput","%","54.76",
"0"@"SpeedOfLight","","","","SOLBottleneck","OPT","Two lines,
the ""second"" too"
"0"@"Memory Workload Analysis","Memory Throughput","Gbyte/s","98.06",
"1"@"Command line profiler metrics","gpu__time_duration.sum","ns","1,250",
""".replace("@", ',"7","python3","127.0.0.1","mm_k","1","7","(128, 1, 1)","(4, 1, 1)","0","9.0",')
TABLE = """\
==PROF== Disconnected from process 7
[7] python3@127.0.0.1
  softmax_k_Kt1_A2bf16_I4096 (32768, 1, 1)x(128, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
    Section: GPU Speed Of Light Throughput
    ----------------------- ----------- ------------
    Metric Name             Metric Unit Metric Value
    ----------------------- ----------- ------------
    DRAM Frequency                  Ghz         3.20
    Elapsed Cycles                cycle      339,104
    Duration                         us       176.83
    DRAM Throughput                   %        60.54
    ----------------------- ----------- ------------

    OPT   Compute and Memory are well-balanced: To reduce runtime, both must be reduced.

    Section: Launch Statistics
    -------------------------------- --------------- ---------------
    Registers Per Thread             register/thread              80
    Function Cache Configuration                     CachePreferNone
    -------------------------------- --------------- ---------------

  mm_k(float *, int), 2025-Nov-06 15:20:12, Context 1, Stream 7
    Section: GPU Speed Of Light Throughput
    ---------------------------------------------------------------------- --------------- ------------------------------
    Duration                                                                       msecond                          41.67
    ---------------------------------------------------------------------- --------------- ------------------------------
"""


def read(tmp_path, text):
    path = tmp_path / "report.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_launches(path)


def values(launch, *names):
    return [number(launch.observations, name) for name in names]


def check_wide(launches):
    first, second = launches
    assert (first.name, first.role, second.role) == ("softmax_k", "kernel", "fill")
    assert second.name == "vectorized_elementwise_kernel"
    assert values(first, "duration_us", "dram_read_bytes", "dram_pct") == [176.832, 268461000.0, 60.541755]
    assert values(first, "grid_size", "grid_x", "block_x", "capability_major") == [32768, 32768, 128, 9]
    assert values(second, "duration_us", "dram_read_bytes", "dram_pct", "grid_y") == [1000.0, None, None, 2]
    assert first.share_pct == pytest.approx(100 * 176.832 / 1176.832)


def test_one_row_a_launch(tmp_path):
    check_wide(read(tmp_path, WIDE))


BANNER = '==PROF== Connected to process 7\nstep 1, "loss", 3\n'


@pytest.mark.parametrize(
    "text",
    [
        BANNER + WIDE + '==PROF== Disconnected\ndone "now"\n',
        "loss 0.5 " + WIDE,
        WIDE.replace("\n", "\r\n"),
        WIDE.replace("\n", "\r"),
        WIDE.replace("\n", "\nepoch 3 done\n\n"),
        WIDE + WIDE,
        WIDE + WIDE.replace('"","","","","","","","","","","","Gbyte","%","ms",""\n', ""),
        WIDE.removesuffix("\n"),
    ],
    ids=["banner", "same line", "crlf", "cr", "between rows", "twice", "again without units", "no line end"],
)
def test_what_stands_around_the_rows(tmp_path, text):
    check_wide(read(tmp_path, text))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings(tmp_path, encoding):
    check_wide(read(tmp_path, (BANNER + WIDE).encode(encoding)))


def test_a_file_that_a_table_program_wrote(tmp_path):
    import csv
    import io

    rows = list(csv.reader(io.StringIO(WIDE)))
    for delimiter in ",;\t":
        out = io.StringIO()
        csv.writer(out, delimiter=delimiter).writerows(rows)
        check_wide(read(tmp_path, out.getvalue()))


def test_one_row_a_metric(tmp_path):
    first, second = read(tmp_path, LONG)
    assert values(first, "duration_us", "memory_pct", "block_size") == [549.98, 54.76, 128]
    assert values(second, "duration_us", "memory_pct") == [1.25, None]
    again = LONG.splitlines(keepends=True)
    assert read(tmp_path, "".join([*again[:3], again[0], *again[3:]])) == (first, second)


def test_numbers_that_could_be_two_are_none(tmp_path):
    header, units, row = WIDE.splitlines(keepends=True)[:3]
    row = row.replace('"0.268461","60.541755","0.176832","32,768"', '"1,234","n/a","1,250",""')
    (launch,) = read(tmp_path, header + units + row)
    assert values(launch, "duration_us", "dram_read_bytes", "grid_size") == [None, None, 32768]
    (launch,) = read(tmp_path, header + units + row.replace("n/a", "60,5"))
    assert values(launch, "duration_us", "dram_read_bytes", "dram_pct") == [1250, 1.234e9, 60.5]


@pytest.mark.parametrize("unit", ["", "%", "byte", "fortnight"])
def test_a_time_in_another_unit_is_no_time(tmp_path, unit):
    launch = read(tmp_path, WIDE.replace('"ms"', f'"{unit}"'))[0]
    assert values(launch, "duration_us", "dram_pct") == [None, 60.541755]
    assert launch.share_pct is None


def test_a_launch_that_was_never_measured(tmp_path):
    launch = read(tmp_path, WIDE.replace('"0.176832"', '"(!) nan"').replace("60.541755", "0"))[0]
    assert values(launch, "duration_us", "dram_pct", "dram_read_bytes", "grid_size") == [None, None, None, 32768]


@pytest.mark.parametrize("cut", [30, 6])
def test_a_row_that_is_cut(tmp_path, cut):
    with pytest.raises(ReportError, match="cut off or damaged at line 4; copy or record it again, or choose"):
        read(tmp_path, WIDE[:-cut])
    path = tmp_path / "report.csv"
    assert [launch.name for launch in read_launches(path, launch_index=0)] == ["softmax_k"]


def test_a_number_that_may_be_cut(tmp_path):
    text = "".join(WIDE.splitlines(keepends=True)[:3]).replace('"32,768"', "32768").replace(', 1, 1)"', ')"')
    assert len(read(tmp_path, text)) == 1
    with pytest.raises(ReportError, match="cut off or damaged at line 3; copy or record it again"):
        read(tmp_path, text.removesuffix("\n"))


def test_tables_for_people(tmp_path):
    first, second = read(tmp_path, TABLE)
    assert (first.name, second.name) == ("softmax_k", "mm_k")
    assert [constant.value for constant in first.constants] == [4096]
    assert values(first, "duration_us", "dram_pct", "registers", "grid_x") == [176.83, 60.54, 80, 32768]
    assert values(first, "sm_elapsed_cycles", "dram_clock_hz", "capability_major") == [339104, 3.2e9, 9]
    assert values(second, "duration_us", "dram_pct") == [41670, None]


@given(st.text(max_size=200), st.integers(0, len(WIDE)), st.integers(0, 50))
def test_no_text_breaks_the_readers(junk, at, length):
    for text, parse in ((WIDE, read_csv), (LONG, read_csv), (TABLE, read_table)):
        for launch in parse(text[:at] + junk + text[at + length :]).launches:
            for metric in load_metrics().values():
                for name in metric.names:
                    launch.figures(name)


@needs_data
def test_csv_and_report_file_of_the_same_run_agree():
    pytest.importorskip("ncu_report")
    printed_file = LEAN.with_suffix(".csv")
    printed = read_text_report(printed_file).launches
    recorded = read_launches(LEAN)
    compared = 0
    for from_csv, text, from_file in zip(read_launches(printed_file), printed, recorded, strict=True):
        assert (from_csv.symbol, from_csv.gpu_name) == (from_file.symbol, from_file.gpu_name)
        assert from_csv.observations.keys() == from_file.observations.keys()
        for name, metric in load_metrics().items():
            if name in from_csv.observations:
                read_name = from_file.observations[name].name
                assert from_csv.observations[name].name == read_name
                unit = text.figures(read_name)[0].unit
                step = convert(1, unit, metric.unit) or convert(1, unit + "/s", metric.unit) or 1
                step *= 1e-6 if unit else 1e-2  # six decimals, or two
                right = number(from_file.observations, name)
                assert number(from_csv.observations, name) == pytest.approx(right, rel=1e-12, abs=0.51 * step)
                compared += 1
    assert compared > 17 * 70


# Of each printed report: launches, and a few figures read by eye.
EYE = {
    "AndrewXu22+gpu_log__nsight_report.txt": (45, 0, {"duration_us": 72.128, "dram_pct": 52.96, "registers": 32}),
    "Lashi0812+CudaProgramming__profiling_results_ncu_readWriteOffset_ca.csv": (
        3, 2, {"duration_us": 227.712, "dram_read_bytes": 134220928, "capability_minor": 9},
    ),
    "Lashi0812+CudaProgramming__profiling_results_ncu_reduceInteger.csv": (
        9, 0, {"duration_us": 814.048, "occupancy_pct": 96.19, "instructions": 432570368},
    ),
    "brycelelbach+nsightful__copy_blocked.csv": (
        1, 0, {"duration_us": 21058.944, "memory_pct": 61.84, "sm_elapsed_cycles": 12319469, "waves": 6.4},
    ),
    "lukas-ruettgers+dphpc-gemm__ncu_benchmark_output.csv": (
        4, 0, {"duration_us": 549.98, "dram_clock_hz": 13.79e9, "capability_major": 12, "sm_elapsed_cycles": 1318955},
    ),
    "zihaomu+gpu_notebook__ncu_log.txt": (6, 5, {"duration_us": 41670, "occupancy_pct": 16.5, "registers": 255}),
}  # fmt: skip


@needs_data
@pytest.mark.parametrize("name", EYE)
def test_other_peoples_printed_reports(name):
    count, index, figures = EYE[name]
    launches = read_launches(DATA / "public" / name)
    assert len(launches) == count
    assert {each: number(launches[index].observations, each) for each in figures} == figures


def test_every_row_of_the_wide_form_is_a_launch(tmp_path):
    """Process numbers come again in other containers, and IDs in every run."""
    header, units, row = WIDE.splitlines(keepends=True)[:3]
    launches = read(tmp_path, header + units + row + row.replace("0.176832", "1.000000"))
    assert [launch.duration_us for launch in launches] == [176.832, 1000]
