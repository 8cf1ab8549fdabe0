"""The playbook's data, the graph built from it, and the reference pages it names."""

import ast
import math
import re
from importlib.resources import files
from typing import get_args
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag import cli
from kdiag.errors import KdiagError
from kdiag.executors.edits.registry import EXECUTORS
from kdiag.planner import graph as rules
from kdiag.planner.check import problems
from kdiag.planner.shrinkage import NO_EFFECT, figures, shrunk
from kdiag.rules.load_causes import load_causes
from kdiag.rules.load_playbook import EdgeKind, Gain, load, matches, parse

HEADINGS = ["What it does", "When it helps", "When it hurts", "Before and after", "How kdiag checks it"]
HEADINGS += ["Figures", "Sources"]
PAGES = sorted(page.name for page in files("kdiag.references").iterdir() if page.name.endswith(".md"))
ENTRY = """
id = "Z"
title = "Title"
tier = 1
safety = "safe"
summary = "Summary."
reference = "a.md"
cost_s = 2
[targets]
min_compute_capability = "8.0"
note = "every card"
"""
TREAT = '[[treats]]\ncause = "tensor-pipe"\ngain.any = { range = [0.9, 1.0, 1.1], n = 0, source = "guess" }\n'
each = pytest.mark.parametrize("optimization", load().values(), ids=lambda optimization: optimization.id)


def requires(optimization):
    return f'[[requires]]\noptimization = "{optimization}"\nreason = "because"\n'


def test_the_playbook_has_a_to_l_and_every_edit():
    assert list(load())[:12] == [*"ABCDEFGHIJKL"]
    assert set(load()) == set(EXECUTORS)


def test_the_bundled_rules_make_a_graph():
    graph = rules.bundled()
    kinds = {"symptom", "cause", "bottleneck", "optimization", "variant"}
    assert {data["kind"] for _, data in graph.nodes(data=True)} == kinds
    assert {data["kind"] for *_, data in graph.edges(data=True)} == {"indicates", "treats", *get_args(EdgeKind)}


@each
def test_every_prior_names_its_source(optimization):
    assert optimization.treats
    for treat in optimization.treats:
        for target, gain in treat.gains.items():
            if gain.n:
                assert "H200, measured 2026-11" in gain.source
                assert target == "sm_90"
            else:
                assert "measure" in gain.source
                assert 0.5 <= gain.mid <= 4.0, "a guess stays close to 1"


@pytest.mark.parametrize(
    ("optimization", "variant", "cause", "mid"),
    [
        ("A", "tile-load-store", "special-functions-and-division", 0.24),
        ("hints", "num_worker_warps=8", "register-spills", 15.0),
    ],
)
def test_what_was_measured_on_hopper_is_what_the_rules_say(optimization, variant, cause, mid):
    (treat,) = rules.treatments(rules.bundled(), optimization, variant, cause)
    assert math.exp(figures(treat.gains, "sm_90")[0].mid) == pytest.approx(mid)


def test_another_architecture_gets_a_shrunk_prior_and_is_told_so():
    (known,) = figures({"sm_90": Gain(0.5, 4.0, 9.0, 3, "source")}, "sm_100")
    assert math.exp(known.mid) == pytest.approx(2.0)
    assert (known.elsewhere, shrunk((known,), NO_EFFECT).elsewhere) == ("sm_90", {"sm_90"})
    assert known.weight < 1, "three measurements elsewhere weigh less than one here"


@given(st.sets(st.sampled_from(["a=1", "b=2", "c=3"])), st.sets(st.sampled_from(["a=1", "b=2", "c=3"])))
def test_a_pattern_matches_variants_with_all_its_settings(pattern, variant):
    assert matches(",".join(sorted(pattern)), ",".join(sorted(variant, reverse=True))) == (pattern <= variant)


def test_interactions_are_edges():
    graph = rules.bundled()
    enables = {(source, edge.optimization) for source, edge in rules.relations(graph, "enables")}
    assert {("A", "F"), ("I", "B"), ("B", "I"), ("hints", "G"), ("D", "G")} <= enables
    assert rules.conflict(graph, ("A", "tile-load"), ("A", "gather-scatter"))
    assert rules.conflict(graph, ("A", "gather-scatter"), ("A", "tile-load-store-no-tma"))
    assert rules.conflict(graph, ("A", "tile-load"), ("A", "tile-store")) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ENTRY.replace("tier = 1", "tier = 6"), "tier is 1 to 5"),
        (ENTRY.replace('"safe"', '"harmless"'), "safety is one of"),
        ("colour = 1\n" + ENTRY, "unknown key colour"),
        (ENTRY + TREAT.replace("[0.9", "[1.2"), "low <= mid"),
        (ENTRY + TREAT.replace("[0.9,", "["), "low, mid, high"),
        (ENTRY + '[[treats]]\ncause = "tensor-pipe"\n', "gain"),
        (ENTRY + TREAT + 'grid = "full"\n', "grid is kept or changed, not full"),
        (ENTRY + "[treats]\n", "array of tables"),
    ],
)
def test_a_broken_entry_is_named(text, message):
    with pytest.raises(KdiagError, match=message):
        parse("Z.toml", text)


