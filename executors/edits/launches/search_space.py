"""An existing search space, wider or narrower on one architecture: a function around the list that the search is given.

The space may come out of loops and branches, so its configurations are changed where they arrive, not where they are
written: whatever another card gets stays as it is, and so does the first configuration.
"""

import re

import libcst as cst

from ..base import Applied, Outcome, Skipped, Subject
from ..hints import OCCUPANCY, WARPS, has_clusters, present_value
from ..syntax.kernel_source import KernelSource, read_kernel, set_keyword
from .search import top_statement
from .search_configurations import Space, spaces
from .search_hints import Uses, uses
from .search_template import insert, missing

# A 128x256 float32 accumulator is the largest that four warps hold on sm_90 when two CTAs share it, or eight warps.
WIDE = 128 * 256
CTAS = "num_ctas"


def change_space(subject: Subject, variant: str) -> Outcome:
    """Widen or narrow every search of the kernel on the subject's target."""
    read = read_kernel(subject.source, subject.kernel)
    if isinstance(read, Skipped):
        return read
    found = spaces(read)
    if isinstance(found, Skipped):
        return found
    capability = _capability(subject.target)
    if capability is None:
        return Skipped(f"{subject.target} names no compute capability")
    name = f"_{'widened' if variant == 'widen' else 'narrowed'}_{subject.kernel.lstrip('_')}"
    refused = missing(read, (name,))
    if refused is not None:
        return refused
    changes: dict[cst.CSTNode, cst.CSTNode | None] = {}
    body = _wider(read, found, subject.target, changes) if variant == "widen" else _narrower(read, found, subject)
    if isinstance(body, Skipped):
        return body
    for space in found:
        changes[space.expression] = cst.Call(cst.Name(name), [cst.Arg(space.expression)])
    first = min((space.expression for space in found), key=read.line)
    text = _HELPER.format(name=name, capability=capability, target=subject.target, kernel=subject.kernel, **body)
    source = insert(read.module, top_statement(read, first), text, changes)
    return Applied(source, read.place(first), warnings=(body["warning"],))


_HELPER = '''\
def {name}(configs):
    """{docstring}. On {target} only."""
    if torch.cuda.get_device_capability() != {capability}:
        return configs
{body}'''

_WIDER = """\
    others = []
{others}    found = list(configs)
    for config in others:
        if config not in found:
            found.append(config)
    return found
"""
_OCCUPANCIES = """\
    for config in configs:
        others += [type(config)(**{{**vars(config), "occupancy": value}}) for value in {values}]
"""
_WARPS = """\
    wide = [config for config in (*configs, *others) if {product} >= {wide}]
    others += [type(config)(**{{**vars(config), "num_worker_warps": 8}}) for config in wide]
"""
_NARROWER = """\
    kept = []
    for config in configs:
        if {condition}config not in kept:
            kept.append(config)
    return kept or configs
"""


def _wider(
    read: KernelSource, found: list[Space], target: str, changes: dict[cst.CSTNode, cst.CSTNode | None]
) -> dict[str, str] | Skipped:
    """More occupancies, and eight warps for wide tiles, where the search sets these hints from the configuration."""
    hinted = [uses(read, space) for space in found]
    occupancy, reason = _may_vary_occupancy(found, hinted)
    product = _product(found)
    warps = has_clusters(target) and product is not None and _may_set_warps(read, found, hinted)
    others = ""
    if occupancy:
        multiplies = bool(read.calls("mma", "matmul", "mma_scaled", within=read.module))
        others += _OCCUPANCIES.format(values=(1, 2, 4) if multiplies else (1, 2, 4, 8, 16))
    if warps:
        others += _WARPS.format(product=product, wide=WIDE)
        _set_warps(hinted, changes)
    if not others:
        return Skipped(reason)
    what = " and ".join([*["other occupancies"] * occupancy, *["eight warps for wide tiles"] * warps])
    return {
        "docstring": f"The configurations, then the same with {what}",
        "body": _WIDER.format(others=others),
        "warning": "the search compiles and times several times as many configurations, once for each shape",
    }


