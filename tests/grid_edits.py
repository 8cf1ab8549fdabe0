"""Edits of grids, applied and run by the emulator on cards of few SMs."""

from contextlib import contextmanager

import pytest

from edit_emulation import module_of
from kdiag.executors.edits.base import Applied, Subject
from kdiag.executors.edits.persistent import Persistent
from kdiag.executors.edits.swizzle import Swizzle
from kdiag.records import Variant

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.tile")


def persistent(source, kernel, blocks=1):
    settings = {"blocks-per-sm": blocks}
    return Persistent().apply(Subject(source, kernel), Variant("B", f"blocks-per-sm={blocks}", settings))


def swizzled(source, kernel, size=8):
    return Swizzle().apply(Subject(source, kernel), Variant("I", f"group_size_m={size}", {"group_size_m": size}))


def applied(outcome):
    assert isinstance(outcome, Applied), outcome
    return outcome.source


@contextmanager
def card(sms):
    """The emulator with a card of so many SMs, blocks in a random order; any fault raises."""
    from kdiag.executors.emulator import emulate

    with emulate(shuffle=sms) as emulation, pytest.MonkeyPatch.context() as patch:
        properties = torch.cuda.get_device_properties(0)
        patch.setattr(properties, "multi_processor_count", sms)
        patch.setattr(torch.cuda, "get_device_properties", lambda *_: properties)
        yield emulation


def random(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def results(source, function, *arguments, sms=3, **options):
    with card(sms):
        return getattr(module_of(source), function)(*arguments, **options)
