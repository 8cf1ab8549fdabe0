"""All cases, by id."""

import array_views
import atomics
import binary
import casts
import comparing
import control_flow
import gather_scatter
import load_store
import offsets
import parameters
import products
import reducing
import shapes
import unary
from case import Case

MODULES = (
    load_store, array_views, gather_scatter, offsets, atomics, unary, binary, comparing,
    casts, shapes, reducing, products, control_flow, parameters,
)  # fmt: skip


def all_cases() -> dict[str, Case]:
    """Raises ValueError if two cases share an id."""
    cases = [case for module in MODULES for case in module.cases()]
    by_id = {case.id: case for case in cases}
    if len(by_id) != len(cases):
        ids = [case.id for case in cases]
        raise ValueError(f"the same id twice: {sorted({name for name in ids if ids.count(name) > 1})}")
    return by_id
