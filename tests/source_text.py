"""A source with its syntax tree, and the text of each node."""

import ast


class Text:
    """A source with its tree; `of` gives the text of a node, `replaced` the source with another text in its place."""

    def __init__(self, source):
        self.source = source
        self.tree = ast.parse(source)
        starts, at = [], 0
        for line in source.splitlines(keepends=True):
            starts.append(at)
            at += len(line)
        self._starts = starts

    def span(self, node):
        """Where a node begins and ends. The kernels are ASCII."""
        first = self._starts[node.lineno - 1] + node.col_offset
        return first, self._starts[node.end_lineno - 1] + node.end_col_offset

    def of(self, node):
        first, end = self.span(node)
        return self.source[first:end]

    def replaced(self, node, new):
        first, end = self.span(node)
        return self.source[:first] + new + self.source[end:]


def called(node):
    """What a call calls, without the module: "load" for ct.load(...)."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def keyword(call, name):
    return next((word.value for word in call.keywords if word.arg == name), None)


def parts(node):
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]
