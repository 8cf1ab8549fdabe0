"""`kdiag profile` as a user meets it: the table, the JSON object, failures."""

import json

import pytest
from click.testing import CliRunner

from kdiag.commands.profile import command
from kdiag.records import Cause, Diagnosis, Evidence, Gpu, LaunchProfile, Limits, Profile, Roofline, SpeedOfLight
from kdiag.reporters import json_profile, stdout, terminal_profile
from recorded_reports import LEAN, needs_data

SPILL = Evidence("metric", "sass__inst_executed_register_spilling", 57.3, "%", text="57 % of the instructions spill")


def launch(index, diagnosis, duration_us=12.0):
    sol = SpeedOfLight(11.4, 79.9, 24.3) if duration_us else SpeedOfLight(None, None, None)
    roofline = Roofline(41.2, 168.0, "memory", 700.0, 24.0) if duration_us else Roofline()
    return LaunchProfile(
        index, "a_rather_long_kernel_name", "k[0]_Kt1", (512, 8, 1), (256, 1, 1), duration_us, sol, roofline, diagnosis
    )


KNOWN = Diagnosis("memory", 1.0, (Cause("register-spills", 1.0, "memory", (SPILL,)),), ("fp64-pipe: needs fp64_pct",))
LONGEST = Diagnosis("compute", 0.9, (Cause("special-functions-and-division", 0.9, "compute", (SPILL,)),))
UNKNOWN = Diagnosis("unknown", 0.0, (Cause("unknown", 0.0, "unknown", ()),), ("fp64-pipe: needs fp64_pct",))
LIMITS = Limits(dram_gbs=4812.0, fp32_tflops=66.0, tensor_tflops={"bf16": 989.0}, source="report")
PROFILE = Profile(
    "x.ncu-rep",
    Gpu("NVIDIA H200", "9.0", 132, LIMITS),
    (launch(0, KNOWN), launch(1, UNKNOWN, None), launch(2, LONGEST, 123456.7)),
)


def test_json_has_the_promised_shape():
    printed = json.loads(json.dumps(json_profile.to_json(PROFILE), allow_nan=False))
    assert printed["schema"] == "kdiag.profile/1"
    assert list(printed) == ["schema", "source", "gpu", "kernels", "others", "notes"]
    assert printed["gpu"]["limits"]["dram_gbs"] == 4812.0
    assert printed["gpu"]["limits_from"] == "report"
    first, unmeasured, _ = printed["kernels"]
    assert " ".join(first) == (
        "index name symbol role constants nvtx grid block duration_us share_pct sol roofline bottleneck confidence causes "
        "not_evaluated consequences contradictions compiled"
    )
    assert " ".join(first["roofline"]) == (
        "intensity_flop_per_byte ridge limited_by limit_us pct_of_limit levels pipes intensity_class minimum_us "
        "excess_traffic"
    )
    assert list(first["causes"][0]["evidence"][0]) == ["kind", "name", "value", "unit", "where", "text"]
    assert unmeasured["duration_us"] is None
    assert set(unmeasured["sol"].values()) == {None}
    roofline = unmeasured["roofline"]
    assert roofline.pop("levels") == roofline.pop("pipes") == []
    assert set(roofline.values()) == {None}


def test_table_fits_a_hundred_columns(capsys):
    terminal_profile.render(PROFILE)
    printed = capsys.readouterr().out
    assert max(len(line) for line in printed.splitlines()) <= 100
    shown = ("512x8", "12.0 us", "123.46 ms", "register-spills 100%", "57 % of the instructions spill", "bf16 989")
    for expected in shown:
        assert expected in printed
    assert "special-functions-and-division 90%" in printed
    assert "nothing was measured of this launch" in printed


def test_a_narrow_table_keeps_number_and_kernel(capsys, monkeypatch):
    monkeypatch.setattr(stdout, "PIPED_WIDTH", 80)
    terminal_profile.render(PROFILE)
    assert "\n2 a_rather" in capsys.readouterr().out


@needs_data
def test_a_recorded_report():
    result = CliRunner().invoke(command, [str(LEAN), "--kernel", "^mm_k$", "--json"], catch_exceptions=False)
    kernels = json.loads(result.stdout)["kernels"]
    assert [kernel["index"] for kernel in kernels] == [6, 7, 8, 9, 10, 11]
    assert kernels[1]["causes"][0]["id"] == "register-spills"
    assert kernels[1]["causes"][0]["evidence"][0]["value"] == pytest.approx(57.3, abs=0.1)
    table = CliRunner().invoke(command, [str(LEAN), "--kernel", "^mm_k$"], catch_exceptions=False).stdout
    assert "tensor-pipe-starved" in table
    assert "limits from the report: DRAM 4,81" in table
