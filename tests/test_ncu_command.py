"""The command line of ncu, what it costs, and which counters are asked of which chip."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_lines import program
from kdiag.diagnose.metrics import DERIVED
from kdiag.errors import UsageError
from kdiag.executors.ncu.command import (
    NcuOptions,
    command_line,
    compute_capability,
    estimate,
    kernel_filter,
    what_to_collect,
)
from kdiag.rules.load_causes import load_causes
from kdiag.rules.load_metric_sets import counters, load_chip_rules, load_metric_sets, metric_set, parse_capability
from kdiag.rules.load_metrics import load_metrics

HOPPER, AMPERE, BLACKWELL = (9, 0), (8, 0), (12, 0)


def line(options, report=Path("/r/a.ncu-rep")):
    return command_line("ncu", ("--set", "full"), options, report, Path("/l/ncu.log"), ["python", "s.py", "-k", "x"])


def test_the_whole_command_line():
    options = NcuOptions("full", "softmax", 2, 5, ("step/", "eval@d/"))
    assert " ".join(line(options)) == (
        "ncu --clock-control none --import-source no --target-processes all --set full --kernel-name regex:softmax "
        "--launch-skip 2 --launch-count 5 --nvtx --nvtx-include step/ --nvtx-include eval@d/ "
        "--export /r/a.ncu-rep --log-file /l/ncu.log python s.py -k x"
    )


def test_nothing_is_overwritten_and_a_per_cent_sign_is_no_macro():
    words = line(NcuOptions(), Path("/r/100%q/a.ncu-rep"))
    assert not {"-f", "--force-overwrite"} & set(words)
    assert words[words.index("--export") + 1] == "/r/100%%q/a.ncu-rep"


@pytest.mark.parametrize(
    ("asked", "symbol", "matches"),
    [
        ("^mm_k$", "mm_k_Kt1_A2bf16_1v8", True),
        ("^mm_k$", "mm_k", True),
        ("^mm_k$", "mm_k2_Kt1_A2bf16", False),
        ("mm", "big_mm_k_Kt1", True),
        (r"costs\$", "costs$", True),
        ("a|mm_k$", "mm_k_Kt1", True),
    ],
)
def test_the_end_of_a_name_is_the_end_of_the_python_name(asked, symbol, matches):
    assert bool(re.search(kernel_filter(asked), symbol)) is matches


@given(st.from_regex(r"[\w.*+^$()|\\\[\]]{0,12}", fullmatch=True))
def test_a_filter_is_a_regular_expression_or_refused(asked):
    try:
        re.compile(kernel_filter(asked))
    except UsageError as error:
        assert "--kernel" in str(error)  # noqa: PT017 - both outcomes are right, and this one must say why


def test_the_cost_is_told_and_called_an_estimate():
    sentence = estimate(NcuOptions("full", launch_count=4)).sentence()
    assert "38 passes" in sentence
    assert "12.0 s for 4 of them" in sentence
    assert "estimated" in sentence
    assert "--launch-count" in estimate(NcuOptions()).sentence()
    with pytest.raises(UsageError, match="minimal, sections, full"):
        estimate(NcuOptions("huge"))


def test_sets_are_ordered_by_cost_and_differ_in_what_they_ask_for():
    sets = list(load_metric_sets().values())
    assert sets == sorted(sets, key=lambda each: each.seconds_per_launch)
    assert sets == sorted(sets, key=lambda each: each.passes)
    assert what_to_collect(metric_set("full"), None) == ("--set", "full")
    assert what_to_collect(metric_set("sections"), None)[:2] == ("--section", "SpeedOfLight")
    option, names = what_to_collect(metric_set("minimal"), HOPPER)
    assert option == "--metrics"
    assert tuple(names.split(",")) == counters(HOPPER)


def needed_by_causes():
    """Canonical names of the metrics that a test of a cause needs, through the derived ones."""
    patterns = [pattern for cause in load_causes().values() for pattern in cause.patterns]
    needed = {test.metric for pattern in patterns for test in pattern.tests}
    while True:
        inputs = {name for derived in DERIVED if derived.name in needed for name in derived.inputs} - needed
        if not inputs:
            return needed & set(load_metrics())
        needed |= inputs


def test_the_minimal_set_has_what_the_causes_need():
    asked = set(counters(HOPPER))
    only_in_sections = {"sass__inst_executed_register_spilling"}
    for name in needed_by_causes():
        names = set(load_metrics()[name].names)
        assert names & asked or names <= only_in_sections or all(each.startswith("derived__") for each in names), name


def test_a_chip_is_asked_only_for_counters_it_has():
    assert not any("_op_tma_" in name or "hgmma" in name for name in counters(AMPERE))
    assert any("_op_tma_" in name for name in counters(BLACKWELL))
    assert "dram__bytes_op_read.sum" in counters(BLACKWELL)
    assert "dram__bytes_read.sum" in counters(HOPPER)
    assert "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained_elapsed.per_second" in (
        counters(AMPERE)
    )
    assert counters(None) == counters(HOPPER)
    assert all(rule.source for rule in load_chip_rules())


def test_the_card_tells_its_capability(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    for says, capability in (
        ("printf '9.0\\n8.9\\n'", (8, 9)),
        ("echo No devices were found; exit 6", None),
        ("echo '[N/A]'", None),
    ):
        program(tmp_path / "nvidia-smi", says)
        assert compute_capability() == capability


def test_capabilities_are_numbers_not_text():
    assert parse_capability("12.0") > parse_capability("9.0")
