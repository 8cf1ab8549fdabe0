"""The table of cards: every figure has a source and fits the others, and no card borrows those of a sibling."""

import pytest

from kdiag.records import number
from kdiag.rules.load_devices import device_named, load_devices
from recorded_reports import each_report, launches_of

CARDS = sorted({device.name: device for device in load_devices().values()}.values(), key=lambda card: card.name)
FP32_LANES = {"7.5": 64, "8.0": 64}

each_card = pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)


@each_card
def test_a_card_has_a_source_and_plausible_figures(card):
    assert card.source.url.startswith("https://")
    assert "nvidia" in card.source.url
    assert card.source.title
    assert card.sm_count % 2 == 0
    major, _, minor = card.compute_capability.partition(".")
    assert (int(major), int(minor)) >= (7, 5)
    figures = (card.dram_gbs, card.fp32_tflops, card.fp64_tflops, *card.tensor_tflops.values())
    assert all(figure > 0 for figure in figures if figure is not None)
    assert set(card.tensor_tflops) <= {"bf16", "fp16", "tf32", "fp8", "int8", "fp64"}


@each_card
def test_fp32_is_what_the_multiprocessors_make_of_the_clock(card):
    if card.boost_mhz is None or card.fp32_tflops is None:
        pytest.skip("its clock is not published")
    lanes = FP32_LANES.get(card.compute_capability, 128)
    assert card.fp32_tflops == pytest.approx(card.sm_count * lanes * 2 * card.boost_mhz * 1e-6, rel=0.015)


@each_card
def test_tensor_rates_are_dense_and_fit_each_other(card):
    rates = card.tensor_tflops
    if "bf16" not in rates:
        pytest.skip("no bf16 rate")
    assert rates["fp16"] == rates["bf16"]  # so fp16 is the rate with fp32 accumulation on GeForce too
    assert rates["tf32"] == pytest.approx(rates["bf16"] / 2, rel=0.015)
    assert rates.get("fp8", 2 * rates["bf16"]) == pytest.approx(2 * rates["bf16"], rel=0.015)
    assert rates["int8"] / rates["bf16"] == pytest.approx(4 if "GeForce" in card.name else 2, rel=0.015)


@pytest.mark.parametrize(
    "name",
    ["NVIDIA H20", "NVIDIA H800", "NVIDIA GH200 120GB", "H200", "nvidia h200", "NVIDIA H200 ", "NVIDIA A800-SXM4-80GB",
     "NVIDIA GeForce RTX 4090 D", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA RTX PRO 6000 Blackwell", ""],
)  # fmt: skip
def test_a_name_that_is_not_exactly_listed_is_unknown(name):
    assert device_named(name) is None


def test_siblings_of_one_die_keep_their_own_memory():
    names = ("NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3", "NVIDIA GH200 480GB", "NVIDIA H200")
    bandwidths = [load_devices()[name].dram_gbs for name in names]
    assert bandwidths == [2000, 3350, 4000, 4800]
    editions = ("Server Edition", "Workstation Edition")
    assert [load_devices()[f"NVIDIA RTX PRO 6000 Blackwell {each}"].dram_gbs for each in editions] == [1597, 1792]


def test_the_number_of_multiprocessors_must_agree():
    assert device_named("NVIDIA H200", 132) is load_devices()["NVIDIA H200"]
    assert device_named("NVIDIA H200", 16) is None  # a slice of it
    assert device_named("NVIDIA GeForce RTX 3080", 70) is None  # the card of 12 GB


def test_old_drivers_leave_out_the_maker():
    assert device_named("GeForce RTX 3080") is load_devices()["NVIDIA GeForce RTX 3080"]


@each_report
def test_the_table_agrees_with_recorded_reports(path):
    longest = max(launches_of(path), key=lambda launch: launch.duration_us or 0.0)
    device = device_named(longest.gpu_name or "")
    if device is None:
        pytest.skip(f"{longest.gpu_name} is not in the table")
    known = longest.observations
    capability = f"{number(known, 'capability_major'):.0f}.{number(known, 'capability_minor'):.0f}"
    assert (capability, number(known, "sm_count")) == (device.compute_capability, device.sm_count)
    peak = number(known, "dram_peak")
    if peak:  # at the clock of the launch: a T4 runs its memory 7 % below the data sheet
        assert 0.92 * device.dram_gbs < peak * 1e-9 < 1.03 * device.dram_gbs
