"""Reads `devices/*.toml`: what a card can do at most, by the exact product name that its driver gives.

Never by a part of the name, nor by the die: H100, H200, GH200, H20 and H800 share one and differ in everything here.
Arithmetic rates are dense (without structured sparsity), at the boost clock, and accumulate in fp32 where the type
allows it. A figure that its maker does not publish is left out of the file, and unknown. A file is `like` another where
the card has all of the other's figures but those that it gives itself; its `notes` are added to the other's.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from kdiag.records import architecture


@dataclass(frozen=True)
class Source:
    """Where the figures of a card come from; `notes` say which are derived, and how."""

    title: str
    url: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Device:
    """One product. `aliases` are other exact names, as older drivers give it; `tensor_tflops` is by operand type."""

    name: str
    compute_capability: str
    sm_count: int
    source: Source
    aliases: tuple[str, ...] = ()
    dram_gbs: float | None = None
    boost_mhz: float | None = None
    fp32_tflops: float | None = None
    fp64_tflops: float | None = None
    tensor_tflops: Mapping[str, float] = field(default_factory=dict)


@cache
def load_devices() -> Mapping[str, Device]:
    """Return every card by each of its names. Raises TypeError or KeyError for a malformed file."""
    folder = files("kdiag.rules").joinpath("devices")
    pages = {
        page.name: tomllib.loads(page.read_text("utf-8")) for page in folder.iterdir() if page.name.endswith(".toml")
    }
    devices: dict[str, Device] = {}
    for _, page in sorted(pages.items()):
        entry = {**(pages[f"{page['like']}.toml"] if "like" in page else {}), **page}
        source, own = entry.pop("source"), entry.pop("notes", ())
        entry.pop("like", None)
        device = Device(
            source=Source(source["title"], source["url"], (*source["notes"], *own)),
            aliases=tuple(entry.pop("aliases", ())),
            **entry,
        )
        devices |= dict.fromkeys((device.name, *device.aliases), device)
    return devices


def device_named(name: str, sm_count: int | None = None) -> Device | None:
    """Return the card of exactly this name, or None.

    Where the number of SMs is known it must agree: a slice of a card (MIG) carries the name of the whole, and a few
    products were sold twice under one name.
    """
    device = load_devices().get(name)
    return device if device is None or sm_count in (None, device.sm_count) else None


def fewest_sms(target: str) -> int | None:
    """Return the SMs of the smallest known card of an architecture such as "sm_90", None where none is known."""
    cards = load_devices().values()
    return min((card.sm_count for card in cards if architecture(card.compute_capability) == target), default=None)