def _may_vary_occupancy(found: list[Space], hinted: list[Uses]) -> tuple[bool, str]:
    """Whether any occupancy is as right as those that the space has, or why that is not known."""
    for space, hints in zip(found, hinted, strict=True):
        if OCCUPANCY not in space.fields:
            return False, "the configurations have no occupancy"
        if OCCUPANCY not in hints.searched or not hints.launched:
            return False, "the search does not take the kernel's occupancy from the configuration"
        values = space.fields[OCCUPANCY]
        if hints.elsewhere is not None and (values is None or len(values) < 2):
            return False, (
                f"line {hints.elsewhere}: the occupancy also decides the grid or an argument,"
                " and the space has one value of it"
            )
    return True, ""


def _may_set_warps(read: KernelSource, found: list[Space], hinted: list[Uses]) -> bool:
    absent = present_value(read, WARPS) is None and all(WARPS not in space.fields for space in found)
    return absent and all(hints.dictionary is not None and hints.launched for hints in hinted)


def _set_warps(hinted: list[Uses], changes: dict[cst.CSTNode, cst.CSTNode | None]) -> None:
    """The wrapper's hints get `num_worker_warps`, None for a configuration without it."""
    for hints in hinted:
        dictionary = hints.dictionary
        if dictionary is not None and dictionary not in changes:
            value = cst.parse_expression(f'getattr({hints.parameter}, "{WARPS}", None)')
            last = dictionary.elements[-1]
            gap = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
            kept = last if isinstance(last.comma, cst.Comma) else last.with_changes(comma=gap)
            added = cst.DictElement(cst.SimpleString(f'"{WARPS}"'), value, comma=last.comma)
            changes[dictionary] = dictionary.with_changes(elements=[*dictionary.elements[:-1], kept, added])
        for call, config in hints.launched:
            if call not in changes:
                changes[call] = set_keyword(call, WARPS, f'getattr({config}, "{WARPS}", None)')


def _narrower(read: KernelSource, found: list[Space], subject: Subject) -> dict[str, str] | Skipped:
    """Without clusters before sm_90, without accumulators that spill on sm_90."""
    condition, why = "", ""
    ctas = all(CTAS in space.fields for space in found)
    product = _product(found)
    if not has_clusters(subject.target) and ctas:
        condition, why = f"config.{CTAS} == 1 and ", "Without those of several CTAs"
    elif subject.target.startswith("sm_90") and product is not None:
        share = f"{WIDE} * config.{CTAS}" if ctas else str(WIDE)
        condition, why = f"{product} <= {share} and ", "Without accumulators that four warps would spill"
    if not condition:
        return Skipped(f"no field of the configurations says which cannot work on {subject.target}")
    dropped = _dropped(found, subject)
    if not dropped:
        return Skipped(f"no configuration of the search would be dropped on {subject.target}")
    return {
        "docstring": f"{why} and without repetitions",
        "body": _NARROWER.format(condition=condition),
        "warning": f"on {subject.target} the search no longer tries {dropped}",
    }


def _dropped(found: list[Space], subject: Subject) -> str:
    """What narrowing drops, as text: from the captured searches where there are some, else what the source allows."""
    captured = [launch.tuning for launch in subject.launches if launch.tuning is not None]
    if captured:
        most = max(sum(_goes(config, subject.target) for config in t.configurations) for t in captured)
        return f"{most} of its configurations" if most else ""
    for space in found:
        ctas = space.fields.get(CTAS)
        if not has_clusters(subject.target):
            possible = ctas is None or any(value != 1 for value in ctas)
        else:
            rows, columns = (space.fields.get(name) for name in space.product or ("", ""))
            smallest = min(ctas or {1})
            possible = rows is None or columns is None or max(rows) * max(columns) > WIDE * smallest
        if possible:
            return "those that cannot win there"
    return ""


def _goes(config: object, target: str) -> bool:
    assert isinstance(config, dict)
    ctas = config.get(CTAS, 1)
    if not has_clusters(target):
        return bool(ctas != 1)
    sizes = [value for name, value in config.items() if re.fullmatch(r"(TILE|BLOCK)(_SIZE)?_[MN]", name)]
    return len(sizes) == 2 and sizes[0] * sizes[1] > WIDE * int(ctas)


def _product(found: list[Space]) -> str | None:
    """The elements of the accumulator as an expression of `config`, where every space names its rows and columns alike."""
    named = {space.product for space in found}
    only = named.pop() if len(named) == 1 else None
    return None if only is None else f"config.{only[0]} * config.{only[1]}"


def _capability(target: str) -> tuple[int, int] | None:
    number = re.fullmatch(r"sm_(\d+)(\d)[af]?", target)
    return None if number is None else (int(number[1]), int(number[2]))
