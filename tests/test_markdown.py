"""The two Markdown logs, to the letter of their samples."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.records import Iteration
from kdiag.reporters.markdown import Round, experiments_log, final_line, perf_results, with_section, write_atomically

SEED = Path(__file__).parents[2] / "shared" / "seeds" / "000_32033a5c6da173e8.txt"
SAMPLE = """\
| iteration | optimization       | latency_ms | correctness | status |
|----------:|:-------------------|-----------:|:------------|-------:|
| 0         | baseline           |   0.820000 | PASS        | keep   |
| 1         | TMA replace gather |   0.390000 | PASS        | keep   |
"""
BASELINE = Iteration(0, "baseline", "", "baseline", "PASS", 0.82, None, "keep", "as found")
KEPT = Iteration(1, "A", "", "TMA replace gather", "PASS", 0.39, 2.1, "keep", "110 % faster")


def test_the_sample_comes_out_to_the_letter():
    assert perf_results([BASELINE, KEPT]) == SAMPLE
    assert perf_results([]) == "".join(SAMPLE.splitlines(keepends=True)[:2])


@pytest.mark.skipif(not SEED.exists(), reason="the documents are not on this machine")
def test_the_sample_is_that_of_the_document():
    assert SAMPLE in SEED.read_text()


def test_every_verdict_becomes_one_of_three_words():
    text = perf_results(
        [
            BASELINE,
            replace(KEPT, n=1, verdict="revert", correctness="FAIL", latency_ms=None, title="flush to zero"),
            replace(KEPT, n=2, verdict="crash", correctness="-", latency_ms=None, title="tile 512x512"),
            replace(KEPT, n=3, verdict="no-op", correctness="-", latency_ms=None, title="latency=10"),
            replace(KEPT, n=4, verdict="inconclusive", latency_ms=0.815, title="occupancy=4"),
            replace(KEPT, n=5, verdict="ready", correctness="-", latency_ms=None, title="waits for a GPU"),
            replace(KEPT, n=6, latency_ms=1234.5678901, title="a|b\nc " + "x" * 19),
        ]
    )
    assert (
        text
        == """\
| iteration | optimization               | latency_ms  | correctness | status |
|----------:|:---------------------------|------------:|:------------|-------:|
| 0         | baseline                   |    0.820000 | PASS        | keep   |
| 1         | flush to zero              |           - | FAIL        | revert |
| 2         | tile 512x512               |           - | FAIL        | crash  |
| 3         | latency=10 (no-op)         |           - | PASS        | revert |
| 4         | occupancy=4 (inconclusive) |    0.815000 | PASS        | revert |
| 6         | a\\|b c xxxxxxxxxxxxxxxxxxx | 1234.567890 | PASS        | keep   |
"""
    )


@given(st.lists(st.from_type(Iteration), max_size=6))
def test_any_run_gives_a_table_of_five_columns(rows):
    lines = perf_results(rows).splitlines()
    assert len(lines) == 2 + sum(row.verdict != "ready" for row in rows)
    for line in lines:
        assert line.replace("\\|", "").count("|") == 6
        assert line.startswith("|")
        assert line.endswith("|")
    for line in lines[2:]:
        status = line.rsplit("|", 2)[1].strip()
        assert status in ("keep", "revert", "crash")


LOG = """\
## Optimization: softmax on NVIDIA RTX 4090

| Iter | Action | Tier | Correctness | Metric | Delta | Status |
|------|--------|------|-------------|--------|-------|--------|
| 0 | baseline | - | PASS | 1747 GBps | - | - |
| 1 | increase BLOCK_SIZE | T1 | PASS | 1820 GBps | +4.2% | improved |
| 2 | vectorized loads | T2 | PASS | 1955 GBps | +7.4% | improved |
| 3 | multi-row=8 | T1 | FAIL | - | - | reverted |
| 4 | occupancy=2 | T1 | PASS | 1900 GBps | -2.8% | reverted |
| 5 | fuse with layernorm | T3 | PASS | 2010 GBps | +2.8% | TARGET_MET |

Final: 2010 GBps (70.2% of peak), 5 iterations, target met.
"""


def test_the_log_of_the_optimization_loop_follows_its_sample():
    wrong = replace(KEPT, n=3, title="multi-row=8", correctness="FAIL", verdict="revert")
    rounds = [
        Round(BASELINE, None, 1747.0),
        Round(replace(KEPT, n=1, title="increase BLOCK_SIZE"), 1, 1820.0),
        Round(replace(KEPT, n=2, title="vectorized loads"), 2, 1955.0),
        Round(wrong, 1, None),
        Round(replace(KEPT, n=4, title="occupancy=2", verdict="revert"), 1, 1900.0),
        Round(replace(KEPT, n=5, title="fuse with layernorm"), 3, 2010.0, target_met=True),
    ]
    final = final_line(2010.0, "GBps", 70.2, 5, "target met")
    assert experiments_log("softmax", "NVIDIA RTX 4090", "GBps", rounds, final) == LOG
    pair = Round(replace(KEPT, paired="A | gains\nnothing."), 1, None)
    assert experiments_log("k", "", "", [pair], "F").endswith(" |\n\n1 is a pair: A \\| gains nothing.\n\nF\n")
    assert final_line(None, "GBps", None, 0, "no GPU") == "Final: not measured, 0 iterations, no GPU."


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="<\r"))


@given(before=TEXT, first=TEXT, second=TEXT)
def test_a_section_is_appended_once_and_then_replaced(before, first, second):
    first, second = first + "\n", second + "\n"
    once = with_section(before, first, "run-1")
    assert once.startswith(before.rstrip("\n"))
    assert with_section(once, first, "run-1") == once
    assert with_section(once, second, "run-1") == with_section(before, second, "run-1")
    both = with_section(once, second, "run-2")
    assert both.startswith(once)
    assert second in both


def test_writing_replaces_the_file_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "sandbox" / "perf_results.md"
    write_atomically(path, SAMPLE)
    write_atomically(path, "é\n")
    assert path.read_bytes() == "é\n".encode()
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text() == "é\n"
    assert [entry.name for entry in path.parent.iterdir()] == ["perf_results.md"]