CAUSE = "title = 't'\nmeaning = 'm'\nwhat_to_do = 'w'\nbottleneck = 'compute'\n"
PATTERN = "[[pattern]]\nname = 'p'\nceiling = 1\n[[pattern.test]]\nshows = 'm'\nnone = {none}\nfull = 3\nreason = 'r'"
RIGHT = {"playbook/Z.toml": ENTRY + TREAT, "causes/tensor-pipe.toml": CAUSE + PATTERN.format(none=1)}
WRONG = [
    ({"causes/tensor-pipe.toml": CAUSE[12:]}, "causes/tensor-pipe.toml needs title"),
    ({"causes/tensor-pipe.toml": CAUSE + "pattern = 3"}, "causes/tensor-pipe.toml does not follow the schema"),
    (
        {"causes/tensor-pipe.toml": CAUSE + PATTERN.format(none=3)},
        "causes/tensor-pipe.toml does not follow the schema: none and full of m are equal",
    ),
    ({"causes/bad-luck.toml": CAUSE}, "causes/bad-luck.toml: no optimization treats it"),
    ({"playbook/Z.toml": ENTRY + TREAT.replace("tensor-pipe", "x")}, "playbook/Z.toml: it treats x, which no file"),
    ({"playbook/Z.toml": ENTRY + TREAT + TREAT}, "playbook/Z.toml: Z and tensor-pipe are connected twice"),
    (
        {"playbook/Z.toml": RIGHT["playbook/Z.toml"].replace("a.md", "z.md")},
        "playbook/Z.toml: the page references/z.md",
    ),
    ({"playbook/Y.toml": ENTRY}, "playbook/Y.toml: its id is Z"),
    (
        {
            "playbook/Z.toml": ENTRY + TREAT + requires("Y"),
            "playbook/Y.toml": ENTRY.replace('"Z"', '"Y"') + requires("Z"),
        },
        "require each other in a circle",
    ),
    (
        {"playbook/Z.toml": ENTRY + TREAT.replace("gain", "variant = 'tile=3'\ngain", 1)},
        "playbook/Z.toml: no edit makes the variant tile=3 of Z",
    ),
]


@pytest.mark.parametrize(("changes", "problem"), WRONG)
def test_a_wrong_rule_file_is_one_line_that_names_it(changes, problem):
    assert problems(RIGHT, {"Z": ["tile=2"]}) == ()
    found = problems(RIGHT | changes, {"Z": ["tile=2"]})
    assert any(problem in line for line in found), found
    assert len(found) <= 2


def test_the_rules_command_checks_and_draws(tmp_path, capsys):
    assert cli.run(["rules", "check"]) == 0
    (tmp_path / "playbook").mkdir()
    (tmp_path / "playbook" / "Z.toml").write_text("id = ")
    assert cli.run(["rules", "check", str(tmp_path)]) == 1
    assert "playbook/Z.toml is not valid TOML" in capsys.readouterr().out
    assert cli.run(["rules", "graph", "--dot", "-o", str(tmp_path / "rules.svg")]) == 0
    text = (tmp_path / "rules.svg").read_text()
    titles = [node.text or "" for node in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}title")]
    assert {*load_causes(), "memory", "latency"} <= set(titles)
    (line,) = [t for t in titles if "H/all for special-functions-and-division" in t]
    assert "1.35x (1.2 to 2.3, n = 6): row softmax" in line
    assert '"optimization:A" -> "optimization:F"' in capsys.readouterr().out
    with pytest.raises(KdiagError, match="which is not in the playbook"):
        rules.build({"Z": parse("Z.toml", ENTRY + requires("Y"))}, {})


@each
def test_the_reference_page_has_the_fixed_headings(optimization):
    page = files("kdiag.references").joinpath(optimization.reference).read_text()
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == HEADINGS
    figures = page.split("## Figures")[1].split("## Sources")[0]
    assert "measured 2026-11" in figures or "Not measured" in figures


@pytest.mark.parametrize("name", PAGES)
def test_code_on_the_pages_is_python(name):
    page = files("kdiag.references").joinpath(name).read_text()
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        ast.parse(block)
    for link in re.findall(r"\]\(([^)]+\.md)\)", page):
        assert files("kdiag.references").joinpath(link).is_file()


def test_the_api_page_has_eighteen_rules():
    page = files("kdiag.references").joinpath("cutile-api-reference.md").read_text()
    assert re.findall(r"^(\d+)\. ", page, re.MULTILINE) == [str(number) for number in range(1, 19)]
