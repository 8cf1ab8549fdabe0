"""The nodes of a kind are those that a plain walk over the tree finds, in the same order, wherever it starts."""

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

from bundled import EXAMPLES
from kdiag.executors.edits.registry import EDITS
from kdiag.executors.edits.syntax.walking import MOST_TREES, below, parents, positions, text

SOURCES = [example.before for edit in EDITS for example in edit.examples[:1]]
SOURCES += [path.read_text() for path in EXAMPLES.glob("*/*.py")]
KINDS = (cst.CSTNode, cst.BaseExpression, cst.Name, cst.Call, cst.BaseStatement, cst.FunctionDef, cst.Comma)


def walked(root):
    yield root
    for child in sorted(root.children, key=lambda child: isinstance(root, cst.AsName) and child is root.name):
        yield from walked(child)  # LibCST visits the space behind "as" last


@pytest.mark.parametrize("source", SOURCES)
def test_every_start_and_kind(source):
    module = cst.parse_module(source)
    starts = [module, *list(walked(module))[::7]]
    for start in [*starts, module]:
        for kind in KINDS:
            expected = [node for node in walked(start) if isinstance(node, kind)]
            found = list(below(start, kind))
            assert len(found) == len(expected)
            assert all(one is other for one, other in zip(found, expected, strict=True))


def test_nodes_that_are_in_no_module_and_modules_that_were_forgotten():
    call = cst.ensure_type(cst.parse_expression("f(g(x), y)"), cst.Call)
    assert [node.value for node in below(call, cst.Name)] == ["f", "g", "x", "y"]
    modules = [cst.parse_module(f"a{number} = b\n") for number in range(3 * MOST_TREES)]
    for _ in range(2):
        for number, module in enumerate(modules):
            assert [node.value for node in below(module, cst.Name)] == [f"a{number}", "b"]
            assert [node.value for node in below(module.body[0], cst.Name)] == [f"a{number}", "b"]


def test_modules_of_one_text_are_written_once_each(monkeypatch):
    modules, written = [cst.parse_module("a = b\n") for _ in range(2)], []
    write = cst.Module._codegen
    monkeypatch.setattr(cst.Module, "_codegen", lambda module, tree: (written.append(module), write(module, tree)))
    for module in modules * 2:
        assert next(below(module, cst.Name)) is module.body[0].body[0].targets[0].target
    assert len(written) == 2


def test_a_node_that_stands_in_a_module_twice():
    name = cst.Name("x")
    module = cst.Module([cst.SimpleStatementLine([cst.Expr(cst.Tuple([cst.Element(name), cst.Element(name)]))])])
    assert list(below(module, cst.Name)) == [name, name]
    assert list(below(name, cst.Name)) == [name]


@pytest.mark.parametrize("source", SOURCES)
def test_text_parents_and_positions_are_those_of_libcst(source):
    module = cst.parse_module(source)
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    expected, found = wrapper.resolve(ParentNodeProvider), parents(module)
    assert all(found[node] is expected[node] for node in walked(module) if node is not module)
    places = {node: (one.start, one.end) for node, one in positions(module).items()}
    provided = wrapper.resolve(PositionProvider).items()
    assert places == {
        n: ((a.line, a.column), (z.line, z.column)) for n, a, z in ((n, p.start, p.end) for n, p in provided)
    }
    assert text(module) == source
