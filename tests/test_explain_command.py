"""`kdiag explain`: pages by name, by what is near, and as JSON."""

import pytest

from command_lines import as_json
from kdiag.cli import run
from kdiag.reporters import terminal_explain
from kdiag.rules.load_playbook import load as playbook
from kdiag.rules.load_references import find, load


@pytest.mark.parametrize(
    ("words", "heading"),
    [
        (["H"], "# H: fast math"),
        (["h"], "# H: fast math"),
        (["register-spills"], "# Register spills"),
        (["Register", "Spills"], "# Register spills"),
        (["spills"], "# Register spills"),
        (["performance model"], "# Performance model"),
        (["hints"], "# "),
    ],
)
def test_a_page(words, heading, capsys):
    assert run(["explain", *words]) == 0
    assert capsys.readouterr().out.startswith(heading)


def test_the_page_of_an_edit_shows_its_examples(capsys):
    sections = {part["heading"]: part["text"] for part in as_json(capsys, "explain", "H")["sections"]}
    assert "```diff\n@@" in sections["Before and after"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("regster-spils", "near are register-spills"), ("qqqq", "`kdiag explain` lists all"), ("...", "lists all")],
)
def test_what_is_no_page(name, sentence, capsys):
    assert run(["explain", name]) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert (printed.out, len(printed.err.splitlines())) == ("", 1)


def test_the_list_names_every_optimization_and_cause(capsys):
    assert run(["explain"]) == 0
    words = set(capsys.readouterr().out.split())
    assert set(load()) <= words
    assert set(playbook()) <= set(load())


def test_json(capsys):
    page = as_json(capsys, "explain", "register-spills")
    assert (page["schema"], page["name"], page["kind"]) == ("kdiag.explain/1", "register-spills", "cause")
    assert [section["heading"] for section in page["sections"]][:2] == ["", "What it is"]
    assert {page["kind"] for page in as_json(capsys, "explain")["pages"]} == {"optimization", "cause", "concept"}


def test_every_page_is_found_and_can_be_set_for_a_terminal(capsys):
    for name, page in load().items():
        assert find(name) == (page, ())
        terminal_explain.render(page)
    assert capsys.readouterr().out
