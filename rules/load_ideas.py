"""What no executor does and what usually helps, by cause: `ideas.toml`."""

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from kdiag.records import Idea


@cache
def load_ideas() -> tuple[Idea, ...]:
    """All ideas, in the order of the file."""
    data = tomllib.loads(files("kdiag.rules").joinpath("ideas.toml").read_text(encoding="utf-8"))
    return tuple(
        Idea(
            title=str(entry["title"]),
            causes=tuple(map(str, entry["causes"])),
            why=str(entry["why"]),
            how=str(entry["how"]),
            skeleton=str(entry.get("skeleton", "")).lstrip("\n"),
        )
        for entry in data["idea"]
    )


def ideas_for(causes: Iterable[str], kernel: str) -> tuple[Idea, ...]:
    """The ideas that treat one of the causes, those of the first cause first, their skeletons named after the kernel."""
    found = {idea.title: idea for cause in causes for idea in load_ideas() if cause in idea.causes}
    return tuple(
        Idea(idea.title, idea.causes, idea.why, idea.how, idea.skeleton.replace("KERNEL", kernel))
        for idea in found.values()
    )
