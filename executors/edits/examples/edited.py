"""Sources of examples that differ from another one in a few places."""


def edited(source: str, *changes: tuple[str, str]) -> str:
    """The source with every old text replaced by its new one, in order."""
    for old, new in changes:
        source = source.replace(old, new)
    return source
