"""From one argument of a launch and its parameter's annotation to a record and to what is compiled for.

A tuple is as many parameters as it has items, each with an annotation; only plain tuples are, no subclass. As
cuda-tile 1.7 is released, constants are booleans, integers and floats, and dataclass instances are no arguments.
"""

from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from typing import Any

import cuda.tile as ct
from cuda.tile.compilation import ScalarConstraint, TupleConstraint

from kdiag.errors import WorkloadError
from kdiag.records import Argument, ScalarArgument

from .arrays import array_argument, array_constraint, is_array, list_constraint


def arguments(name: str, value: Any, note: Any) -> Iterator[Argument]:
    """The records of an argument; the items of a list or tuple are named `name[0]`, `name[1]`, ...

    Raises WorkloadError for a value that a kernel cannot be given.
    """
    if type(value) is tuple:
        for index, (item, item_note) in enumerate(zip(value, _item_notes(name, value, note), strict=True)):
            yield from arguments(f"{name}[{index}]", item, item_note)
    elif is_array(value):
        yield array_argument(name, value)
    elif isinstance(value, bool | int | float):
        yield ScalarArgument(name, _plain(value), constant=bool(getattr(note, "constant", False)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if not is_array(item):
                raise _unsupported(f"{name}[{index}]", item)
            yield array_argument(f"{name}[{index}]", item)
    else:
        raise _unsupported(name, value)


def constraint(name: str, value: Any, note: Any) -> Any:
    """What the run time compiles a kernel for, given the argument: a constraint, or the value of a constant.

    Raises WorkloadError for a value that the parameter cannot be given.
    """
    if type(value) is tuple:
        notes = _item_notes(name, value, note)
        items = (
            constraint(f"{name}[{index}]", item, item_note)
            for index, (item, item_note) in enumerate(zip(value, notes, strict=True))
        )
        return TupleConstraint(list(items))
    _check_annotation(name, value, note)
    if note.constant:
        return _constant(name, value)
    if isinstance(value, bool | int | float):
        return ScalarConstraint(_scalar_dtype(name, value, note))
    if isinstance(value, list):
        return list_constraint(name, value, getattr(note.list, "element", None))
    if is_array(value):
        return array_constraint(array_argument(name, value), note.array)
    raise _unsupported(name, value)


def _item_notes(name: str, value: tuple[Any, ...], note: Any) -> Sequence[Any]:
    """The annotation of each item of a tuple: its own, or the one that all share."""
    items: Sequence[Any] | None = getattr(note, "items", None)
    if items is None:
        return (getattr(note, "each", note),) * len(value)
    if len(items) != len(value):
        raise WorkloadError(
            f"The argument {name} is a tuple of {len(value)}; its parameter is annotated as a tuple of {len(items)}."
        )
    return items


def _check_annotation(name: str, value: object, note: Any) -> None:
    """Raises WorkloadError for a parameter that is annotated as something else than the value is."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    demands = (
        ("a tuple", hasattr(note, "items") or hasattr(note, "each"), False),
        ("an array", getattr(note, "array", None) is not None, is_array(value)),
        ("a list of arrays", getattr(note, "list", None) is not None, isinstance(value, list)),
        ("an integer", getattr(note, "scalar", None) is not None, is_integer),
    )
    for what, demanded, fulfilled in demands:
        if demanded and not fulfilled:
            raise WorkloadError(
                f"The argument {name} is a {type(value).__name__}; its parameter is annotated as {what}."
            )


def _plain(value: bool | int | float) -> bool | int | float:
    """The value that the run time takes of a subclass, such as `numpy.float64` or a member of an IntEnum."""
    return value if isinstance(value, bool) else int(value) if isinstance(value, int) else float(value)


def _constant(name: str, value: Any) -> bool | int | float:
    if not isinstance(value, bool | int | float):
        raise WorkloadError(
            f"The argument {name} is a {type(value).__name__}; constants are booleans, integers and floats."
        )
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise WorkloadError(f"The constant {name} = {value} does not fit 64 bits.")
    return _plain(value)


def _scalar_dtype(name: str, value: bool | int | float, note: Any) -> Any:
    if isinstance(value, bool | float):
        return ct.bool_ if isinstance(value, bool) else ct.float32
    bits = 32 if note.scalar is None else note.scalar.dtype.bitwidth
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        advice = "; annotate the parameter ct.ScalarInt64" if bits == 32 else ""
        raise WorkloadError(f"{name} = {value} does not fit {bits} bits{advice}.")
    return ct.int32 if note.scalar is None else note.scalar.dtype


def _unsupported(name: str, value: object) -> WorkloadError:
    kind = type(value).__name__
    if isinstance(value, tuple):
        return WorkloadError(f"The argument {name} is a {kind}, a subclass of tuple; kernels take plain tuples.")
    what = f"{kind}, a dataclass" if is_dataclass(value) else kind
    return WorkloadError(
        f"The argument {name} is a {what}; kernels take arrays, Python numbers, tuples of these and lists of arrays."
    )
