"""Printed numbers and units: what they are, and what is too uncertain to use."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.diagnose.report.plausible import plausible
from kdiag.diagnose.report.units import convert, decimal_mark, parse_number, parse_unit
from kdiag.rules.load_metrics import load_metrics


@pytest.mark.parametrize(
    ("value", "unit", "wanted", "expected"),
    [
        (0.176832, "ms", "us", 176.832),
        (72128, "nsecond", "us", 72.128),
        (41.67, "msecond", "us", 41670),
        (2, "s", "us", 2_000_000),
        (13.18, "usecond", "us", 13.18),
        (1.911307, "Ghz", "Hz", 1_911_307_000),
        (10.19, "cycle/nsecond", "Hz", 10_190_000_000),
        (858030168.59, "cycle/second", "Hz", 858030168.59),
        (0.268461, "Gbyte", "byte", 268_461_000),
        (1.04, "Kbyte/block", "byte", 1040),
        (98.06, "Gbyte/s", "byte/s", 98_060_000_000),
        (1.504, "Kbyte/cycle", "byte/cycle", 1504),
        (3, "sector/ns", "OP/s", 3_000_000_000),
        (255, "register/thread", "registers", 255),
        (54.76, "%", "%", 54.76),
        (3.15, "", "waves", 3.15),
    ],
)
def test_units_with_one_meaning(value, unit, wanted, expected):
    assert convert(value, unit, wanted) == expected


@pytest.mark.parametrize(
    ("unit", "wanted"),
    [("%", "us"), ("", "us"), ("byte", "us"), ("furlong", "us"), ("Gbyte", "byte/s"), ("byte/s", "byte"), ("ns", "%")],
)
def test_a_unit_of_something_else_is_no_figure(unit, wanted):
    assert convert(1.0, unit, wanted) is None


def test_kdiags_own_units_are_understood():
    assert [metric.name for metric in load_metrics().values() if parse_unit(metric.unit) is None] == []


@pytest.mark.parametrize(
    ("texts", "mark"),
    [
        (["1,234", "12.5"], "."),
        (["1,234", "12,319,469"], "."),
        (["1.234", "12,5"], ","),
        (["1.234.567", "7"], ","),
        (["0.176"], "."),  # no thousand starts with a zero
        (["1,234", "17"], None),
        (["1.234"], None),
        (["12.5", "12,5"], None),
        (["Kernel", "n/a", "(!) nan"], None),
    ],
)
def test_what_proves_the_decimal_point(texts, mark):
    assert decimal_mark(texts) == mark


def test_numbers_by_the_decimal_point():
    assert parse_number("1,033,389,909,518,639.25", ".") == 1033389909518639.25
    assert parse_number("1,234", ".") == 1234
    assert parse_number("1,234", ",") == 1.234
    assert parse_number("1,234", None) is None
    assert parse_number("12.5", ",") is None
    assert parse_number(" 1234 ", None) == 1234
    assert parse_number("-7", ".") == -7


@pytest.mark.parametrize(
    "text", ["", "n/a", "no data", "CachePreferNone", "(128, 1, 1)", "1;2;3", "12 (3; 4)", "1 2", "0x10"]
)
def test_text_is_no_number(text):
    assert parse_number(text, ".") is None


@pytest.mark.parametrize("text", ["nan", "(!) nan", "-nan", "NaN"])
def test_nan_is_seen(text):
    assert math.isnan(parse_number(text, ".") or 0.0)


@given(st.floats(0, 1e15), st.sampled_from([".", ","]))
def test_what_is_printed_is_read_back(value, mark):
    printed = f"{value:,.6f}"
    if mark == ",":
        printed = printed.translate(str.maketrans(",.", ".,"))
    assert decimal_mark([printed]) == mark
    assert parse_number(printed, decimal_mark([printed])) == pytest.approx(value, abs=1e-6)


@given(st.text(max_size=30), st.text(max_size=12))
def test_no_text_breaks_the_readers(text, unit):
    number = parse_number(text, decimal_mark([text]))
    assert number is None or convert(number, unit, "us") is None or parse_unit(unit) is not None


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (-1, "%"),
        (1001, "%"),
        (0, "us"),
        (1e12, "us"),
        (-5, "byte"),
        (math.nan, "%"),
        (math.inf, "byte"),
        (0, "Hz"),
        (1e30, "inst"),
        (300, "registers"),
    ],
)
def test_what_cannot_be_a_measurement(value, unit):
    assert not plausible(value, unit)


@pytest.mark.parametrize(
    ("value", "unit"), [(0, "%"), (117.3, "%"), (5e6, "us"), (2**31 - 1, "blocks"), (4.8e12, "byte/s")]
)
def test_what_can(value, unit):
    assert plausible(value, unit)
