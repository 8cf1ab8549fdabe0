"""Figures read from what a benchmark prints, and from what pytest reports of itself."""

import pytest

from kdiag.executors import pytest_report
from kdiag.executors.command_output import Measured, printed

RECORD = "Cutile: {'forward': {'mean': 3.79, 'median': 3.78, 'nrep': 13}, 'backward': {'mean': 9.5}} ms"


def test_tilegym_records_are_named_by_their_test():
    output = f"tests/t.py::test_perf[4096]\n{RECORD}\nPASSED\ntests/t.py::test_perf[8192] \n{RECORD}\n"
    assert printed(output) == {
        "test_perf[4096] Cutile forward": Measured(3.78),
        "test_perf[4096] Cutile backward": Measured(9.5),
        "test_perf[8192] Cutile forward": Measured(3.78),
        "test_perf[8192] Cutile backward": Measured(9.5),
    }


def test_json_lines_may_give_rates():
    lines = '{"latency_ms": 0.5, "configuration": "n=4", "gbps": 1747.0}\n{"gbps": 4}\n{broken\n'
    assert printed(lines) == {"n=4": Measured(0.5, gbs=1747.0)}


def test_a_spread_of_one_sample_is_nan_and_the_time_is_read_all_the_same():
    assert printed("Cutile: {'forward': {'median': 2.0, 'std': nan}} ms") == {"Cutile forward": Measured(2.0)}


@pytest.mark.parametrize(
    "line", ["Cutile: {oops} ms", "Cutile: {'forward': {'median': -1}} ms", "Cutile: {'forward': 3} ms"]
)
def test_what_is_no_latency_is_left_out(line):
    assert printed(line) == {}


REPORT = """<testsuites><testsuite>
<testcase classname="tests.T" name="test_perf[cutile-4096]"><properties>
<property name="benchmark" value="{'cutile': {'forward': {'median': 1.5, 'std': nan, 'kernel_times': {'k': 1}}}}"/>
<property name="other" value="{'forward': {'median': 7}}"/></properties></testcase>
<testcase name="test_perf[cutile-1]"><properties><property name="benchmark" value="{'cutile': {'median': 9}}"/>
</properties><failure message="no"/></testcase>
<testcase name="test_perf[cutile-2]"><skipped message="Backend cutile is not available"/></testcase>
</testsuite></testsuites>"""


def test_pytests_report_has_the_passed_tests_their_records_and_why_others_were_skipped(tmp_path):
    path = tmp_path / "report.xml"
    assert pytest_report.read(path) is None
    path.write_text(REPORT)
    report = pytest_report.read(path)
    assert (report.passed, report.skipped) == (1, ("Backend cutile is not available",))
    assert report.recorded == {"test_perf[cutile-4096] cutile forward": Measured(1.5)}
