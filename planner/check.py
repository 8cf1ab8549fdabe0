"""What is wrong with rule files: every problem in one sentence that begins with its file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from importlib.resources import as_file, files
from pathlib import Path

from kdiag.errors import KdiagError, UsageError
from kdiag.rules import load_causes, load_playbook
from kdiag.rules.load_playbook import Optimization, matches

Playbook = Mapping[str, Optimization]


def rule_files(folder: Path | None) -> dict[str, str]:
    """The texts by "playbook/A.toml" and "causes/barrier.toml", kdiag's own without a folder; else UsageError."""
    with as_file(files("kdiag.rules")) as bundled:
        root = folder or bundled
        paths = sorted((*root.glob("playbook/*.toml"), *root.glob("causes/*.toml")))
        texts = {path.relative_to(root).as_posix(): path.read_text("utf-8", "replace") for path in paths}
    if not texts:
        raise UsageError(f"{folder} has neither playbook/*.toml nor causes/*.toml; name the folder above these.")
    return texts


def problems(texts: Mapping[str, str], producible: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """All that is wrong with the rule files `texts`; `producible` holds the variants that edits make, by optimization."""
    found: list[str] = []
    playbook: dict[str, Optimization] = {}
    causes = [Path(name).stem for name in texts if name.startswith("causes/")]
    for name, text in texts.items():
        try:
            if name.startswith("causes/"):
                load_causes.parse(name, text)
                continue
            stem, optimization = Path(name).stem, load_playbook.parse(name, text)
        except KdiagError as error:
            found.append(str(error))
            continue
        playbook[stem] = optimization
        found += [f"{name}: its id is {optimization.id}"] if optimization.id != stem else []
    treated = {treat.cause for optimization in playbook.values() for treat in optimization.treats}
    found += [f"causes/{name}.toml: no optimization treats it" for name in causes if name not in treated]
    return (*found, *faults(playbook, causes), *_unmade(playbook, producible))


def faults(playbook: Playbook, causes: Collection[str]) -> Iterator[str]:
    """What keeps valid files from being one graph, or leaves it without a page; `causes` are the known ids."""
    for name, optimization in playbook.items():
        file = f"playbook/{name}.toml"
        yield from _page(file, optimization.reference)
        for cause in {treat.cause: None for treat in optimization.treats if treat.cause not in causes}:
            yield f"{file}: it treats {cause}, which no file in causes defines"
        for edge in optimization.edges:
            if edge.optimization not in playbook:
                yield f"{file}: it {edge.kind} {edge.optimization}, which is not in the playbook"
        pairs = Counter(
            [(treat.variant, f"{treat.cause} {treat.grid}{treat.tiles}".strip()) for treat in optimization.treats]
            + [(e.variant, f"{e.optimization} {e.target_variant}".strip()) for e in optimization.edges]
        )
        for (variant, other), count in pairs.items():
            if count > 1:
                yield f"{file}: {variant or name} and {other} are connected twice; keep one of the entries"
    yield from _circles(playbook)


def _page(file: str, page: str) -> Iterator[str]:
    if not files("kdiag.references").joinpath(*page.split("/")).is_file():
        yield f"{file}: the page references/{page} does not exist"


def _circles(playbook: Playbook) -> Iterator[str]:
    import networkx as nx

    edges = [(o.id, e.optimization) for o in playbook.values() for e in o.edges if e.kind == "requires"]
    required: nx.DiGraph[str] = nx.DiGraph(edges)
    for circle in nx.simple_cycles(required):
        yield f"playbook/{circle[0]}.toml: {' -> '.join(circle)} require each other in a circle"


def _unmade(playbook: Playbook, producible: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Variants that a file names and no edit makes, each once."""
    named = [(file, o.id, each.variant) for file, o in playbook.items() for each in o.treats]
    named += [(file, o.id, each.variant) for file, o in playbook.items() for each in o.edges]
    named += [(file, e.optimization, e.target_variant) for file, o in playbook.items() for e in o.edges]
    for file, id_, variant in dict.fromkeys(named):
        if variant and not any(matches(variant, made) for made in producible.get(id_, ())):
            yield f"playbook/{file}.toml: no edit makes the variant {variant} of {id_}"
